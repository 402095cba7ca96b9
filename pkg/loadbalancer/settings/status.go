package settings

import (
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
)

// StatusSettings are what is published of the load balancer.
type StatusSettings struct {
	// Hostname is published in place of the address. HostnameSuffix makes a name of the
	// address where members get PROXY headers; empty makes none.
	Hostname, HostnameSuffix string
}

func (r *reading) status() StatusSettings {
	s := StatusSettings{Hostname: r.hostname()}
	if r.conf.EnableIngressHostname {
		s.HostnameSuffix = r.conf.IngressHostnameSuffix
	}
	return s
}

// hostname reads the name to publish, which the API server takes only if it is one.
func (r *reading) hostname() string {
	name := ptr.Deref(r.values.Hostname, "")
	if name == "" {
		return ""
	}
	at := annotation.Path(annotation.Hostname)
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		r.refuse(field.Invalid(at, name, "allowed: a DNS name in small letters, digits, - and ., such as www.example.com"))
		return ""
	}
	if _, err := netip.ParseAddr(name); err == nil {
		r.refuse(field.Invalid(at, name, "allowed: a DNS name, not an address"))
		return ""
	}
	return name
}

// Proxied reports whether members learn the addresses of clients from PROXY headers.
func (s *Settings) Proxied() bool { return s.Listeners.Proxy != "" && s.Traffic.hasTCP() }

// Ingress returns what to publish of an address. Where members get PROXY headers, no
// connection within the cluster may take a shortcut past the load balancer: kube-proxy
// goes by the mode Proxy or, where it knows no modes, by the lack of an address.
//
//	the Service names a host name               the name
//	PROXY headers, and cloud.conf makes names   the address and the suffix as a name
//	PROXY headers                               the address, mode Proxy
//	anything else                               the address, mode VIP
func (s *Settings) Ingress(address string) v1.LoadBalancerIngress {
	mode := v1.LoadBalancerIPModeVIP
	switch {
	case s.Status.Hostname != "":
		return v1.LoadBalancerIngress{Hostname: s.Status.Hostname}
	case s.Proxied() && s.Status.HostnameSuffix != "":
		return v1.LoadBalancerIngress{Hostname: nameOf(address) + "." + s.Status.HostnameSuffix}
	case s.Proxied():
		mode = v1.LoadBalancerIPModeProxy
	}
	return v1.LoadBalancerIngress{IP: address, IPMode: &mode}
}

// nameOf writes an address as the first part of a name: nip.io reads one of IPv6
// with dashes.
func nameOf(address string) string { return strings.ReplaceAll(address, ":", "-") }

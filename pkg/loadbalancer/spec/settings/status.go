package settings

import (
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// StatusSettings are the settings of the published status.
type StatusSettings struct {
	// Hostname is published instead of the address. HostnameSuffix makes a name of the address, if
	// AlwaysNamed is set or members get PROXY headers; empty means none.
	Hostname, HostnameSuffix string
	AlwaysNamed              bool
	// IPMode is the one that the Service requests, "" for the usual one.
	IPMode v1.LoadBalancerIPMode
}

func (r *reading) status() StatusSettings {
	values := r.from.values.Status
	s := StatusSettings{Hostname: r.hostname(), AlwaysNamed: ptr.Deref(values.IngressHostname, false), IPMode: v1.LoadBalancerIPMode(ptr.Deref(values.IPMode, ""))}
	if s.Hostname != "" && values.IngressHostname != nil {
		r.notice(annotation.IngressHostname, "has no effect: the Service publishes the name in "+annotation.Hostname)
	}
	if (s.Hostname != "" || s.AlwaysNamed) && s.IPMode != "" {
		r.notice(annotation.IPMode, "has no effect: the Service publishes a name instead of the address")
	}
	if ptr.Deref(values.IngressHostname, r.from.conf.EnableIngressHostname) {
		s.HostnameSuffix = r.from.conf.IngressHostnameSuffix
	}
	return s
}

// hostname returns the name to publish, which must be valid for the API server.
func (r *reading) hostname() string {
	name := ptr.Deref(r.from.values.Hostname, "")
	if name == "" {
		return ""
	}
	at := annotation.Path(annotation.Hostname)
	if problems := utilvalidation.IsDNS1123Subdomain(name); len(problems) > 0 {
		r.refuse(field.Invalid(at, name, "allowed: a DNS name in small letters, digits, - and ., such as www.example.com"))
		return ""
	}
	if _, err := netip.ParseAddr(name); err == nil {
		r.refuse(field.Invalid(at, name, "allowed: a DNS name, not an address"))
		return ""
	}
	return name
}

// Proxied reports whether members of any port learn the addresses of clients from PROXY headers.
func (s *Settings) Proxied() bool {
	return slices.ContainsFunc(s.Traffic.Ports, func(p v1.ServicePort) bool {
		return p.Protocol == v1.ProtocolTCP && s.OfPort(p).Listeners.Proxy != ""
	})
}

// Ingress returns the status of an address. If members get PROXY headers, connections from within
// the cluster must not bypass the load balancer: kube-proxy depends on the mode Proxy or, in old
// releases, on a missing address.
//
//	the Service has a host name                        the name
//	the Service asks for a name of its address         the address and the suffix as a name
//	PROXY headers, and cloud.conf makes names          the address and the suffix as a name
//	the Service asks for a mode                        the address, that mode
//	PROXY headers                                      the address, mode Proxy
//	anything else                                      the address, mode VIP
func (s *Settings) Ingress(address string) v1.LoadBalancerIngress {
	mode := v1.LoadBalancerIPModeVIP
	switch {
	case s.Status.Hostname != "":
		return v1.LoadBalancerIngress{Hostname: s.Status.Hostname}
	case s.Status.HostnameSuffix != "" && (s.Status.AlwaysNamed || s.Proxied()):
		return v1.LoadBalancerIngress{Hostname: nameOf(address) + "." + s.Status.HostnameSuffix}
	case s.Status.IPMode != "":
		mode = s.Status.IPMode
	case s.Proxied():
		mode = v1.LoadBalancerIPModeProxy
	}
	return v1.LoadBalancerIngress{IP: address, IPMode: &mode}
}

// nameOf returns an address as the first part of a name: nip.io accepts IPv6 addresses with dashes.
func nameOf(address string) string { return strings.ReplaceAll(address, ":", "-") }

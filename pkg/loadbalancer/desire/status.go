package desire

import (
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
)

// hostname reads the name to publish, which the API server takes only if it is one.
func hostname(values annotation.Values) (string, field.ErrorList) {
	name := value(values.Hostname)
	if name == "" {
		return "", nil
	}
	at := annotation.Path(annotation.Hostname)
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return "", field.ErrorList{field.Invalid(at, name, "allowed: a DNS name in small letters, digits, - and ., such as www.example.com")}
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return "", field.ErrorList{field.Invalid(at, name, "allowed: a DNS name, not an address")}
	}
	return name, nil
}

// Ingress gives what to publish of an address. Where members get PROXY headers, no
// connection within the cluster may take a shortcut past the load balancer: the mode
// Proxy tells kube-proxy so, or the lack of an address, for those that know no modes.
//
//	the Service names a host name               the name
//	PROXY headers, and cloud.conf makes names   the address and the suffix as a name
//	PROXY headers                               the address, mode Proxy
//	anything else                               the address, mode VIP
func (s Settings) Ingress(address string) v1.LoadBalancerIngress {
	mode := v1.LoadBalancerIPModeVIP
	switch {
	case s.Hostname != "":
		return v1.LoadBalancerIngress{Hostname: s.Hostname}
	case s.Proxied() && s.HostnameSuffix != "":
		return v1.LoadBalancerIngress{Hostname: nameOf(address) + "." + s.HostnameSuffix}
	case s.Proxied():
		mode = v1.LoadBalancerIPModeProxy
	}
	return v1.LoadBalancerIngress{IP: address, IPMode: &mode}
}

// nameOf writes an address as the first part of a name: nip.io reads one of IPv6
// with dashes.
func nameOf(address string) string { return strings.ReplaceAll(address, ":", "-") }

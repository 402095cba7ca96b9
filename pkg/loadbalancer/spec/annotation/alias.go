package annotation

import (
	"fmt"
	"slices"
	"strings"
)

// aliases returns names that users write instead of existing ones: with Prefix, and those of other
// clouds and controllers. Keys of cloud.conf need no entry: see Annotation.Key.
func aliases() map[string]string {
	const do, scw, hetzner = service + "do-loadbalancer-", service + "scw-loadbalancer-", "load-balancer.hetzner.cloud/"
	return map[string]string{
		Prefix + "algorithm":                        Method,
		Prefix + "allowed-cidrs":                    SourceRanges,
		Prefix + "create-health-monitor":            Monitor,
		Prefix + "enable-proxy-protocol":            ProxyProtocol,
		Prefix + "floating-ip-network-id":           FloatingNetID,
		Prefix + "enable-ipmode":                    IPMode,
		Prefix + "internal":                         Internal,
		Prefix + "internal-load-balancer":           Internal,
		Prefix + "lb-algorithm":                     Method,
		Prefix + "lb-class":                         Class,
		Prefix + "lb-id":                            LoadBalancerID,
		Prefix + "load-balancer-class":              Class,
		Prefix + "load-balancer-method":             Method,
		Prefix + "load-balancer-provider":           Provider,
		Prefix + "loadbalancer-provider":            Provider,
		Prefix + "octavia-provider":                 Provider,
		Prefix + "openstack-internal":               Internal,
		Prefix + "cookie-name":                      CookieName,
		Prefix + "sticky-sessions":                  Persistence,
		Prefix + "source-ranges":                    SourceRanges,
		Prefix + "tls-container-ref":                TLSContainer,
		Prefix + "vip-network-id":                   NetworkID,
		Prefix + "vip-port-id":                      PortID,
		Prefix + "vip-subnet-id":                    SubnetID,
		Prefix + "load-balancer-source-ranges":      SourceRanges,
		Prefix + "openstack-internal-load-balancer": Internal,

		service + "aws-load-balancer-internal":            Internal,
		service + "aws-load-balancer-proxy-protocol":      ProxyProtocol,
		service + "aws-load-balancer-subnets":             SubnetID,
		service + "azure-allowed-ip-ranges":               SourceRanges,
		service + "azure-load-balancer-internal":          Internal,
		service + "azure-load-balancer-internal-subnet":   SubnetID,
		service + "azure-load-balancer-ipv4":              VIPAddress,
		service + "oci-load-balancer-internal":            Internal,
		service + "oci-load-balancer-subnet1":             SubnetID,
		do + "sticky-sessions-type":                       Persistence,
		do + "sticky-sessions-cookie-name":                CookieName,
		scw + "sticky-sessions":                           Persistence,
		scw + "sticky-sessions-cookie-name":               CookieName,
		hetzner + "http-sticky-sessions":                  Persistence,
		do + "algorithm":                                  Method,
		do + "enable-proxy-protocol":                      ProxyProtocol,
		do + "healthcheck-path":                           MonitorPath,
		do + "hostname":                                   Hostname,
		do + "protocol":                                   Protocols,
		scw + "forward-port-algorithm":                    Method,
		scw + "proxy-protocol-v1":                         ProxyProtocol,
		scw + "proxy-protocol-v2":                         ProxyProtocol,
		hetzner + "algorithm-type":                        Method,
		hetzner + "hostname":                              Hostname,
		hetzner + "uses-proxyprotocol":                    ProxyProtocol,
		"cloud.google.com/load-balancer-type":             Internal,
		"networking.gke.io/load-balancer-type":            Internal,
		"networking.gke.io/internal-load-balancer-subnet": SubnetID,
		"kube-vip.io/loadbalancerIPs":                     VIPAddress,
		"kube-vip.io/loadbalancerHostname":                Hostname,
		"metallb.io/loadBalancerIPs":                      VIPAddress,
		"metallb.universe.tf/loadBalancerIPs":             VIPAddress,
	}
}

// Aliases returns the annotation for each name that users write instead: with Prefix, as the keys of
// cloud.conf, and of other clouds and controllers.
func Aliases() map[string]string {
	all, table := aliases(), Table()
	for _, a := range table {
		name := Prefix + a.Key
		if a.Key != "" && !slices.ContainsFunc(table, func(other Annotation) bool { return other.Name == name }) {
			all[name] = a.Name
		}
	}
	return all
}

// instead returns the annotation for an alias or a key of cloud.conf.
func instead(name string, table []Annotation) (string, bool) {
	if known, ok := aliases()[name]; ok {
		return known, true
	}
	key, ours := strings.CutPrefix(name, Prefix)
	at := slices.IndexFunc(table, func(a Annotation) bool { return a.Key == key })
	if !ours || key == "" || at < 0 {
		return "", false
	}
	return table[at].Name, true
}

// foreign returns the text for an annotation of another cloud or controller that has an equivalent
// here. A Service that has both is for several clouds.
func foreign(name string, given map[string]string) (text string, reported bool) {
	known, ok := aliases()[name]
	if _, has := given[known]; !ok || has {
		return "", false
	}
	return fmt.Sprintf("has no effect on OpenStack: did you mean %q?", known), true
}

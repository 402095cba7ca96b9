package goal

import (
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// publish returns the status of a Service that is reachable at some addresses.
func publish(addresses []string, settings *settings.Settings) *v1.LoadBalancerStatus {
	status := new(v1.LoadBalancerStatus)
	for _, address := range addresses {
		ingress := settings.Ingress(address)
		if ingress.Hostname != "" && len(status.Ingress) > 0 && status.Ingress[0].Hostname == ingress.Hostname {
			continue // one name for all
		}
		status.Ingress = append(status.Ingress, ingress)
	}
	return status
}

// addressesOn returns the addresses of a load balancer, in the order of the IP families of the Service:
// those of its VIPs, of which the one with the floating IP has that address instead. VIPs of an IP family
// in which the Service is not served are left out.
func addressesOn(lb *model.LoadBalancer, s *settings.Settings) []string {
	if !lb.VIP.DualStack() {
		s = s.InFirst()
	}
	floating := lb.FloatingIP != nil && s.FloatingIP()
	var addresses []string
	for _, family := range s.Families() {
		of := lb.VIP.InFamily(string(family))
		if floating && family == v1.IPv4Protocol && len(of) > 0 {
			of[0] = lb.FloatingIP.Address
		}
		addresses = append(addresses, of...)
	}
	switch {
	case len(addresses) > 0:
		return addresses
	case floating:
		return []string{lb.FloatingIP.Address}
	}
	return []string{lb.VIP.Address}
}

// AddressOf returns the address of a load balancer that users connect to: the floating IP if it has one.
func AddressOf(lb *model.LoadBalancer) string {
	if lb.FloatingIP != nil {
		return lb.FloatingIP.Address
	}
	return lb.VIP.Address
}

// addressIn parses the address at the start of a name, as settings.Settings.Ingress writes it.
func addressIn(name string) (string, bool) {
	labels := strings.Split(name, ".")
	if len(labels) > 4 {
		if address, err := netip.ParseAddr(strings.Join(labels[:4], ".")); err == nil {
			return address.String(), true
		}
	}
	address, err := netip.ParseAddr(strings.ReplaceAll(labels[0], "-", ":"))
	return address.String(), err == nil
}

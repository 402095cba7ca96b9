package routes

import (
	"fmt"
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// hop is a route of a router: its destination and its next hop. Neutron stores nothing else, so
// equal hops are the same route.
type hop struct {
	to  netip.Prefix
	via netip.Addr
}

const viaWord = " via "

func (h hop) String() string { return h.to.String() + viaWord + h.via.String() }

// parseHop parses the format of String.
func parseHop(text string) (hop, error) {
	to, via, _ := strings.Cut(text, viaWord)
	return hopOf(neutron.ExtraRoute{Destination: to, NextHop: via})
}

// hopOf parses a route in any spelling; IPv6 addresses have several.
func hopOf(route neutron.ExtraRoute) (hop, error) {
	to, err := netip.ParsePrefix(route.Destination)
	if err != nil {
		return hop{}, fmt.Errorf("destination of a route: %w", err)
	}
	via, err := netip.ParseAddr(route.NextHop)
	if err != nil {
		return hop{}, fmt.Errorf("next hop of the route to %s: %w", to, err)
	}
	if via.Zone() != "" { // a zone may contain any text
		return hop{}, fmt.Errorf("next hop of the route to %s: an address has no zone", to)
	}
	return hop{to.Masked(), via}, nil
}

// hopsOf returns the routes of a router with their spelling in Neutron, which a request to remove
// them needs.
func hopsOf(router *neutron.Router) map[hop]neutron.ExtraRoute {
	hops := make(map[hop]neutron.ExtraRoute, len(router.Routes))
	for _, route := range router.Routes {
		if h, err := hopOf(route); err == nil {
			hops[h] = route
		}
	}
	return hops
}

// target is the destination of a hop: a node's pod CIDR, as the Node spells it.
type target struct {
	node *v1.Node
	cidr string
}

// targets returns all hops that lead to a pod CIDR of a node through an address of the same node.
// One of them per pod CIDR is sufficient.
func targets(nodes []*v1.Node) map[hop]target {
	all := map[hop]target{}
	for _, node := range nodes {
		for _, cidr := range node.Spec.PodCIDRs {
			to, err := netip.ParsePrefix(cidr)
			if err != nil {
				continue // the route controller reports it
			}
			for _, via := range nextHops(node.Status.Addresses, to) {
				all[hop{to.Masked(), via}] = target{node, cidr}
			}
		}
	}
	return all
}

// nextHops returns the addresses of a node that can be the next hop of a route to the CIDR, in
// order of preference.
func nextHops(addresses []v1.NodeAddress, to netip.Prefix) []netip.Addr {
	var found []netip.Addr
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, address := range addresses {
			ip, err := netip.ParseAddr(address.Address)
			if err == nil && address.Type == kind && ip.Is4() == to.Addr().Is4() {
				found = append(found, ip)
			}
		}
	}
	return found
}

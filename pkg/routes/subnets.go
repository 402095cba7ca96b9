package routes

import (
	"context"
	"net/netip"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// subnets are those of the router, where its next hops are.
type subnets struct {
	network  Network
	routerID string
	// ids are the subnets by ID; nil if they are unknown.
	ids map[string]bool
}

// portAt returns the ID of the port with an address, in a subnet of the router; "" if there is
// none. If the project does not see the router's ports, a single port with the address is assumed
// to be the right one.
func (s *subnets) portAt(via netip.Addr, ports map[netip.Addr][]*neutron.RoutedPort) string {
	for _, port := range ports[via] {
		for _, fixed := range port.FixedIPs {
			if address, err := netip.ParseAddr(fixed.IPAddress); err == nil && address == via && s.ids[fixed.SubnetID] {
				return port.ID
			}
		}
	}
	if len(s.ids) == 0 && len(ports[via]) == 1 {
		return ports[via][0].ID
	}
	return ""
}

// read reads the subnets if they are unknown, or a next hop is outside of the known ones.
func (s *subnets) read(ctx context.Context, outside func() bool) error {
	if s.ids != nil && !outside() {
		return nil
	}
	own, err := s.network.RouterPorts(ctx, s.routerID)
	if err != nil {
		return err
	}
	s.ids = map[string]bool{}
	for _, port := range own {
		for _, fixed := range port.FixedIPs {
			s.ids[fixed.SubnetID] = true
		}
	}
	return nil
}

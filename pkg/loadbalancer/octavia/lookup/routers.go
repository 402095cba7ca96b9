package lookup

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// routers are those with an interface in a subnet, or in any subnet of a network. All are empty if the
// project may not see them.
type routers struct {
	interfaces []neutron.Port
	// ids are those of the routers, sorted, visible the routers that the project sees.
	ids     []string
	visible []neutron.Router
}

// routerReader reads and caches routers. It is safe for concurrent use.
type routerReader struct {
	neutron  Neutron
	networks *networkReader
	// routers are by subnet or network, ports by router.
	routers *cache[routers]
	ports   *cache[[]neutron.RoutedPort]
}

// near returns the routers of a subnet, or of all subnets of a network if the subnet is unknown. The
// first call sends two requests.
func (r *routerReader) near(ctx context.Context, network, subnet string) (routers, error) {
	if network == "" && subnet == "" {
		return routers{}, nil
	}
	return r.routers.get(ctx, cmp.Or(subnet, network), func(ctx context.Context, _ string) (routers, error) {
		found, err := r.read(ctx, network, subnet)
		if hidden(err) == nil {
			err = nil
		}
		return found, err
	})
}

func (r *routerReader) read(ctx context.Context, network, subnet string) (found routers, err error) {
	if found.interfaces, err = r.neutron.RouterInterfaces(ctx, network, subnet); err != nil {
		return routers{}, err
	}
	for _, port := range found.interfaces {
		found.ids = append(found.ids, port.DeviceID)
	}
	slices.Sort(found.ids)
	found.ids = slices.DeleteFunc(slices.Compact(found.ids), func(id string) bool { return id == "" })
	if len(found.ids) == 0 {
		return routers{}, nil
	}
	if found.visible, err = r.neutron.Routers(ctx, found.ids); err != nil {
		return routers{}, err
	}
	return found, nil
}

// hidden returns nil for an error that means that the project may not see routers.
func hidden(err error) error {
	if apierror.IsForbidden(err) || apierror.IsNotFound(err) || apierror.IsUnknownAction(err) {
		return nil
	}
	return err
}

// surroundings are what the gateway of a subnet reaches.
type surroundings struct {
	// subnets are those of the router, and the subnet itself.
	subnets map[string]bool
	// routes are the next hops of the extra routes. A router distributes packets among several.
	routes map[netip.Prefix][]string
}

// route is an extra route of a router, with its next hops.
type route struct {
	to  netip.Prefix
	via []string
}

// surroundings returns what a load balancer reaches: its subnet and, by the router that is the gateway of
// the subnet, what that one reaches. Packets to other addresses go there; other routers of the subnet get
// none. If the subnet of the VIP is unknown, it counts the gateways of all subnets of the network; if no
// gateway is visible, the only router.
func (r *routerReader) surroundings(ctx context.Context, vip model.VIP) (surroundings, error) {
	around := surroundings{subnets: map[string]bool{}, routes: map[netip.Prefix][]string{}}
	if vip.SubnetID != "" {
		around.subnets[vip.SubnetID] = true
	}
	near, err := r.near(ctx, vip.NetworkID, vip.SubnetID)
	if err != nil || len(near.ids) == 0 {
		return around, err
	}
	gateways, err := r.gatewayAddresses(ctx, vip)
	if err != nil {
		return around, err
	}
	for _, router := range near.visible {
		if !near.isGateway(router.ID, gateways) {
			continue
		}
		ports, err := r.ports.get(ctx, router.ID, r.neutron.RouterPorts)
		if err != nil {
			return around, err
		}
		around.add(router, ports)
	}
	return around, nil
}

// forgetOlder drops knowledge of the surroundings of a VIP that is older than an age, and reports whether there was any.
func (r *routerReader) forgetOlder(vip model.VIP, than time.Duration) bool {
	key := cmp.Or(vip.SubnetID, vip.NetworkID)
	near, _ := r.routers.kept(key)
	stale := r.routers.forgetOlder(key, than)
	stale = r.networks.bySubnet.forgetOlder(vip.SubnetID, than) || stale
	if vip.SubnetID == "" {
		stale = r.networks.byNetwork.forgetOlder(vip.NetworkID, than) || stale
	}
	for _, router := range near.ids {
		stale = r.ports.forgetOlder(router, than) || stale
	}
	return stale
}

// gatewayAddresses returns the addresses of the gateways of a VIP's subnet, or of all subnets of its
// network. It is nil if they are not visible.
func (r *routerReader) gatewayAddresses(ctx context.Context, vip model.VIP) ([]string, error) {
	var subnets []neutron.Subnet
	var err error
	if vip.SubnetID == "" {
		subnets, err = r.networks.subnets(ctx, vip.NetworkID)
	} else {
		var subnet *neutron.Subnet
		if subnet, err = r.networks.subnet(ctx, vip.SubnetID); err == nil {
			subnets = []neutron.Subnet{*subnet}
		}
	}
	if err != nil || len(subnets) == 0 {
		return nil, hidden(err)
	}
	addresses := []string{}
	for _, subnet := range subnets {
		if subnet.GatewayIP != "" {
			addresses = append(addresses, subnet.GatewayIP)
		}
	}
	return addresses, nil
}

// isGateway reports whether a router has one of the addresses; if they are nil, whether it is the only
// router.
func (n routers) isGateway(router string, addresses []string) bool {
	if addresses == nil {
		return len(n.ids) == 1
	}
	return slices.ContainsFunc(n.interfaces, func(port neutron.Port) bool {
		return port.DeviceID == router && slices.ContainsFunc(port.FixedIPs, func(ip neutron.FixedIP) bool { return slices.Contains(addresses, ip.IPAddress) })
	})
}

// add adds what a router reaches.
func (s *surroundings) add(router neutron.Router, ports []neutron.RoutedPort) {
	for _, port := range ports {
		for _, ip := range port.FixedIPs {
			s.subnets[ip.SubnetID] = true
		}
	}
	for _, extra := range router.Routes {
		to, err := netip.ParsePrefix(extra.Destination)
		via, viaErr := netip.ParseAddr(extra.NextHop)
		if err == nil && viaErr == nil {
			s.routes[to.Masked()] = append(s.routes[to.Masked()], via.String())
		}
	}
}

// route returns the longest route to an address. Default routes do not count: they lead out of the
// project.
func (s surroundings) route(to netip.Addr) (found route, is bool) {
	for bits := to.BitLen(); bits > 0; bits-- {
		prefix, err := to.Prefix(bits)
		if via := s.routes[prefix]; err == nil && len(via) > 0 {
			return route{prefix, via}, true
		}
	}
	return route{}, false
}

// portAt returns the port with an address in one of the subnets, nil if there is none.
func (s surroundings) portAt(ports []neutron.RoutedPort, address string) (subnet string, port *neutron.RoutedPort) {
	for i := range ports {
		for _, ip := range ports[i].FixedIPs {
			if ip.IPAddress == address && s.subnets[ip.SubnetID] {
				return ip.SubnetID, &ports[i]
			}
		}
	}
	return "", nil
}

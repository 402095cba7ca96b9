package lookup

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Pods are endpoints that shall become members of a load balancer.
type Pods struct {
	Addresses []string
	// VIP has the subnet of the VIP or, if the cloud chooses that, its network.
	VIP    model.VIP
	Driver driver.Driver
	// Nodes are those of the cluster, and NodeSubnets their subnets by address.
	Nodes       []members.Backend
	NodeSubnets map[string]string
	// Networks are pod-networks of cloud.conf.
	Networks []netip.Prefix
	// OnNodes is set if only pods behind the addresses of Nodes can be members, because the
	// security groups there enforce the source ranges of the Service.
	OnNodes bool
}

// Reach is how a load balancer reaches pods.
type Reach struct {
	// Subnets are the subnets of the members by address; without an entry, none is sent.
	Subnets map[string]string
	// Routed is set if a pod is behind a route, and has no port of its own.
	Routed bool
	// Missing are the reasons why other pods cannot be reached, by address.
	Missing map[string]string
}

// Unreachable returns an error about the first pod that cannot be reached, nil for none.
func (r Reach) Unreachable() error {
	var first string
	for address := range r.Missing {
		if first == "" || address < first {
			first = address
		}
	}
	switch n := len(r.Missing) - 1; {
	case first == "":
		return nil
	case n > 0:
		return &Error{Message: fmt.Sprintf("members: pod %s %s; the same for %d others", first, r.Missing[first], n)}
	}
	return &Error{Message: fmt.Sprintf("members: pod %s %s", first, r.Missing[first])}
}

// Reach returns how a load balancer reaches pods. Both a missing route and a missing address pair would
// look healthy in Octavia.
//
//	address of the pod                            subnet with ovn       subnet with others
//	a node's (hostNetwork)                        the node's            none in a subnet of the VIP's router, else the node's
//	in pod-networks of cloud.conf                 cannot be reached     none
//	behind a route of the VIP's router, by a      that of the port      none
//	port that admits the address
//	a Neutron port's, in a subnet of that router  the port's            none
//	any other, as of an overlay network           cannot be reached     cannot be reached
//
// With OnNodes, a pod counts as reached only at an address of Nodes, or behind a route by one.
//
// With drivers other than ovn, a member with a subnet of its own would change the way back of all pools of
// the load balancer. Routes and ports are cached, and read again if a pod cannot be reached.
func (r *Reader) Reach(ctx context.Context, pods Pods) (Reach, error) {
	key := cmp.Or(pods.VIP.SubnetID, pods.VIP.NetworkID)
	_, known := r.routers.kept(key)
	for {
		reach, hops, err := r.reach(ctx, pods)
		if err != nil || len(reach.Missing) == 0 {
			return reach, err
		}
		r.routers.forget(key)
		for _, hop := range hops {
			r.hops.forget(hop)
		}
		if !known {
			return reach, nil
		}
		known = false
	}
}

// reach returns also the next hops to the pods.
func (r *Reader) reach(ctx context.Context, pods Pods) (reach Reach, hops []string, err error) {
	reach = Reach{Subnets: map[string]string{}, Missing: map[string]string{}}
	around, err := r.routers.get(ctx, cmp.Or(pods.VIP.SubnetID, pods.VIP.NetworkID), func(ctx context.Context, _ string) (surroundings, error) {
		return r.readSurroundings(ctx, pods.VIP)
	})
	if err != nil {
		return reach, nil, err
	}
	routed, others := map[string]route{}, []string(nil)
	for _, text := range pods.Addresses {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return reach, nil, fmt.Errorf("address of a pod: %w", err)
		}
		way, is := around.route(address)
		switch {
		case pods.onNode(text):
			if subnet := pods.NodeSubnets[text]; pods.Driver.Quirks.AlwaysSendSubnet || !around.subnets[subnet] {
				reach.Subnets[text] = subnet
			}
		case slices.ContainsFunc(pods.Networks, func(p netip.Prefix) bool { return p.Contains(address) }):
			if pods.Driver.Quirks.AlwaysSendSubnet {
				reach.Missing[text] = fmt.Sprintf("is in pod-networks of cloud.conf, and the provider %s reaches only subnets of Neutron", pods.Driver.Name)
			}
		case is:
			routed[text] = way
			hops = append(hops, way.via)
		default:
			others = append(others, text)
		}
	}
	if err := r.routed(ctx, pods, around, routed, hops, &reach); err != nil {
		return reach, hops, err
	}
	if err := r.inSubnets(ctx, pods, around, others, &reach); err != nil {
		return reach, hops, err
	}
	for _, text := range pods.Addresses {
		way, is := routed[text]
		if pods.OnNodes && reach.Missing[text] == "" && !pods.onNode(text) && (!is || !pods.onNode(way.via)) {
			reach.Missing[text] = "is behind no port of a node: with this provider the security groups of the nodes enforce spec.loadBalancerSourceRanges, " +
				"which cannot be enforced there"
		}
	}
	return reach, hops, nil
}

func (p Pods) onNode(address string) bool {
	return slices.ContainsFunc(p.Nodes, func(b members.Backend) bool { return b.Address == address })
}

// routed adds pods behind routes.
func (r *Reader) routed(ctx context.Context, pods Pods, around surroundings, routed map[string]route, hops []string, reach *Reach) error {
	ports, err := r.hops.getMany(ctx, hops, r.readHops)
	if err != nil {
		return err
	}
	for text, way := range routed {
		reach.Routed = true
		subnet, port := around.portAt(ports[way.via], way.via)
		address := netip.MustParseAddr(text)
		switch {
		case port == nil:
			reach.Missing[text] = fmt.Sprintf("has a route by %s, which is the address of no port in a subnet of the router", pods.nodeAt(way.via))
		case !port.Admits(netip.PrefixFrom(address, address.BitLen())):
			reach.Missing[text] = fmt.Sprintf("has a route by %s, whose port does not allow %s: Neutron would drop its packets; add an allowed address pair",
				pods.nodeAt(way.via), way.to)
		case pods.Driver.Quirks.AlwaysSendSubnet:
			reach.Subnets[text] = subnet
		}
	}
	return nil
}

// nodeAt returns the name of the node at an address, or the address.
func (p Pods) nodeAt(address string) string {
	for _, b := range p.Nodes {
		if b.Address == address {
			return b.Node.Name
		}
	}
	return address
}

// inSubnets adds pods with ports of their own, and those that cannot be reached.
func (r *Reader) inSubnets(ctx context.Context, pods Pods, around surroundings, addresses []string, reach *Reach) error {
	ports, err := r.NodePortsAt(ctx, addresses)
	if err != nil {
		return err
	}
	for _, address := range addresses {
		elsewhere, found := "", false
		for _, port := range ports[address] {
			for _, ip := range port.FixedIPs {
				switch {
				case ip.IPAddress != address:
				case !around.subnets[ip.SubnetID]:
					elsewhere = ip.SubnetID
				case pods.Driver.Quirks.AlwaysSendSubnet:
					reach.Subnets[address], found = ip.SubnetID, true
				default:
					found = true
				}
			}
		}
		switch {
		case found:
		case elsewhere != "":
			reach.Missing[address] = fmt.Sprintf("is in subnet %s, which is not attached to the router of the load balancer's subnet", elsewhere)
		default:
			reach.Missing[address] = "has no route in the router of the load balancer's subnet, and no Neutron port: pods of an overlay network cannot be members; " +
				"set members: endpoint-nodes, or see docs/members.md"
		}
	}
	return nil
}

// surroundings are what the routers of a subnet reach.
type surroundings struct {
	// subnets are those of the routers, and the subnet itself.
	subnets map[string]bool
	routes  []route
}

// route is an extra route of a router, with its next hop.
type route struct {
	to  netip.Prefix
	via string
}

// route returns the longest route to an address. Default routes do not count: they lead out of the
// project.
func (s surroundings) route(to netip.Addr) (found route, is bool) {
	for _, one := range s.routes {
		if one.to.Bits() > 0 && one.to.Contains(to) && (!is || one.to.Bits() > found.to.Bits()) {
			found, is = one, true
		}
	}
	return found, is
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

func (r *Reader) readSurroundings(ctx context.Context, vip model.VIP) (surroundings, error) {
	around := surroundings{subnets: map[string]bool{}}
	if vip.SubnetID != "" {
		around.subnets[vip.SubnetID] = true
	}
	interfaces, err := r.neutron.RouterInterfaces(ctx, vip.NetworkID, vip.SubnetID)
	if err != nil {
		return around, hidden(err)
	}
	seen := map[string]bool{}
	for _, port := range interfaces {
		if seen[port.DeviceID] || port.DeviceID == "" {
			continue
		}
		seen[port.DeviceID] = true
		router, err := r.neutron.Router(ctx, port.DeviceID)
		if err != nil {
			if hidden(err) == nil {
				continue
			}
			return around, err
		}
		ports, err := r.neutron.RouterPorts(ctx, port.DeviceID)
		if err != nil {
			return around, err
		}
		around.add(router, ports)
	}
	return around, nil
}

// add adds what a router reaches.
func (s *surroundings) add(router *neutron.Router, ports []neutron.RoutedPort) {
	for _, port := range ports {
		for _, ip := range port.FixedIPs {
			s.subnets[ip.SubnetID] = true
		}
	}
	for _, extra := range router.Routes {
		to, err := netip.ParsePrefix(extra.Destination)
		via, viaErr := netip.ParseAddr(extra.NextHop)
		if err == nil && viaErr == nil {
			s.routes = append(s.routes, route{to.Masked(), via.String()})
		}
	}
}

// readHops returns the ports with any of the addresses, by address.
func (r *Reader) readHops(ctx context.Context, addresses []string) (map[string][]neutron.RoutedPort, error) {
	ports, err := r.neutron.PortsWithAddresses(ctx, addresses)
	if err != nil {
		return nil, err
	}
	byAddress := map[string][]neutron.RoutedPort{}
	for _, address := range addresses {
		byAddress[address] = nil
	}
	for _, port := range ports {
		for _, ip := range port.FixedIPs {
			if _, asked := byAddress[ip.IPAddress]; asked {
				byAddress[ip.IPAddress] = append(byAddress[ip.IPAddress], port)
			}
		}
	}
	return byAddress, nil
}

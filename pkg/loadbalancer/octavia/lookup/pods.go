package lookup

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

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
	// Missing are the reasons why other pods cannot be reached, by address, hops the next hops to them.
	Missing map[string]string
	hops    []string
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
// look healthy in Octavia. The gateway is the router of the VIP's subnet.
//
//	address of the pod                            subnet with ovn       subnet with others
//	a node's (hostNetwork)                        the node's            none in a subnet of the gateway, else the node's
//	in pod-networks of cloud.conf                 cannot be reached     none
//	behind a route of the gateway, by a port      that of the port      none
//	that admits the address
//	a Neutron port's, in a subnet of the gateway  the port's            none
//	any other, as of an overlay network           cannot be reached     cannot be reached
//
// With OnNodes, a pod counts as reached only at an address of Nodes, or behind a route by one.
//
// With drivers other than ovn, a member with a subnet of its own would change the way back of all pools of
// the load balancer. Routes and ports are cached. If a pod cannot be reached, those that are older than
// freshAge are read again.
func (r *Reader) Reach(ctx context.Context, pods Pods) (Reach, error) {
	reach, err := r.reach(ctx, pods)
	if err == nil && len(reach.Missing) > 0 && r.forgetReach(pods.VIP, reach) {
		return r.reach(ctx, pods)
	}
	return reach, err
}

// freshAge is the age up to which routes and ports are not read again for a pod that cannot be reached:
// the Services that wait for the same route share one read.
const freshAge = 4 * time.Second

// forgetReach drops older knowledge of the gateways, of routers and of the next hops to pods that cannot be reached. It
// reports whether there was any.
func (r *Reader) forgetReach(vip model.VIP, reach Reach) bool {
	stale := r.routers.forgetOlder(vip, freshAge)
	for _, hop := range reach.hops {
		stale = r.hops.forgetOlder(hop, freshAge) || stale
	}
	for address := range reach.Missing {
		stale = r.addresses.forgetOlder(address, freshAge) || stale
	}
	return stale
}

// reaching sets how a load balancer reaches pods.
type reaching struct {
	*Reader

	pods Pods
	// around is what the load balancer reaches.
	around surroundings
	reach  *Reach
}

func (r *Reader) reach(ctx context.Context, pods Pods) (reach Reach, err error) {
	reach = Reach{Subnets: map[string]string{}, Missing: map[string]string{}}
	around, err := r.routers.surroundings(ctx, pods.VIP)
	if err != nil {
		return reach, err
	}
	routed, others := map[string]route{}, []string(nil)
	for _, text := range pods.Addresses {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return reach, fmt.Errorf("address of a pod: %w", err)
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
		default:
			others = append(others, text)
		}
	}
	to := reaching{r, pods, around, &reach}
	if err := to.routed(ctx, routed); err != nil {
		return reach, err
	}
	if err := to.inSubnets(ctx, others); err != nil {
		return reach, err
	}
	for _, text := range pods.Addresses {
		way, is := routed[text]
		elsewhere := func(hop string) bool { return !pods.onNode(hop) }
		if pods.OnNodes && reach.Missing[text] == "" && !pods.onNode(text) && (!is || slices.ContainsFunc(way.via, elsewhere)) {
			reach.Missing[text] = "is behind no port of a node: with this provider the security groups of the nodes enforce spec.loadBalancerSourceRanges, " +
				"which cannot be enforced there"
		}
	}
	return reach, nil
}

func (p Pods) onNode(address string) bool {
	return slices.ContainsFunc(p.Nodes, func(b members.Backend) bool { return b.Address == address })
}

// routed adds pods behind routes.
func (r reaching) routed(ctx context.Context, routed map[string]route) error {
	var hops []string
	for _, way := range routed {
		hops = append(hops, way.via...)
	}
	ports, err := r.hops.getMany(ctx, hops, r.readHops)
	if err != nil {
		return err
	}
	for text, way := range routed {
		r.reach.Routed = true
		subnet, why := r.through(way, text, ports)
		switch {
		case why != "":
			r.reach.Missing[text], r.reach.hops = why, append(r.reach.hops, way.via...)
		case r.pods.Driver.Quirks.AlwaysSendSubnet:
			r.reach.Subnets[text] = subnet
		}
	}
	return nil
}

// through returns the subnet of the next hops of a route to a pod, or why one of them does not reach
// it.
func (r reaching) through(way route, pod string, ports map[string][]neutron.RoutedPort) (subnet, why string) {
	address := netip.MustParseAddr(pod)
	for _, hop := range way.via {
		in, port := r.around.portAt(ports[hop], hop)
		switch {
		case port == nil:
			return "", fmt.Sprintf("has a route by %s, which is the address of no port in a subnet of the router", r.pods.nodeAt(hop))
		case !port.Admits(netip.PrefixFrom(address, address.BitLen())):
			return "", fmt.Sprintf("has a route by %s, whose port does not allow %s: Neutron would drop its packets; add an allowed address pair", r.pods.nodeAt(hop), way.to)
		}
		subnet = cmp.Or(subnet, in)
	}
	return subnet, ""
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
func (r reaching) inSubnets(ctx context.Context, addresses []string) error {
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
				case !r.around.subnets[ip.SubnetID]:
					elsewhere = ip.SubnetID
				case r.pods.Driver.Quirks.AlwaysSendSubnet:
					r.reach.Subnets[address], found = ip.SubnetID, true
				default:
					found = true
				}
			}
		}
		switch {
		case found:
		case elsewhere != "":
			r.reach.Missing[address] = fmt.Sprintf("is in subnet %s, which is not attached to the router of the load balancer's subnet", elsewhere)
		default:
			r.reach.Missing[address] = "has no route in the router of the load balancer's subnet, and no Neutron port: pods of an overlay network cannot be members; " +
				"set members: endpoint-nodes, or see docs/members.md"
		}
	}
	return nil
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

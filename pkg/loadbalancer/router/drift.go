package router

import (
	"context"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Changed returns the Services with a VIP that another client has changed since it was applied, with the
// difference. It costs one request for the ports of all Services with a tag, one for each router, one for the
// floating IPs of every 150 ports, and one for every 90 next hops.
func (p *Ports) Changed(ctx context.Context, tag string, known map[types.UID]*state.Routed) (map[types.UID]string, error) {
	found, err := p.Neutron.VIPPorts(ctx, tag)
	if err != nil {
		return nil, err
	}
	floating, err := p.floatingOn(ctx, known)
	if err != nil {
		return nil, err
	}
	admits, err := p.admissions(ctx, known)
	if err != nil {
		return nil, err
	}
	changed, hops := map[types.UID]string{}, map[string]map[netip.Addr][]netip.Addr{}
	for uid, applied := range known {
		lb := applied.LoadBalancer
		at := slices.IndexFunc(found, func(port neutron.VIPPort) bool { return port.ID == lb.VIP.PortID })
		if at < 0 {
			changed[uid] = "the port of the VIP was deleted"
			continue
		}
		through, err := p.nextHopsIn(ctx, hops, lb.VIP)
		if err != nil {
			return nil, err
		}
		barred, err := p.barred(ctx, *lb, admits)
		if err != nil {
			return nil, err
		}
		var id string
		if lb.FloatingIP != nil {
			id = lb.FloatingIP.ID
		}
		switch {
		case balancerOf(found[at]).VIP.Address != lb.VIP.Address:
			changed[uid] = "the address of the VIP was changed"
		case !slices.Equal(through, lb.NextHops):
			changed[uid] = "the routes to the VIP were changed"
		case len(barred) > len(lb.Barred):
			changed[uid] = "the port of a node does not admit packets for the VIP any more"
		case floating[lb.VIP.PortID] != id:
			changed[uid] = "the floating IP of the VIP was changed"
		}
	}
	return changed, nil
}

// floatingOn returns the ID of the floating IP on each port of the known VIPs.
func (p *Ports) floatingOn(ctx context.Context, known map[types.UID]*state.Routed) (map[string]string, error) {
	var ports []string
	for _, applied := range known {
		ports = append(ports, applied.LoadBalancer.VIP.PortID)
	}
	all, err := p.Neutron.FloatingIPsOn(ctx, ports)
	if err != nil {
		return nil, err
	}
	on := map[string]string{}
	for _, fip := range all {
		on[fip.PortID] = fip.ID
	}
	return on, nil
}

// textsOf returns addresses as sorted texts.
func textsOf(addresses []netip.Addr) []string {
	var texts []string
	for _, address := range addresses {
		texts = append(texts, address.String())
	}
	slices.Sort(texts)
	return texts
}

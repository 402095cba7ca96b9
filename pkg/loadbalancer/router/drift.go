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
// difference. It costs one request for the ports of all Services with a tag, one for each router, and one for the
// floating IPs of every 150 ports.
func (p *Ports) Changed(ctx context.Context, networkID, tag string, known map[types.UID]*state.Routed) (map[types.UID]string, error) {
	found, err := p.Neutron.VIPPorts(ctx, networkID, tag)
	if err != nil {
		return nil, err
	}
	floating, err := p.floatingOn(ctx, known)
	if err != nil {
		return nil, err
	}
	changed, hops := map[types.UID]string{}, map[string]map[netip.Addr][]netip.Addr{}
	for uid, applied := range known {
		vip := applied.LoadBalancer.VIP
		if !slices.ContainsFunc(found, func(port neutron.VIPPort) bool { return port.ID == vip.PortID }) {
			changed[uid] = "the port of the VIP was deleted"
			continue
		}
		through, err := p.nextHopsIn(ctx, hops, vip)
		if err != nil {
			return nil, err
		}
		var id string
		if fip := applied.LoadBalancer.FloatingIP; fip != nil {
			id = fip.ID
		}
		switch {
		case !slices.Equal(through, applied.LoadBalancer.NextHops):
			changed[uid] = "the routes to the VIP were changed"
		case floating[vip.PortID] != id:
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

package garbage

import (
	"context"
	"net/netip"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
)

// vipTag returns the tag of the VIPs of a cluster, in any network; "" if only its name is known: then all
// ports of the project are listed, because Neutron has no filter for parts of a tag.
func vipTag(clusterID string) string {
	if clusterID == "" {
		return ""
	}
	return ownership.ClusterTag(clusterID)
}

func vipSigns(port neutron.VIPPort) ownership.Signs {
	return ownership.LoadBalancerSigns(port.Name, port.Description, port.Tags)
}

// addressOf returns the address of a VIP, "" if its port has none.
func addressOf(port neutron.VIPPort) string {
	if len(port.FixedIPs) == 0 {
		return ""
	}
	return port.FixedIPs[0].IPAddress
}

// vip adds the port of a VIP. Each has the ID of its cluster: other ports are not VIPs.
func (l *lister) vip(port neutron.VIPPort) {
	signs := vipSigns(port)
	if len(signs.ClusterIDs) == 0 {
		return
	}
	owner, why := l.judge(signs)
	if l.living() {
		owner, why = used(l.query.Services.users(port.ID, []string{addressOf(port)}, l.addresses[port.ID]), owner, why)
	}
	if owner == ours && port.DeviceOwner != "" {
		owner, why = mistakable, "it is bound to a device: "+port.DeviceOwner
	}
	l.judged(owner, why, Item{Kind: VIP, ID: port.ID, Name: addressOf(port), vip: port})
	if owner == ours {
		l.ports[port.ID] = l.items[len(l.items)-1]
	}
}

// leadsToVIP reports whether a route leads to a VIP that is an item, and so is judged with it.
func (l *lister) leadsToVIP(route neutron.ExtraRoute) bool {
	return slices.ContainsFunc(l.items, func(i Item) bool { return i.Kind == VIP && leadsTo(route, i.Name) })
}

// leadsTo reports whether a route has exactly one address as its destination.
func leadsTo(route neutron.ExtraRoute, address string) bool {
	to, err := netip.ParsePrefix(route.Destination)
	vip, invalid := netip.ParseAddr(address)
	return err == nil && invalid == nil && to.IsSingleIP() && to.Addr() == vip
}

// lookVIP reads the port of a VIP again, and returns its item as List does now: nil if it is gone.
func (r *remover) lookVIP(ctx context.Context, id string) (*Item, error) {
	port, err := r.Neutron.VIPPort(ctx, id)
	if err != nil {
		return nil, apierror.IgnoreNotFound(err)
	}
	query, err := r.queryNow(ctx)
	if err != nil {
		return nil, err
	}
	l := newLister(Inventory{FloatingIPs: r.floatingIPs}, query, r.target)
	if l.vip(*port); len(l.items) > 0 {
		return &l.items[0], nil
	}
	return &Item{State: LeftAlone}, nil
}

// vip deletes the port of a VIP, and before it the routes to it: they would lead the next owner of the address
// astray, and the port is the proof that they are the cluster's. A floating IP that was attached since the list
// stops it.
func (r *remover) vip(ctx context.Context, item *Item) error {
	now, err := r.lookVIP(ctx, item.ID)
	switch {
	case err != nil || now == nil:
		return err
	case now.State != Found:
		return r.changed(now.Why)
	}
	attached, err := r.Neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{PortIDs: []string{item.ID}})
	if err != nil {
		return err
	}
	for _, fip := range attached {
		if !slices.Contains(r.addresses(item.ID), fip.FloatingIP) {
			return r.changed("floating IP " + fip.ID + " is on it")
		}
	}
	leading, err := routesTo(ctx, r.Neutron, now.vip)
	if err != nil {
		return err
	}
	for routerID, gone := range leading {
		if err := routes.Remove(ctx, r.Neutron, routerID, gone); err != nil {
			return err
		}
	}
	return r.Neutron.DeletePort(ctx, item.ID)
}

// addresses returns those of the listed floating IPs on a port.
func (r *remover) addresses(portID string) []string {
	var all []string
	for _, fip := range r.floatingIPs {
		if fip.PortID == portID {
			all = append(all, fip.FloatingIP)
		}
	}
	return all
}

// routesTo returns the routes to a VIP, by router: those that have exactly its address as their destination. It
// reads the routers in the subnet of the VIP, because cloud.conf may name another network by now.
func routesTo(ctx context.Context, network Neutron, port neutron.VIPPort) (map[string][]neutron.ExtraRoute, error) {
	if len(port.FixedIPs) == 0 {
		return nil, nil
	}
	interfaces, err := network.RouterInterfaces(ctx, port.NetworkID, port.FixedIPs[0].SubnetID)
	if err != nil {
		return nil, err
	}
	leading := map[string][]neutron.ExtraRoute{}
	for _, of := range interfaces {
		if _, read := leading[of.DeviceID]; read {
			continue
		}
		router, err := network.Router(ctx, of.DeviceID)
		if apierror.IsNoRouter(err) {
			continue // of another project: its routes are not ours
		}
		if err != nil {
			return nil, err
		}
		for _, route := range router.Routes {
			if leadsTo(route, addressOf(port)) {
				leading[of.DeviceID] = append(leading[of.DeviceID], route)
			}
		}
	}
	return leading, nil
}

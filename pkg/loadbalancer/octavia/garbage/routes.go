package garbage

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
)

// Routes are the router in cloud.conf, and the ports at the next hops of its routes.
type Routes struct {
	Router *neutron.Router
	Ports  []neutron.RoutedPort
}

// readRoutes reads the router; nil if there is none.
func readRoutes(ctx context.Context, o Options) (*Routes, error) {
	if o.RouterID == "" {
		return nil, nil //nolint:nilnil // cloud.conf has none
	}
	router, err := o.Neutron.Router(ctx, o.RouterID)
	if apierror.IsNoRouter(err) {
		return nil, nil //nolint:nilnil // it was deleted with the cluster
	}
	if err != nil {
		return nil, err
	}
	var hops []string
	for _, route := range router.Routes {
		hops = append(hops, route.NextHop)
	}
	slices.Sort(hops)
	ports, err := o.Neutron.PortsWithAddresses(ctx, slices.Compact(hops))
	return &Routes{router, ports}, err
}

// routes adds the routes of the router. They have no owner's name: the pod networks of the query
// identify them.
//
//	destination              next hop         the route is
//	in a pod network         has no port      removed: its node is gone
//	in a pod network         has a port       left alone: it may belong to a live cluster
//	a VIP of the cluster     any              removed with the VIP
//	anywhere else            any              another's
//	without pod networks     any              left alone, all of the router as one item
func (l *lister) routes(r *Routes) {
	if r == nil {
		return
	}
	all := slices.DeleteFunc(slices.Clone(r.Router.Routes), l.leadsToVIP)
	if len(l.query.PodNetworks) == 0 {
		if len(all) > 0 {
			l.judged(unclear, "its routes do not say of which cluster they are: --cluster-cidr names the pod networks of this one",
				Item{Kind: Route, ID: r.Router.ID, Name: fmt.Sprintf("%d routes", len(all))})
		}
		return
	}
	for _, route := range all {
		to, err := netip.ParsePrefix(route.Destination)
		if err != nil || !slices.ContainsFunc(l.query.PodNetworks, func(pods netip.Prefix) bool {
			return pods.Bits() <= to.Bits() && pods.Contains(to.Addr())
		}) {
			continue
		}
		item := Item{Kind: Route, ID: route.Destination + " via " + route.NextHop, Name: r.Router.ID, route: route}
		if i := slices.IndexFunc(r.Ports, func(p neutron.RoutedPort) bool { return has(p, route.NextHop) }); i >= 0 {
			l.judged(unclear, "port "+r.Ports[i].ID+" has the address that it leads to: delete the cluster's servers first", item)
			continue
		}
		l.judged(ours, "", item)
	}
}

// has reports whether a port has an address, in any spelling.
func has(port neutron.RoutedPort, address string) bool {
	want, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(port.FixedIPs, func(fixed neutron.FixedIP) bool {
		got, err := netip.ParseAddr(fixed.IPAddress)
		return err == nil && got == want
	})
}

// removeRoutes removes the routes without a port at their next hop, in one request.
func (r *remover) removeRoutes(ctx context.Context, items []*Item) {
	if len(items) == 0 {
		return
	}
	var removed []*Item
	var gone []neutron.ExtraRoute
	now, err := readRoutes(ctx, r.Options)
	for _, item := range items {
		switch {
		case err != nil:
			item.State, item.Why = Failed, err.Error()
		case now != nil && slices.ContainsFunc(now.Ports, func(p neutron.RoutedPort) bool { return has(p, item.route.NextHop) }):
			item.State, item.Why = Failed, r.changed("").Error()
		default:
			removed, gone = append(removed, item), append(gone, item.route)
		}
	}
	if now != nil && len(gone) > 0 {
		err = routes.Remove(ctx, r.Neutron, r.RouterID, gone)
	}
	for _, item := range removed {
		if item.State = Removed; err != nil {
			item.State, item.Why = Failed, err.Error()
		}
	}
}

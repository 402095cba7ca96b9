package routes

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Lead has the next hops to an address of a pool.
type Lead struct {
	// To is the address, as a prefix of one address. The caller has proof that it is the cluster's: all
	// routes to it are ours.
	To netip.Prefix
	// Through are the addresses of the nodes that become next hops; none removes all routes to To.
	Through []netip.Addr
	// Pool contains To. The ports of the next hops get an allowed address pair for it, which stays.
	Pool netip.Prefix
}

// Lead makes the router send the packets to an address to certain next hops, and to no others. New
// routes are added before others are removed, so that new connections are not lost. Concurrent calls
// are executed as one batch, together with those for routes to pods.
func (t *Table) Lead(ctx context.Context, to Lead) error {
	return t.batcher.do(ctx, &operation{lead: &to})
}

// NextHops returns the next hops of the routes to single addresses. It costs one request.
func (t *Table) NextHops(ctx context.Context) (map[netip.Addr][]netip.Addr, error) {
	router, err := t.routes.read(ctx)
	if err != nil {
		return nil, err
	}
	hops := map[netip.Addr][]netip.Addr{}
	for h := range hopsOf(router) {
		if h.to.IsSingleIP() {
			hops[h.to.Addr()] = append(hops[h.to.Addr()], h.via)
		}
	}
	for _, through := range hops {
		slices.SortFunc(through, netip.Addr.Compare)
	}
	return hops, nil
}

// Size returns the number of all routes of the router, also those of other clients, as this process has last
// read or changed it. Before that it costs one request.
func (t *Table) Size(ctx context.Context) (int, error) {
	if known := t.routes.size.Load(); known > 0 {
		return int(known) - 1, nil
	}
	router, err := t.routes.read(ctx)
	if err != nil {
		return 0, err
	}
	return len(router.Routes), nil
}

// lead is a Lead in a batch.
type lead struct {
	Lead
	err error
	// missing are the routes to add, obsolete those to remove.
	missing, obsolete []hop
}

// admission is a next hop and the pool that its port must admit.
type admission struct {
	via  netip.Addr
	pool netip.Prefix
}

// leadAll executes the Leads of a batch, and sets their errors. It removes routes first only if the
// router is full.
func (t *Table) leadAll(ctx context.Context, r *reconciliation, leads map[netip.Prefix]*lead) {
	t.admitAll(ctx, r, leads)
	var missing []hop
	for _, l := range leads {
		if l.err == nil {
			l.compare(r.has)
			missing = append(missing, l.missing...)
		}
	}
	t.addHops(ctx, r, missing)
	var again []hop
	for _, l := range leads {
		if refused := l.refused(r.errs); len(refused) > 0 && len(l.obsolete) > 0 && t.full() {
			again = append(again, refused...)
		} else if len(refused) > 0 {
			l.err = r.errs[refused[0]]
		}
	}
	t.removeObsolete(ctx, r, leads)
	if len(again) == 0 {
		return
	}
	t.limit = routeLimit{}
	t.addHops(ctx, r, again)
	for _, l := range leads {
		if refused := l.refused(r.errs); l.err == nil && len(refused) > 0 {
			l.err = r.errs[refused[0]]
		}
	}
}

// compare sets the routes to add and to remove.
func (l *lead) compare(has map[hop]neutron.ExtraRoute) {
	for _, via := range l.Through {
		if h := (hop{l.To, via}); has[h] == (neutron.ExtraRoute{}) {
			l.missing = append(l.missing, h)
		}
	}
	for h := range has {
		if h.to == l.To && !slices.Contains(l.Through, h.via) {
			l.obsolete = append(l.obsolete, h)
		}
	}
}

// refused returns the routes that could not be added.
func (l *lead) refused(errs map[hop]error) []hop {
	return slices.DeleteFunc(slices.Clone(l.missing), func(h hop) bool { return errs[h] == nil })
}

// addHops adds routes, in an order that is the same each time.
func (t *Table) addHops(ctx context.Context, r *reconciliation, hops []hop) {
	if len(hops) == 0 {
		return
	}
	slices.SortFunc(hops, compareHops)
	for _, h := range hops {
		delete(r.errs, h)
	}
	t.add(ctx, r, hops)
}

func compareHops(a, b hop) int {
	if c := a.to.Addr().Compare(b.to.Addr()); c != 0 {
		return c
	}
	return a.via.Compare(b.via)
}

// full reports whether the router has refused routes because of their number.
func (t *Table) full() bool { return t.clock.Now().Before(t.limit.until) }

// removeObsolete removes the obsolete routes of all Leads that have not failed, with one request.
func (t *Table) removeObsolete(ctx context.Context, r *reconciliation, leads map[netip.Prefix]*lead) {
	var hops []hop
	var routes []neutron.ExtraRoute
	for _, l := range leads {
		if l.err != nil {
			continue
		}
		for _, h := range l.obsolete {
			hops, routes = append(hops, h), append(routes, r.has[h])
		}
	}
	if len(hops) == 0 {
		return
	}
	err := r.noting(ctx, hops, func(ctx context.Context) error { return t.routes.change(ctx, r.router, nil, routes) })
	for _, l := range leads {
		if l.err == nil && len(l.obsolete) > 0 {
			l.err = err
		}
	}
	if err == nil {
		for _, h := range hops {
			delete(r.has, h)
		}
	}
}

// admitAll adds the address pairs to the ports of next hops, before routes lead there.
func (t *Table) admitAll(ctx context.Context, r *reconciliation, leads map[netip.Prefix]*lead) {
	admissions := map[admission]error{}
	for _, l := range leads {
		for _, via := range l.Through {
			admissions[admission{via, l.Pool}] = nil
		}
	}
	if len(admissions) == 0 {
		return
	}
	t.admit(ctx, r, admissions)
	for _, l := range leads {
		for _, via := range l.Through {
			if err := admissions[admission{via, l.Pool}]; l.err == nil && err != nil {
				l.err = err
			}
		}
	}
}

// admit adds the address pairs to ports, and sets the errors.
func (t *Table) admit(ctx context.Context, r *reconciliation, admissions map[admission]error) {
	vias := make([]netip.Addr, 0, len(admissions))
	for a := range admissions {
		vias = append(vias, a.via)
	}
	ports, err := portsOf(ctx, t.network, vias)
	if err == nil {
		err = t.subnets.read(ctx, func() bool {
			return slices.ContainsFunc(vias, func(via netip.Addr) bool { return t.subnets.portAt(via, ports) == "" })
		})
	}
	for a := range admissions {
		if admissions[a] = err; err == nil {
			admissions[a] = t.admitAt(ctx, r, a, ports[a.via])
		}
	}
}

// admitAt adds the address pair to the port of a next hop.
func (t *Table) admitAt(ctx context.Context, r *reconciliation, a admission, ports []*neutron.RoutedPort) error {
	id := t.subnets.portAt(a.via, map[netip.Addr][]*neutron.RoutedPort{a.via: ports})
	i := slices.IndexFunc(ports, func(port *neutron.RoutedPort) bool { return port.ID == id })
	if i < 0 {
		return fmt.Errorf("no port with the address %s of a node is in a subnet of router %s", a.via, t.routerID)
	}
	return r.noting(ctx, nil, func(ctx context.Context) error { return t.pairs.add(ctx, ports[i], []netip.Prefix{a.pool}) })
}

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

// leadBatch executes the Leads of a batch.
type leadBatch struct {
	*reconciliation
	// leads are the Leads by address.
	leads map[netip.Prefix]*lead
}

// run executes the Leads, and sets their errors. It removes routes first only if the router is full.
func (b leadBatch) run(ctx context.Context) {
	b.admitAll(ctx)
	var missing []hop
	for _, l := range b.leads {
		if l.err == nil {
			l.compare(b.has)
			missing = append(missing, l.missing...)
		}
	}
	b.addHops(ctx, missing)
	var again []hop
	for _, l := range b.leads {
		if refused := l.refused(b.errs); len(refused) > 0 && len(l.obsolete) > 0 && b.table.limit.full(b.table.clock.Now()) {
			again = append(again, refused...)
		} else if len(refused) > 0 {
			l.err = b.errs[refused[0]]
		}
	}
	b.removeObsolete(ctx)
	if len(again) == 0 {
		return
	}
	b.table.limit = routeLimit{}
	b.addHops(ctx, again)
	for _, l := range b.leads {
		if refused := l.refused(b.errs); l.err == nil && len(refused) > 0 {
			l.err = b.errs[refused[0]]
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
func (b leadBatch) addHops(ctx context.Context, hops []hop) {
	if len(hops) == 0 {
		return
	}
	slices.SortFunc(hops, compareHops)
	for _, h := range hops {
		delete(b.errs, h)
	}
	b.add(ctx, hops)
}

func compareHops(a, b hop) int {
	if c := a.to.Addr().Compare(b.to.Addr()); c != 0 {
		return c
	}
	return a.via.Compare(b.via)
}

// removeObsolete removes the obsolete routes of all Leads that have not failed, with one request.
func (b leadBatch) removeObsolete(ctx context.Context) {
	var hops []hop
	var routes []neutron.ExtraRoute
	for _, l := range b.leads {
		if l.err != nil {
			continue
		}
		for _, h := range l.obsolete {
			hops, routes = append(hops, h), append(routes, b.has[h])
		}
	}
	if len(hops) == 0 {
		return
	}
	err := b.change(ctx, hops, nil, routes)
	for _, l := range b.leads {
		if l.err == nil && len(l.obsolete) > 0 {
			l.err = err
		}
	}
	if err == nil {
		for _, h := range hops {
			delete(b.has, h)
		}
	}
}

// admitAll adds the address pairs to the ports of next hops, before routes lead there.
func (b leadBatch) admitAll(ctx context.Context) {
	admissions := map[admission]error{}
	for _, l := range b.leads {
		for _, via := range l.Through {
			admissions[admission{via, l.Pool}] = nil
		}
	}
	if len(admissions) == 0 {
		return
	}
	b.admit(ctx, admissions)
	for _, l := range b.leads {
		for _, via := range l.Through {
			if err := admissions[admission{via, l.Pool}]; l.err == nil && err != nil {
				l.err = err
			}
		}
	}
}

// admit adds the address pairs to ports, and sets the errors.
func (b leadBatch) admit(ctx context.Context, admissions map[admission]error) {
	vias := make([]netip.Addr, 0, len(admissions))
	for a := range admissions {
		vias = append(vias, a.via)
	}
	ports, err := portsOf(ctx, b.table.network, vias)
	if err == nil {
		err = b.table.subnets.read(ctx, func() bool {
			return slices.ContainsFunc(vias, func(via netip.Addr) bool { return b.table.subnets.portAt(via, ports) == "" })
		})
	}
	for a := range admissions {
		if admissions[a] = err; err == nil {
			admissions[a] = b.admitAt(ctx, a, ports[a.via])
		}
	}
}

// admitAt adds the address pair to the port of a next hop.
func (b leadBatch) admitAt(ctx context.Context, a admission, ports []*neutron.RoutedPort) error {
	id := b.table.subnets.portAt(a.via, map[netip.Addr][]*neutron.RoutedPort{a.via: ports})
	i := slices.IndexFunc(ports, func(port *neutron.RoutedPort) bool { return port.ID == id })
	if i < 0 {
		return fmt.Errorf("no port with the address %s of a node is in a subnet of router %s", a.via, b.table.routerID)
	}
	return b.noting(ctx, nil, func(ctx context.Context) error { return b.table.pairs.add(ctx, ports[i], []netip.Prefix{a.pool}) })
}

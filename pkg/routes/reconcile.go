package routes

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// reconciliation is the execution of one batch. Routes are removed before others are added, which
// frees space for them. A route is added before its address pair and removed after it. So a route
// that ListRoutes does not return has no pair left, and a route that Neutron refuses costs no write
// of a port.
type reconciliation struct {
	table  *Table
	router *neutron.Router
	has    map[hop]neutron.ExtraRoute
	// owned is the record at the start.
	owned map[hop]string
	// mu guards errs and writes while ports are written.
	mu sync.Mutex
	// errs holds the errors by route.
	errs map[hop]error
	// added are the routes of has that this batch has added.
	added map[hop]bool
	// stuck is the reason why a route to a pod CIDR could not be removed.
	stuck map[netip.Prefix]error

	// For the log: the start, the nodes of routes, and the requests that changed them.
	began  time.Time
	nodes  map[hop]string
	writes map[hop]*telemetry.Writes
}

// noting calls a function that changes routes, and records its requests for the log.
func (r *reconciliation) noting(ctx context.Context, hops []hop, change func(context.Context) error) error {
	ctx, writes := telemetry.Collect(ctx)
	err := change(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range hops {
		if r.writes[h] == nil {
			r.writes[h] = &telemetry.Writes{}
		}
		r.writes[h].Add(writes)
	}
	return err
}

// change adds or removes routes, and records the requests for the log.
func (r *reconciliation) change(ctx context.Context, hops []hop, add, remove []neutron.ExtraRoute) error {
	return r.noting(ctx, hops, func(ctx context.Context) error { return r.table.routes.change(ctx, r.router, add, remove) })
}

// reconcile executes operations and returns the error of each.
func (t *Table) reconcile(ctx context.Context, operations []*operation) []error {
	errs := make([]error, len(operations))
	removals, additions, leads := map[hop]error{}, map[*operation]error{}, map[netip.Prefix]*lead{}
	for _, c := range operations {
		switch {
		case c.lead != nil && c.ctx.Err() == nil:
			leads[c.lead.To] = &lead{Lead: *c.lead}
		case c.lead != nil:
		case c.remove.to.IsValid():
			removals[c.remove] = nil
		case c.ctx.Err() == nil:
			additions[c] = nil
		}
	}
	r, err := t.start(ctx, operations)
	if err == nil {
		r.removeAll(ctx, removals)
		r.stuck = r.stuckBy(removals)
		r.addAll(ctx, additions)
		leadBatch{r, leads}.run(ctx)
		t.routes.size.Store(int64(len(r.has)) + 1)
	}
	for i, c := range operations {
		switch {
		case err != nil:
			errs[i] = err
		case c.lead != nil:
			if led := leads[c.lead.To]; led != nil {
				errs[i] = led.err
			}
		case c.remove.to.IsValid():
			errs[i] = removals[c.remove]
		default:
			errs[i] = additions[c]
		}
	}
	return errs
}

func (t *Table) start(ctx context.Context, operations []*operation) (*reconciliation, error) {
	began := t.clock.Now()
	router, err := t.routes.read(ctx)
	if err != nil {
		return nil, err
	}
	owned, err := t.record.read(ctx)
	nodes := map[hop]string{}
	for _, c := range operations {
		nodes[c.remove] = c.node // nodes of routes to add are set when these are chosen
	}
	return &reconciliation{
		table: t, router: router, has: hopsOf(router), owned: owned, errs: map[hop]error{}, added: map[hop]bool{},
		began: began, nodes: nodes, writes: map[hop]*telemetry.Writes{},
	}, err
}

// eachPort changes the pairs of the ports of routes, one write for each port, and records the
// errors. If the record has the port of a route, another port with its address is not changed.
func (r *reconciliation) eachPort(ctx context.Context, routes map[hop]bool, ports map[netip.Addr][]*neutron.RoutedPort,
	do func(context.Context, *neutron.RoutedPort, []netip.Prefix) error,
) {
	byPort := map[*neutron.RoutedPort][]hop{}
	for h := range routes {
		for _, port := range ports[h.via] {
			if r.owned[h] == port.ID || r.owned[h] == "" && len(ports[h.via]) == 1 {
				byPort[port] = append(byPort[port], h)
			}
		}
	}
	var group errgroup.Group
	group.SetLimit(portWrites)
	for port, hops := range byPort {
		group.Go(func() error {
			var cidrs []netip.Prefix
			for _, h := range hops {
				cidrs = append(cidrs, h.to)
			}
			slices.SortFunc(cidrs, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
			err := r.noting(ctx, hops, func(ctx context.Context) error { return do(ctx, port, cidrs) })
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, h := range hops {
				r.errs[h] = err
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are recorded by route
}

// setComplete records the result of a batch, and logs the routes that it changed.
func (r *reconciliation) setComplete(ctx context.Context, routes map[hop]bool) {
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	for h, complete := range routes {
		r.table.complete[h] = complete
		if writes := r.writes[h]; writes.Any() {
			values := []any{"router", r.table.routerID, "route", h.String(), "leads", complete, "node", r.nodes[h], "port", r.owned[h]}
			klog.FromContext(ctx).V(1).Info("Changed a route", slices.Concat(values, writes.Values(), []any{"took", r.table.clock.Since(r.began)})...)
		}
	}
}

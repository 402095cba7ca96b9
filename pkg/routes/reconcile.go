package routes

import (
	"context"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// reconciliation is one batch being carried out. Routes are removed before others are
// added, which makes room for them. A route is added before its address pair and
// removed after it, so that a route that ListRoutes does not name has nothing left, and
// one that Neutron refuses costs the port no write.
type reconciliation struct {
	router *neutron.Router
	has    map[hop]neutron.ExtraRoute
	// owned is the record as it was at the start.
	owned map[hop]string
	// errs are why routes are not what they should be.
	errs map[hop]error
	// added are those of has that were not there before.
	added map[hop]bool
	// stuck is why a route to a pod CIDR that had to go is still there.
	stuck map[netip.Prefix]error
}

// reconcile carries out operations and returns the error of each.
func (t *Table) reconcile(ctx context.Context, operations []*operation) []error {
	errs := make([]error, len(operations))
	removals, additions := map[hop]error{}, map[*operation]error{}
	for _, c := range operations {
		if c.remove.to.IsValid() {
			removals[c.remove] = nil
		} else if c.ctx.Err() == nil {
			additions[c] = nil
		}
	}
	r, err := t.start(ctx)
	if err == nil {
		t.removeAll(ctx, r, removals)
		r.stuck = r.stuckBy(removals)
		t.addAll(ctx, r, additions)
	}
	for i, c := range operations {
		switch {
		case err != nil:
			errs[i] = err
		case c.remove.to.IsValid():
			errs[i] = removals[c.remove]
		default:
			errs[i] = additions[c]
		}
	}
	return errs
}

func (t *Table) start(ctx context.Context) (*reconciliation, error) {
	router, err := t.readRouter(ctx)
	if err != nil {
		return nil, err
	}
	owned, err := t.record.read(ctx)
	return &reconciliation{router: router, has: hopsOf(router), owned: owned, errs: map[hop]error{}, added: map[hop]bool{}}, err
}

// eachPort changes the pairs of the ports that routes lead to, those of a port at once,
// and records the errors. Where the record knows the port, another one
// that has got its address is not touched.
func (t *Table) eachPort(ctx context.Context, r *reconciliation, routes map[hop]bool, ports map[netip.Addr][]*neutron.RoutedPort,
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
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(portWrites)
	for port, hops := range byPort {
		group.Go(func() error {
			var cidrs []netip.Prefix
			for _, h := range hops {
				cidrs = append(cidrs, h.to)
			}
			slices.SortFunc(cidrs, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
			err := do(ctx, port, cidrs)
			mu.Lock()
			defer mu.Unlock()
			for _, h := range hops {
				r.errs[h] = err
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are those of the routes
}

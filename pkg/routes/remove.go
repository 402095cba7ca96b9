package routes

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// removeAll removes routes and sets their errors.
func (t *Table) removeAll(ctx context.Context, r *reconciliation, removals map[hop]error) {
	if len(removals) == 0 {
		return
	}
	wanted, err := t.targets()
	fail := func(err error) {
		for h := range removals {
			if removals[h] == nil {
				removals[h] = err
			}
		}
	}
	if err != nil {
		fail(err)
		return
	}
	obsolete := map[hop]bool{}
	var vias []netip.Addr
	for h := range removals {
		_, ours := r.owned[h]
		_, leads := wanted[h]
		switch {
		case !ours:
			removals[h] = fmt.Errorf("route %s of router %s is left alone: nothing proves that it is ours", h, t.routerID)
		case !leads: // else its Node has come back
			obsolete[h] = true
			vias = append(vias, h.via)
		}
	}
	if len(obsolete) == 0 {
		return
	}
	ports, err := t.portsOf(ctx, vias)
	if err != nil {
		fail(err)
		return
	}
	for h := range obsolete {
		if inherited(h, r.owned[h], ports[h.via]) {
			delete(r.has, h) // so that it is struck from the record only
		}
	}
	t.eachPort(ctx, r, obsolete, ports, t.removePairs)
	t.removeRoutes(ctx, r, removals, obsolete)
}

// stuckBy returns the pod CIDRs that still lead to where they must not: a second next
// hop beside that one would lose half of the packets.
func (r *reconciliation) stuckBy(removals map[hop]error) map[netip.Prefix]error {
	stuck := map[netip.Prefix]error{}
	for h, err := range removals {
		if _, there := r.has[h]; there && err != nil {
			stuck[h.to] = fmt.Errorf("it still leads to %s: %w", h.via, err)
		}
	}
	return stuck
}

// occupied returns an error while a route of ours leads to the pod CIDR: one that could not be
// removed, or whose removal comes with a later batch.
func (r *reconciliation) occupied(to netip.Prefix) error {
	if err := r.stuck[to]; err != nil {
		return err
	}
	for h := range r.has {
		if _, ours := r.owned[h]; ours && h.to == to {
			return fmt.Errorf("it still leads to %s, which is to be removed first", h.via)
		}
	}
	return nil
}

// inherited reports whether the address of a route now is that of another port, which lets
// the same pods through: another cluster's node, whose route is spelled like ours.
func inherited(h hop, portID string, ports []*neutron.RoutedPort) bool {
	return portID != "" && slices.ContainsFunc(ports, func(port *neutron.RoutedPort) bool {
		return port.ID != portID && needsPairs(port) && admits(port, h.to)
	})
}

// removeRoutes removes those of the routes whose pairs are gone.
func (t *Table) removeRoutes(ctx context.Context, r *reconciliation, removals map[hop]error, obsolete map[hop]bool) {
	var routes []neutron.ExtraRoute
	var gone, there []hop
	leads := map[hop]bool{}
	for h := range obsolete {
		if removals[h] = r.errs[h]; removals[h] != nil {
			continue
		}
		gone, leads[h] = append(gone, h), false
		if route, is := r.has[h]; is {
			routes, there = append(routes, route), append(there, h)
		}
	}
	var err error
	if len(routes) > 0 {
		err = r.noting(ctx, there, func(ctx context.Context) error { return t.change(ctx, r.router, nil, routes) })
	}
	if err == nil {
		t.setComplete(ctx, r, leads)
		err = t.record.write(ctx, nil, gone)
	}
	for _, h := range gone {
		if removals[h] = err; err == nil {
			delete(r.has, h)
		}
	}
}

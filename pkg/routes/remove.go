package routes

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// removeAll removes routes and sets their errors.
func (r *reconciliation) removeAll(ctx context.Context, removals map[hop]error) {
	if len(removals) == 0 {
		return
	}
	wanted, err := r.table.targets()
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
			removals[h] = fmt.Errorf("route %s of router %s is not removed: nothing proves that it is ours", h, r.table.routerID)
		case !leads: // otherwise its Node has reappeared
			obsolete[h] = true
			vias = append(vias, h.via)
		}
	}
	if len(obsolete) == 0 {
		return
	}
	ports, err := portsOf(ctx, r.table.network, vias)
	if err != nil {
		fail(err)
		return
	}
	for h := range obsolete {
		if inherited(h, r.owned[h], ports[h.via]) {
			delete(r.has, h) // removes it from the record only
		}
	}
	r.eachPort(ctx, obsolete, ports, r.table.pairs.remove)
	r.removeRoutes(ctx, removals, obsolete)
}

// stuckBy returns the pod CIDRs that still have a route to a wrong next hop: with a second next hop
// beside it, half of the packets would be lost.
func (r *reconciliation) stuckBy(removals map[hop]error) map[netip.Prefix]error {
	stuck := map[netip.Prefix]error{}
	for h, err := range removals {
		if _, there := r.has[h]; there && err != nil {
			stuck[h.to] = fmt.Errorf("it still leads to %s: %w", h.via, err)
		}
	}
	return stuck
}

// occupied returns an error while the pod CIDR has another route of ours, which could not be
// removed, or will be removed by a later batch.
func (r *reconciliation) occupied(to netip.Prefix) error {
	if err := r.stuck[to]; err != nil {
		return err
	}
	for h := range r.has {
		if _, ours := r.owned[h]; ours && h.to == to {
			return fmt.Errorf("it still leads to %s: that route must be removed first", h.via)
		}
	}
	return nil
}

// inherited reports whether the address of a route now belongs to another port that admits the same
// pods: a node of another cluster, with a route that looks like ours.
func inherited(h hop, portID string, ports []*neutron.RoutedPort) bool {
	return portID != "" && slices.ContainsFunc(ports, func(port *neutron.RoutedPort) bool {
		return port.ID != portID && port.NeedsPairs() && port.Admits(h.to)
	})
}

// removeRoutes removes the routes without remaining pairs.
func (r *reconciliation) removeRoutes(ctx context.Context, removals map[hop]error, obsolete map[hop]bool) {
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
		err = r.change(ctx, there, nil, routes)
	}
	if err == nil {
		r.setComplete(ctx, leads)
		err = r.table.record.write(ctx, nil, gone)
	}
	for _, h := range gone {
		if removals[h] = err; err == nil {
			delete(r.has, h)
		}
	}
}

package routes

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// addAll adds routes and sets their errors.
func (r *reconciliation) addAll(ctx context.Context, additions map[*operation]error) {
	if len(additions) == 0 {
		return
	}
	fail := func(err error) {
		for c := range additions {
			if additions[c] == nil {
				additions[c] = err
			}
		}
	}
	ports, err := portsOf(ctx, r.table.network, addressesOf(additions))
	outside := func(c *operation) bool {
		return !slices.ContainsFunc(c.through, func(via netip.Addr) bool { return r.table.subnets.portAt(via, ports) != "" })
	}
	if err == nil {
		err = r.table.subnets.read(ctx, func() bool { return slices.ContainsFunc(slices.Collect(maps.Keys(additions)), outside) })
	}
	if err != nil {
		fail(err)
		return
	}
	chosen, known := map[*operation]hop{}, map[hop]string{}
	for c := range additions {
		h, port, err := r.choose(c, ports)
		if err != nil {
			additions[c] = err
			continue
		}
		chosen[c], known[h], r.nodes[h] = h, port, c.node
	}
	if err := r.table.record.write(ctx, known, nil); err != nil {
		fail(err)
		return
	}
	r.addMissing(ctx, known, ports)
	for c, h := range chosen {
		additions[c] = r.errs[h]
	}
}

func addressesOf(additions map[*operation]error) []netip.Addr {
	var all []netip.Addr
	for c := range additions {
		all = append(all, c.through...)
	}
	return all
}

// addMissing adds the missing routes, and the address pairs of all.
func (r *reconciliation) addMissing(ctx context.Context, known map[hop]string, ports map[netip.Addr][]*neutron.RoutedPort) {
	var missing []hop
	for h := range known {
		if _, there := r.has[h]; !there {
			missing = append(missing, h)
		}
	}
	slices.SortFunc(missing, func(a, b hop) int { return a.via.Compare(b.via) })
	r.add(ctx, missing)
	there := map[hop]bool{}
	for h, port := range known {
		if r.errs[h] == nil {
			there[h], r.owned[h] = true, port
		}
	}
	r.eachPort(ctx, there, ports, r.table.pairs.add)
	complete := map[hop]bool{}
	for h := range there {
		complete[h] = r.errs[h] == nil
	}
	r.takeBack(ctx, complete)
	r.setComplete(ctx, complete)
}

// takeBack removes the added routes that have not become complete.
func (r *reconciliation) takeBack(ctx context.Context, complete map[hop]bool) {
	var hops []hop
	var routes []neutron.ExtraRoute
	for h, done := range complete {
		if !done && r.added[h] {
			hops, routes = append(hops, h), append(routes, r.has[h])
		}
	}
	if len(hops) == 0 {
		return
	}
	if err := r.change(ctx, hops, nil, routes); err != nil {
		for h, done := range complete {
			if !done {
				r.errs[h] = fmt.Errorf("%w; the route is not removed: %w", r.errs[h], err)
			}
		}
	}
}

// choose returns the route for an operation, and the ID of the port of its next hop. An existing
// route through any of the node's addresses is preferred.
func (r *reconciliation) choose(c *operation, ports map[netip.Addr][]*neutron.RoutedPort) (hop, string, error) {
	for _, via := range c.through {
		h := hop{c.to, via}
		if _, there := r.has[h]; there {
			return h, r.table.subnets.portAt(via, ports), nil
		}
	}
	for h := range r.has {
		if _, ours := r.owned[h]; h.to == c.to && !ours {
			return hop{}, "", fmt.Errorf("router %s has a route for %s via %s, which is not an address of node %s, and nothing proves that this route is ours: "+
				"remove it from the router if no other cluster uses it", r.table.routerID, c.to, h.via, c.node)
		}
	}
	if err := r.occupied(c.to); err != nil {
		return hop{}, "", fmt.Errorf("the route to %s of node %s waits: %w", c.to, c.node, err)
	}
	for _, via := range c.through {
		if id := r.table.subnets.portAt(via, ports); id != "" {
			return hop{c.to, via}, id, nil
		}
	}
	return hop{}, "", fmt.Errorf("no port with an address of node %s (%v) is in a subnet of router %s", c.node, c.through, r.table.routerID)
}

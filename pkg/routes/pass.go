package routes

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// pass is one batch at work. Routes go before routes come, which makes room for them.
// A route comes before its address pair and goes after it, so that a route that
// ListRoutes gives as gone has nothing left, and one that Neutron refuses costs the
// port no write.
type pass struct {
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

// carryOut gives the error of each call.
func (t *Table) carryOut(ctx context.Context, calls []*call) []error {
	errs := make([]error, len(calls))
	drops, adds := map[hop]error{}, map[*call]error{}
	for _, c := range calls {
		if c.drop.to.IsValid() {
			drops[c.drop] = nil
		} else if c.ctx.Err() == nil {
			adds[c] = nil
		}
	}
	p, err := t.start(ctx)
	if err == nil {
		t.dropAll(ctx, p, drops)
		p.stuck = p.stuckBy(drops)
		t.addAll(ctx, p, adds)
	}
	for i, c := range calls {
		switch {
		case err != nil:
			errs[i] = err
		case c.drop.to.IsValid():
			errs[i] = drops[c.drop]
		default:
			errs[i] = adds[c]
		}
	}
	return errs
}

func (t *Table) start(ctx context.Context) (*pass, error) {
	router, err := t.readRouter(ctx)
	if err != nil {
		return nil, err
	}
	owned, err := t.record.read(ctx)
	return &pass{router: router, has: hopsOf(router), owned: owned, errs: map[hop]error{}, added: map[hop]bool{}}, err
}

// dropAll removes routes and fills in their errors.
func (t *Table) dropAll(ctx context.Context, p *pass, drops map[hop]error) {
	if len(drops) == 0 {
		return
	}
	wanted, err := t.targets()
	fail := func(err error) {
		for h := range drops {
			if drops[h] == nil {
				drops[h] = err
			}
		}
	}
	if err != nil {
		fail(err)
		return
	}
	going := map[hop]bool{}
	var vias []netip.Addr
	for h := range drops {
		_, ours := p.owned[h]
		_, leads := wanted[h]
		switch {
		case !ours:
			drops[h] = fmt.Errorf("route %s of router %s is left alone: nothing proves that it is ours", h, t.routerID)
		case !leads: // else its Node has come back
			going[h] = true
			vias = append(vias, h.via)
		}
	}
	if len(going) == 0 {
		return
	}
	ports, err := t.portsOf(ctx, vias)
	if err != nil {
		fail(err)
		return
	}
	for h := range going {
		if inherited(h, p.owned[h], ports[h.via]) {
			delete(p.has, h) // so that it is struck from the record only
		}
	}
	t.eachPort(ctx, p, going, ports, t.removePairs)
	t.dropRoutes(ctx, p, drops, going)
}

// stuckBy gives the pod CIDRs that still lead to where they must not: a second next
// hop beside that one would lose half of the packets.
func (p *pass) stuckBy(drops map[hop]error) map[netip.Prefix]error {
	stuck := map[netip.Prefix]error{}
	for h, err := range drops {
		if _, there := p.has[h]; there && err != nil {
			stuck[h.to] = fmt.Errorf("it still leads to %s: %w", h.via, err)
		}
	}
	return stuck
}

// inherited tells that the address of a route now is that of another port, which lets
// the same pods through: another cluster's node, whose route is spelled like ours.
func inherited(h hop, portID string, ports []*neutron.RoutedPort) bool {
	return portID != "" && slices.ContainsFunc(ports, func(port *neutron.RoutedPort) bool {
		return port.ID != portID && guarded(port) && open(port, h.to)
	})
}

// dropRoutes removes those of the routes whose pairs are gone.
func (t *Table) dropRoutes(ctx context.Context, p *pass, drops map[hop]error, going map[hop]bool) {
	var routes []neutron.ExtraRoute
	var gone []hop
	for h := range going {
		if drops[h] = p.errs[h]; drops[h] != nil {
			continue
		}
		gone = append(gone, h)
		if route, there := p.has[h]; there {
			routes = append(routes, route)
		}
	}
	var err error
	if len(routes) > 0 {
		err = t.change(ctx, p.router, nil, routes)
	}
	if err == nil {
		err = t.record.write(ctx, nil, gone)
	}
	done := map[hop]bool{}
	for _, h := range gone {
		if drops[h] = err; err == nil {
			done[h] = false
			delete(p.has, h)
		}
	}
	t.setWhole(ctx, done)
}

// addAll adds routes and fills in their errors.
func (t *Table) addAll(ctx context.Context, p *pass, adds map[*call]error) {
	if len(adds) == 0 {
		return
	}
	fail := func(err error) {
		for c := range adds {
			if adds[c] == nil {
				adds[c] = err
			}
		}
	}
	ports, err := t.portsOf(ctx, addressesOf(adds))
	if err == nil {
		err = t.learnSubnets(ctx, adds, ports)
	}
	if err != nil {
		fail(err)
		return
	}
	chosen, known := map[*call]hop{}, map[hop]string{}
	for c := range adds {
		h, port, err := t.choose(p, c, ports)
		if err != nil {
			adds[c] = err
			continue
		}
		chosen[c], known[h] = h, port
	}
	if err := t.record.write(ctx, known, nil); err != nil {
		fail(err)
		return
	}
	t.bring(ctx, p, known, ports)
	for c, h := range chosen {
		adds[c] = p.errs[h]
	}
}

func addressesOf(adds map[*call]error) []netip.Addr {
	var all []netip.Addr
	for c := range adds {
		all = append(all, c.through...)
	}
	return all
}

// bring makes the routes whole.
func (t *Table) bring(ctx context.Context, p *pass, known map[hop]string, ports map[netip.Addr][]*neutron.RoutedPort) {
	var missing []hop
	for h := range known {
		if _, there := p.has[h]; !there {
			missing = append(missing, h)
		}
	}
	slices.SortFunc(missing, func(a, b hop) int { return a.via.Compare(b.via) })
	t.add(ctx, p, missing)
	there := map[hop]bool{}
	for h, port := range known {
		if p.errs[h] == nil {
			there[h], p.owned[h] = true, port
		}
	}
	t.eachPort(ctx, p, there, ports, t.addPairs)
	whole := map[hop]bool{}
	var back []neutron.ExtraRoute
	for h := range there {
		whole[h] = p.errs[h] == nil
		if !whole[h] && p.added[h] {
			back = append(back, p.has[h])
		}
	}
	t.setWhole(ctx, whole)
	if len(back) == 0 {
		return
	}
	if err := t.change(ctx, p.router, nil, back); err != nil {
		for h := range there {
			if !whole[h] {
				p.errs[h] = fmt.Errorf("%w; the route stays: %w", p.errs[h], err)
			}
		}
	}
}

// eachPort does something to the pairs of the ports that routes lead to, a port's at
// once, and notes what becomes of it. Where the record knows the port, another one
// that has got its address is not touched.
func (t *Table) eachPort(ctx context.Context, p *pass, routes map[hop]bool, ports map[netip.Addr][]*neutron.RoutedPort,
	do func(context.Context, *neutron.RoutedPort, []netip.Prefix) error,
) {
	byPort := map[*neutron.RoutedPort][]hop{}
	for h := range routes {
		for _, port := range ports[h.via] {
			if p.owned[h] == port.ID || p.owned[h] == "" && len(ports[h.via]) == 1 {
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
				p.errs[h] = err
			}
			return nil
		})
	}
	_ = group.Wait() // each error has its place
}

// choose gives the route that a call asks for, and the ID of the port that it leads
// to. A route that is there through any of the node's addresses is the one.
func (t *Table) choose(p *pass, c *call, ports map[netip.Addr][]*neutron.RoutedPort) (hop, string, error) {
	for _, via := range c.through {
		h := hop{c.to, via}
		if _, there := p.has[h]; there {
			return h, t.portAt(via, ports), nil
		}
	}
	for h := range p.has {
		if _, ours := p.owned[h]; h.to == c.to && !ours {
			return hop{}, "", fmt.Errorf("router %s leads %s to %s, which is no address of node %s, and nothing proves that this route is ours: "+
				"if no other cluster has it, remove it from the router", t.routerID, c.to, h.via, c.node)
		}
	}
	if err := p.stuck[c.to]; err != nil {
		return hop{}, "", fmt.Errorf("the route to %s of node %s waits: %w", c.to, c.node, err)
	}
	for _, via := range c.through {
		if id := t.portAt(via, ports); id != "" {
			return hop{c.to, via}, id, nil
		}
	}
	return hop{}, "", fmt.Errorf("no port with an address of node %s (%v) is in a subnet of router %s", c.node, c.through, t.routerID)
}

// portAt is the port with an address, in a subnet of the router; "" when there is
// none. When the project does not see the router's own ports, the only port is taken
// for the right one.
func (t *Table) portAt(via netip.Addr, ports map[netip.Addr][]*neutron.RoutedPort) string {
	for _, port := range ports[via] {
		for _, fixed := range port.FixedIPs {
			if address, err := netip.ParseAddr(fixed.IPAddress); err == nil && address == via && t.subnets[fixed.SubnetID] {
				return port.ID
			}
		}
	}
	if len(t.subnets) == 0 && len(ports[via]) == 1 {
		return ports[via][0].ID
	}
	return ""
}

// learnSubnets looks which subnets the router is in. It looks again when a node is in
// none of those that are known.
func (t *Table) learnSubnets(ctx context.Context, adds map[*call]error, ports map[netip.Addr][]*neutron.RoutedPort) error {
	unplaced := func(c *call) bool {
		return !slices.ContainsFunc(c.through, func(via netip.Addr) bool { return t.portAt(via, ports) != "" })
	}
	if t.subnets != nil && !slices.ContainsFunc(slices.Collect(maps.Keys(adds)), unplaced) {
		return nil
	}
	own, err := t.network.RouterPorts(ctx, t.routerID)
	if err != nil {
		return err
	}
	t.subnets = map[string]bool{}
	for _, port := range own {
		for _, fixed := range port.FixedIPs {
			t.subnets[fixed.SubnetID] = true
		}
	}
	return nil
}

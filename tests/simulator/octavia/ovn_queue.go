package octavia

import (
	"slices"
	"time"
)

// The provider ovn of 2025.1 (ovn-octavia-provider 8.0) has a queue in each process of
// Octavia's API, and one thread that works on it. The following was measured with OVN 25.03,
// except the parts that are marked as read in its source.
//
//   - A request is an item for each member that it creates, updates or deletes, in this order;
//     a full create is one for the load balancer and for each listener, pool and member.
//   - An item changes what OVN has first (Pool.Serving). Then it asks Octavia for every pool and
//     listener of the load balancer, which is what takes its time, and reports in the end.
//   - Each report has the load balancer ACTIVE, the pool, its listeners, and every member that
//     OVN has at that time, including those that will be deleted. A load balancer that is being
//     deleted becomes ACTIVE again, too.
//   - The deletion of a pool is an item for each of its members, which reports the pool ACTIVE, and one
//     for the pool.
//   - The members that OVN has when a batch comes determine its items (read), independently of the
//     queue. A batch that adds a member with a deletion in the queue is an update of it, and the
//     member is deleted nevertheless.

// queued reports whether a load balancer is one of the driver with the queue.
func (o *Octavia) queued(lb *LoadBalancer) bool {
	return lb.Provider == ProviderOVN && o.options.Quirks.QueuedOVN
}

// ovnItem is one item of the queue: what it does first, and what it reports in the end.
type ovnItem struct{ begin, end func() }

// enqueue adds a request to the queue of the process of the API that it came to. The requests go to
// the processes in turn. before is how long it takes until the first item begins.
func (o *Octavia) enqueue(lb *LoadBalancer, before time.Duration, items []ovnItem) {
	process := o.requests % len(o.idle)
	o.requests++
	now := o.clock.Now()
	at := now.Add(before)
	if idle := o.idle[process]; idle.After(at) {
		at = idle
	}
	each := o.delays(lb.Provider).Members * time.Duration(len(lb.Pools)+len(lb.Listeners)+1)
	for _, item := range items {
		if item.begin != nil {
			o.after(lb, at.Sub(now), item.begin)
		}
		at = at.Add(each)
		o.after(lb, at.Sub(now), item.end)
	}
	o.idle[process] = at
}

// oneAfterAnother starts the items of a request: in the queue of the driver, or without one if it is
// that of an earlier release.
func (o *Octavia) oneAfterAnother(lb *LoadBalancer, items []ovnItem) {
	delays := o.delays(lb.Provider)
	if o.queued(lb) {
		o.enqueue(lb, delays.Update, items)
		return
	}
	for i, item := range items {
		o.after(lb, delays.Update+time.Duration(i)*delays.Members, func() {
			if item.begin != nil {
				item.begin()
			}
			item.end()
		})
	}
}

// queuedMembers is any request that writes members: those that it creates, updates and removes.
func (o *Octavia) queuedMembers(lb *LoadBalancer, pool *Pool, created, kept, gone []*Member) {
	o.lock(lb, PendingUpdate)
	var members []object
	for _, member := range slices.Concat(created, kept) {
		members = append(members, member)
	}
	touched := poolAndListeners(lb, pool)
	for _, thing := range append(touched, members...) {
		if thing.meta().ProvisioningStatus != PendingCreate {
			o.set(thing, PendingUpdate)
		}
	}
	items := o.memberItems(lb, pool, slices.Concat(created, kept), gone)
	failed := false
	for i := range items {
		begin, end := items[i].begin, items[i].end
		items[i] = ovnItem{
			begin: func() {
				if failed = failed || i == 0 && o.fails(OperationUpdate); !failed {
					begin()
				}
			},
			end: func() {
				switch {
				case !failed:
					end()
				case i == 0:
					for _, member := range gone {
						member.leaving = false
					}
					o.revert(lb, append(touched, members...), nil)
				}
			},
		}
	}
	o.enqueue(lb, o.delays(lb.Provider).Update, items)
}

// memberItems are the items of a request: creations, updates, deletions. What OVN has of a pool
// and is in neither list is removed, where the request is about all members.
func (o *Octavia) memberItems(lb *LoadBalancer, pool *Pool, wanted, gone []*Member) []ovnItem {
	var creations, updates, deletions []ovnItem
	for _, member := range wanted {
		end := func() { o.reportQueued(lb, pool, member) }
		if slices.Contains(pool.inOVN, member) {
			updates = append(updates, ovnItem{func() {}, end})
		} else {
			creations = append(creations, ovnItem{func() { pool.takeIn(member) }, end})
		}
	}
	for _, member := range gone {
		if member.leaving {
			o.removedTwice = append(o.removedTwice, member.ID)
		}
		member.leaving = true
		deletions = append(deletions, ovnItem{
			func() { pool.takeOut(member) },
			func() {
				pool.drop(member)
				o.reportQueued(lb, pool, nil)
			},
		})
	}
	return slices.Concat(creations, updates, deletions)
}

// takeIn and takeOut change what OVN has. The list is never changed in place, as copies share it.
func (p *Pool) takeIn(member *Member) {
	if !slices.Contains(p.inOVN, member) {
		p.inOVN = append(slices.Clip(p.inOVN), member)
	}
}

func (p *Pool) takeOut(member *Member) {
	p.inOVN = slices.DeleteFunc(slices.Clone(p.inOVN), func(m *Member) bool { return m == member })
}

// serving returns the address and port of each member that OVN has and that is switched on. Weights
// mean nothing to it.
func (p *Pool) serving() []string {
	all := []string{}
	for _, member := range p.inOVN {
		if member.AdminStateUp {
			all = append(all, member.at())
		}
	}
	slices.Sort(all)
	return all
}

// reportQueued is what the driver reports when an item about a member of a pool, or about none, ends.
func (o *Octavia) reportQueued(lb *LoadBalancer, pool *Pool, member *Member) {
	for _, other := range lb.Pools {
		if other.Protocol != pool.Protocol { // each protocol has a load balancer of its own in OVN
			continue
		}
		for _, known := range other.inOVN {
			if pending(known.ProvisioningStatus) {
				o.set(known, o.outcome(known))
			}
		}
	}
	if member != nil {
		o.activate(member)
	}
	for _, thing := range poolAndListeners(lb, pool) {
		o.activate(thing)
	}
	o.activeAgain(lb)
}

// activeAgain is what every report of the driver does to the load balancer.
func (o *Octavia) activeAgain(lb *LoadBalancer) {
	if lb.ProvisioningStatus != Error {
		o.set(lb, Active)
	}
	o.operate(lb)
}

// queuedCreate is a full create: the load balancer is ACTIVE with the first item.
func (o *Octavia) queuedCreate(lb *LoadBalancer) {
	delays := o.delays(lb.Provider)
	items := []ovnItem{{end: func() {
		if o.fails(OperationCreate) {
			o.forget(lb)
			o.set(lb, Error)
			return
		}
		o.activeAgain(lb)
	}}}
	report := func(things ...object) func() {
		return func() {
			for _, thing := range things {
				if !o.staysPending(lb, thing) {
					o.activate(thing)
				}
			}
			o.activeAgain(lb)
		}
	}
	o.enqueue(lb, delays.Create, items)
	items = nil
	for i, listener := range lb.Listeners {
		item := ovnItem{end: report(listener)}
		if i > 0 && listener.Protocol != lb.Listeners[0].Protocol && o.options.Network != nil {
			item.begin = func() {
				if address := o.options.Network.FloatingIPOf(lb.VIP.PortID); address != "" {
					lb.NotFloating = map[string]string{listener.Protocol: address}
				}
			}
		}
		items = append(items, item)
	}
	for _, pool := range lb.Pools {
		made := []object{pool}
		if pool.Monitor != nil {
			made = append(made, pool.Monitor)
		}
		items = append(items, ovnItem{end: report(made...)})
	}
	for _, pool := range lb.Pools {
		for _, member := range pool.Members {
			items = append(items, ovnItem{func() { pool.takeIn(member) }, report(member)})
		}
	}
	if len(items) > 0 {
		o.requests-- // it is one request
		o.enqueue(lb, delays.Create+delays.Children, items)
	}
}

// queuedDelete is the deletion of a load balancer. Earlier items of the queue are done before.
func (o *Octavia) queuedDelete(lb *LoadBalancer) {
	o.enqueue(lb, o.delays(lb.Provider).Delete, []ovnItem{{end: func() {
		if o.fails(OperationDelete) {
			o.set(lb, Error)
			return
		}
		if slices.Contains(o.balancers, lb) { // two requests may have asked for it
			o.remove(lb)
		}
	}}})
}

// unseen reports whether the monitors of the driver get no answer of a member: OVN asks from the
// member's own port in Neutron, and there is none for an address behind a route.
func (o *Octavia) unseen(lb *LoadBalancer, pool *Pool, member *Member) bool {
	return o.queued(lb) && pool.Monitor != nil && o.options.Network != nil && !o.options.Network.HasAddress(member.Address)
}

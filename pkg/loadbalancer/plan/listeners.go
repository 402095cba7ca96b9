package plan

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// listenerChange is the change of a listener on a port that the load balancer keeps.
//
//	protocol of the listener   of the pool   steps
//	the same                   the same      listener and pool are updated in place
//	the same                   another       a new pool with members and monitor, the listener is switched to it, the old one is deleted
//	another                    the same      the listener is deleted and created again; the pool stays
//	another                    another       a new pool, then the listener is deleted and created again, the old pool is deleted
//
// A pool with a lost monitor counts as one of another protocol, and so does one that is replaced
// because that takes fewer steps (rebuilds). A listener with metrics has no pool.
//
// Protocols cannot change, and listeners cannot share a port: clients are not served only between
// the deletion of a listener and its creation.
type listenerChange struct {
	want, have *model.Listener
	lost       bool
	rebuilt    bool
}

func (p *pair) change(want, have *model.Listener) listenerChange {
	return listenerChange{want, have, p.lost(have.Pool), p.rebuilt[have.Pool.ID]}
}

func (c listenerChange) samePool() bool {
	if !c.want.Protocol.HasPool() {
		return c.have.Pool.ID == ""
	}
	return c.have.Pool.ID != "" && !c.lost && !c.rebuilt && c.have.Pool.Protocol == c.want.Pool.Protocol
}

func (c listenerChange) sameListener() bool { return c.have.Protocol == c.want.Protocol }

// restricts reports whether some clients are no longer admitted.
func (c listenerChange) restricts() bool {
	from, to := c.have.AllowedCIDRs, c.want.AllowedCIDRs
	return !slices.Equal(from, to) && !opens(from, to)
}

// differs reports whether the listener itself changes, apart from its clients.
func (c listenerChange) differs() bool {
	want, have := c.want, c.have
	return len(model.LimitChanges(have.Limits, want.Limits)) > 0 || want.TLSContainerRef != have.TLSContainerRef ||
		!slices.Equal(want.InsertHeaders, have.InsertHeaders) || want.AdminDown != have.AdminDown
}

// restrict updates the listeners that exclude more clients. The request contains all other changes
// of the listener too, except its pool, which does not exist yet. For a listener that is recreated,
// it contains only the clients.
func (d *differ) restrict() {
	for c := range d.pair.kept {
		if !c.restricts() {
			continue
		}
		to := *c.want
		if !c.sameListener() {
			to = *c.have
			to.AllowedCIDRs = c.want.AllowedCIDRs
		}
		to.Pool = c.have.Pool
		d.add(UpdateListener{c.have.ID, c.have.Key(), *c.have, to})
	}
}

// relax updates the listeners that exclude no client: more clients, limits, headers, certificates,
// and the pool. It also repairs those in ERROR.
func (d *differ) relax() {
	for c := range d.pair.kept {
		if !c.sameListener() {
			continue
		}
		from := *c.have
		changed := c.differs() || !slices.Equal(from.AllowedCIDRs, c.want.AllowedCIDRs) || !from.Status.Sound()
		if c.restricts() { // already updated, except for the pool
			from, changed = *c.want, false
			from.Pool = c.have.Pool
		}
		to := *c.want
		if c.samePool() {
			to.Pool = c.have.Pool
		}
		if changed || !c.samePool() {
			d.add(UpdateListener{c.have.ID, c.have.Key(), from, to})
		}
		if !c.samePool() {
			d.dropPool(c.have)
		}
	}
}

// opens reports whether a change of the permitted clients excludes none.
func opens(from, to []string) bool {
	if len(to) == 0 {
		return true
	}
	return len(from) > 0 && !slices.ContainsFunc(from, func(cidr string) bool { return !slices.Contains(to, cidr) })
}

// dropListeners deletes the listeners on ports that are not desired, and unused pools.
func (d *differ) dropListeners() {
	for i := range d.pair.observed.Listeners {
		have := &d.pair.observed.Listeners[i]
		if d.pair.desired.Listener(have.Key()) != nil {
			continue
		}
		d.dropMonitor(poolFor(*have), have.Pool)
		d.add(DeleteListener{have.ID, have.Key()})
		if have.Pool.ID != "" {
			d.add(DeletePool{have.Pool.ID, have.Pool.Name})
		}
	}
	for _, orphan := range d.pair.observed.Orphans {
		if d.pair.reuses(orphan) {
			continue
		}
		d.dropMonitor(PoolRef{ID: orphan.ID, Name: orphan.Name, Protocol: orphan.Protocol}, orphan)
		d.add(DeletePool{orphan.ID, orphan.Name})
	}
}

func (d *differ) dropPool(had *model.Listener) {
	if had.Pool.ID != "" {
		d.add(DeletePool{had.Pool.ID, had.Pool.Name})
	}
}

// dropMonitor deletes the monitor before its pool, if the driver requires that.
func (d *differ) dropMonitor(ref PoolRef, pool model.Pool) {
	if pool.Monitor == nil || !d.pair.staleMonitors || d.pair.lost(pool) {
		return
	}
	if !pool.Status.Sound() {
		d.add(UpdatePool{ref, pool, pool}) // required before the monitor can be deleted
	}
	d.add(DeleteMonitor{ref, *pool.Monitor})
}

// updatePools updates the pools that are kept. A monitor of another type is deleted before the
// members change and created afterwards: otherwise the old one would probe the new ports, or the
// new one the old ports, and all members would be down.
func (d *differ) updatePools() {
	for c := range d.pair.kept {
		if !c.samePool() {
			d.dropMonitor(poolFor(*c.have), c.have.Pool)
			continue
		}
		if c.want.Protocol.HasPool() {
			d.updatePool(poolFor(*c.have), c.have.Pool, c.want.Pool)
		}
	}
}

func (d *differ) updatePool(pool PoolRef, from, to model.Pool) {
	if !from.Status.Sound() || poolDiffers(from, to) {
		d.add(UpdatePool{pool, from, to})
	}
	monitor := from.Monitor
	if d.pair.dropsMonitor(from, to) {
		d.add(DeleteMonitor{pool, *monitor})
		monitor = nil
	}
	d.add(d.pair.members.change(pool, from.Members, to.Members)...)
	switch {
	case to.Monitor == nil:
	case monitor == nil:
		d.createMonitor(CreateMonitor{pool, *to.Monitor})
	case !monitor.Status.Sound() || !equalMonitors(*to.Monitor, *monitor):
		d.add(UpdateMonitor{pool, *monitor, *to.Monitor})
	}
}

func poolDiffers(from, to model.Pool) bool {
	return from.AdminDown != to.AdminDown || from.Algorithm != to.Algorithm || from.Persistence != to.Persistence
}

// createListeners creates the objects of new ports, the listener last: it must not send clients to
// a pool without members. It also creates the pools of ports that get another one.
func (d *differ) createListeners() {
	for i := range d.pair.desired.Listeners {
		want := d.pair.desired.Listeners[i]
		have := d.pair.observed.Listener(want.Key())
		if orphan := d.pair.orphanFor(want); orphan != nil {
			want.Pool.ID = orphan.ID
			d.updatePool(poolFor(want), *orphan, want.Pool)
		} else if want.Protocol.HasPool() && (have == nil || !d.pair.change(&want, have).samePool()) {
			d.createPool(want)
		}
		if have == nil {
			d.add(CreateListener{want})
		}
	}
}

func (d *differ) createPool(want model.Listener) {
	d.add(CreatePool{want.Key(), want.Pool})
	pool := poolFor(want)
	d.add(d.pair.members.fill(pool, want.Pool.Members)...)
	if want.Pool.Monitor != nil {
		d.createMonitor(CreateMonitor{pool, *want.Pool.Monitor})
	}
}

// replaceListeners deletes the listeners of another protocol and creates the desired ones. Their
// pools exist.
func (d *differ) replaceListeners() {
	for c := range d.pair.kept {
		if c.sameListener() {
			continue
		}
		d.add(DeleteListener{c.have.ID, c.have.Key()})
		want := *c.want
		if c.samePool() {
			want.Pool.ID = c.have.Pool.ID
		}
		if c.lost { // the new pool may have the same name and protocol
			d.dropPool(c.have)
		}
		d.add(CreateListener{want})
		if !c.samePool() && !c.lost {
			d.dropPool(c.have)
		}
	}
}

package plan

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// fate is what becomes of a port that the load balancer has and keeps.
//
//	protocol of the listener   of the pool   steps
//	the same                   the same      listener and pool change in place
//	the same                   another       a new pool with members and monitor, the listener turns to it, the old one goes
//	another                    the same      the listener makes room for its successor; the pool goes on
//	another                    another       a new pool, then the listener makes room for its successor, the old pool goes
//
// A pool whose monitor the provider lost counts as one of another protocol.
//
// Protocols cannot change, and no two listeners share a port: only between the end
// of a listener and its successor is nobody served.
type fate struct {
	want, have *model.Listener
	lost       bool
}

func (d *differ) fate(want, have *model.Listener) fate { return fate{want, have, d.lost(have.Pool)} }

// samePool tells that the pool goes on.
func (f fate) samePool() bool {
	return f.have.Pool.ID != "" && !f.lost && f.have.Pool.Protocol == f.want.Pool.Protocol
}

func (f fate) sameListener() bool { return f.have.Protocol == f.want.Protocol }

// tightens tells that some clients may not connect any more.
func (f fate) tightens() bool {
	from, to := f.have.AllowedCIDRs, f.want.AllowedCIDRs
	return !slices.Equal(from, to) && !opens(from, to)
}

// differs tells that the listener itself changes, its clients left aside.
func (f fate) differs() bool {
	want, have := f.want, f.have
	return len(model.LimitChanges(have.Limits, want.Limits)) > 0 || want.TLSContainerRef != have.TLSContainerRef ||
		!slices.Equal(want.InsertHeaders, have.InsertHeaders) || want.AdminDown != have.AdminDown
}

// stays gives the ports that the load balancer has and keeps.
func (d *differ) stays(yield func(fate) bool) {
	for i := range d.desired.Listeners {
		want := &d.desired.Listeners[i]
		if have := d.observed.Listener(want.Key()); have != nil && !yield(d.fate(want, have)) {
			return
		}
	}
}

// tighten shuts out clients that may not connect any more. Whatever else changes
// of the listener rides along, but for its pool, which is not there yet. Of a
// listener that is replaced, the clients are all that changes.
func (d *differ) tighten() {
	for f := range d.stays {
		if !f.tightens() {
			continue
		}
		to := *f.want
		if !f.sameListener() {
			to = *f.have
			to.AllowedCIDRs = f.want.AllowedCIDRs
		}
		to.Pool = f.have.Pool
		d.add(UpdateListener{f.have.ID, f.have.Key(), *f.have, to})
	}
}

// loosen changes the listeners that let nobody out: more clients, limits, headers,
// certificates, and the pool that they send clients to. It also brings broken ones
// back.
func (d *differ) loosen() {
	for f := range d.stays {
		if !f.sameListener() {
			continue
		}
		from := *f.have
		changed := f.differs() || !slices.Equal(from.AllowedCIDRs, f.want.AllowedCIDRs) || !from.Status.Sound()
		if f.tightens() { // done, but for the pool
			from, changed = *f.want, false
			from.Pool = f.have.Pool
		}
		to := *f.want
		if f.samePool() {
			to.Pool = f.have.Pool
		}
		if changed || !f.samePool() {
			d.add(UpdateListener{f.have.ID, f.have.Key(), from, to})
		}
		if !f.samePool() {
			d.dropPool(f.have)
		}
	}
}

// opens tells whether going from one list of clients to another shuts nobody out.
func opens(from, to []string) bool {
	if len(to) == 0 {
		return true
	}
	return len(from) > 0 && !slices.ContainsFunc(from, func(cidr string) bool { return !slices.Contains(to, cidr) })
}

// dropListeners deletes the listeners of ports that are gone, and the pools that
// nobody uses.
func (d *differ) dropListeners() {
	for i := range d.observed.Listeners {
		have := &d.observed.Listeners[i]
		if d.desired.Listener(have.Key()) != nil {
			continue
		}
		d.dropMonitor(poolFor(*have), have.Pool)
		d.add(DeleteListener{have.ID, have.Name, have.Key()})
		if have.Pool.ID != "" {
			d.add(DeletePool{have.Pool.ID, have.Pool.Name})
		}
	}
	for _, orphan := range d.observed.Orphans {
		d.dropMonitor(PoolRef{ID: orphan.ID, Name: orphan.Name, Protocol: orphan.Protocol}, orphan)
		d.add(DeletePool{orphan.ID, orphan.Name})
	}
}

// dropPool deletes the pool that a listener had.
func (d *differ) dropPool(had *model.Listener) {
	if had.Pool.ID != "" {
		d.add(DeletePool{had.Pool.ID, had.Pool.Name})
	}
}

// dropMonitor deletes the monitor of a pool that goes, where that may not be left
// to the end of the pool.
func (d *differ) dropMonitor(ref PoolRef, pool model.Pool) {
	if pool.Monitor == nil || !d.staleMonitors || d.lost(pool) {
		return
	}
	if !pool.Status.Sound() {
		d.add(UpdatePool{ref, pool, pool}) // which a monitor needs to be deleted
	}
	d.add(DeleteMonitor{ref, *pool.Monitor})
}

// updatePools changes the pools that go on. A monitor of another type goes before
// the members change and comes back after: the old one would ask at the new ports,
// or the new one at the old ports, and find all members down.
func (d *differ) updatePools() {
	if d.staleMonitors {
		d.recreated = d.monitorsToRecreate()
	}
	for f := range d.stays {
		if !f.samePool() {
			d.dropMonitor(poolFor(*f.have), f.have.Pool)
			continue
		}
		d.updatePool(poolFor(*f.have), f.have.Pool, f.want.Pool)
	}
}

func (d *differ) updatePool(pool PoolRef, from, to model.Pool) {
	if !from.Status.Sound() || poolDiffers(from, to) {
		d.add(UpdatePool{pool, from, to})
	}
	monitor := from.Monitor
	if d.dropsMonitor(from, to) {
		d.add(DeleteMonitor{pool, *monitor})
		monitor = nil
	}
	d.add(d.members(pool, from.Members, to.Members)...)
	switch {
	case to.Monitor == nil:
	case monitor == nil:
		d.createMonitor(CreateMonitor{pool, *to.Monitor})
	case !monitor.Status.Sound() || !equalMonitors(*to.Monitor, *monitor):
		d.add(UpdateMonitor{pool, *monitor, *to.Monitor})
	}
}

func poolDiffers(from, to model.Pool) bool {
	return from.AdminDown != to.AdminDown || from.Algorithm != to.Algorithm || from.Persistence != to.Persistence || from.PersistenceTimeout != to.PersistenceTimeout
}

// createListeners makes what new ports need, the listener last: it must not send
// clients to a pool without members. Ports that get another pool get it here.
func (d *differ) createListeners() {
	for i := range d.desired.Listeners {
		want := d.desired.Listeners[i]
		have := d.observed.Listener(want.Key())
		if have == nil || !d.fate(&want, have).samePool() {
			d.createPool(want)
		}
		if have == nil {
			d.add(CreateListener{want})
		}
	}
}

// createPool makes a pool for a listener, with all that is in it.
func (d *differ) createPool(want model.Listener) {
	d.add(CreatePool{want.Key(), want.Pool})
	pool := poolFor(want)
	if !d.opts.Driver.Supports(driver.MemberBatches) {
		d.add(d.oneByOne(pool, nil, want.Pool.Members)...)
	} else {
		d.add(SetMembers{Pool: pool, Members: want.Pool.Members, Added: want.Pool.Members})
	}
	if want.Pool.Monitor != nil {
		d.createMonitor(CreateMonitor{pool, *want.Pool.Monitor})
	}
}

// replaceListeners puts listeners of another protocol in the place of those that
// are there. Their pools are ready.
func (d *differ) replaceListeners() {
	for f := range d.stays {
		if f.sameListener() {
			continue
		}
		d.add(DeleteListener{f.have.ID, f.have.Name, f.have.Key()})
		want := *f.want
		if f.samePool() {
			want.Pool.ID = f.have.Pool.ID
		}
		if f.lost { // its successor can be of the same name and protocol
			d.dropPool(f.have)
		}
		d.add(CreateListener{want})
		if !f.samePool() && !f.lost {
			d.dropPool(f.have)
		}
	}
}

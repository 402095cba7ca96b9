package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// The quirk StaleMonitors: ovn-octavia-provider 3.0 (Zed) loses monitors, and does not report all
// its changes. Objects that it does not report stay PENDING below an ACTIVE load balancer, and
// cannot be changed:
//
//	a monitor in a full create                 the driver never hears of it; changing or deleting that monitor hangs
//	a listener beside a monitor                hangs, for each transport by itself
//	a monitor created, changed or deleted      its listener stays PENDING_UPDATE
//	a monitor deleted                          its pool may stay PENDING_UPDATE too, and the
//	                                           other monitors of its transport see no member any more
//
// Therefore load balancers are created without monitors, which follow one by one; monitors are
// deleted before listeners are created, and recreated at the end; a pool with a lost monitor is
// replaced; and an update of a pool repairs the stale statuses of the pool and its listeners. If
// monitors see no members any more, one is recreated: all of them share the driver's data about the
// nodes.

// lost reports whether the driver has lost the monitor of a pool, on a load balancer that is not
// PENDING.
func (p *pair) lost(pool model.Pool) bool {
	return p.staleMonitors && lostMonitor(pool)
}

func lostMonitor(pool model.Pool) bool {
	return pool.Monitor != nil && pool.Monitor.Status.Provisioning == "PENDING_CREATE"
}

// blocks reports whether the monitor of a pool prevents the creation of a listener.
func (p *pair) blocks(pool model.Pool) bool {
	return p.staleMonitors && slices.ContainsFunc(p.desired.Listeners, func(want model.Listener) bool {
		return want.Protocol.Transport() == pool.Protocol.Transport() && creates(want, p.observed)
	})
}

// creates reports whether a listener will be created: it does not exist, or has another protocol.
func creates(want model.Listener, lb *model.LoadBalancer) bool {
	have := lb.Listener(want.Key())
	return have == nil || have.Protocol != want.Protocol
}

// foreignMonitorBeside returns the reason if a monitor of another owner prevents the creation of a
// listener, else "".
func foreignMonitorBeside(desired, lb *model.LoadBalancer) string {
	for _, want := range desired.Listeners {
		for _, foreign := range lb.Foreign {
			if foreign.Monitored == want.Protocol.Transport() && creates(want, lb) {
				return fmt.Sprintf("load balancer %s (%s) would hang in this version of its provider if listener %s were created beside a health monitor, "+
					"that of %s: remove that monitor, or use another load balancer", lb.Name, lb.ID, want.Key(), foreign)
			}
		}
	}
	return ""
}

// monitorsToRecreate returns the pools, by ID, with monitors to recreate: one of a transport for
// which another monitor is deleted and none is created.
func (p *pair) monitorsToRecreate() map[string]bool {
	deleted, made := map[model.Protocol]bool{}, map[model.Protocol]bool{}
	keeps := map[model.Protocol]string{}
	for _, orphan := range p.observed.Orphans {
		if orphan.Monitor != nil && !p.lost(orphan) {
			deleted[orphan.Protocol.Transport()] = true
		}
	}
	for i := range p.observed.Listeners {
		have := &p.observed.Listeners[i]
		transport, known := have.Pool.Protocol.Transport(), have.Pool.Monitor != nil && !p.lost(have.Pool)
		want := p.desired.Listener(have.Key())
		switch {
		case !known:
		case want == nil || !p.change(want, have).samePool() || p.dropsMonitor(have.Pool, want.Pool):
			deleted[transport] = true
		case keeps[transport] == "":
			keeps[transport] = have.Pool.ID
		}
	}
	for i := range p.desired.Listeners {
		want := &p.desired.Listeners[i]
		have := p.observed.Listener(want.Key())
		fresh := have == nil || !p.change(want, have).samePool() || have.Pool.Monitor == nil || p.dropsMonitor(have.Pool, want.Pool)
		if want.Pool.Monitor != nil && fresh {
			made[want.Pool.Protocol.Transport()] = true
		}
	}
	pools := map[string]bool{}
	for transport, id := range keeps {
		pools[id] = deleted[transport] && !made[transport]
	}
	return pools
}

// dropsMonitor reports whether the monitor of a pool that is kept is deleted, even if another one
// follows.
func (p *pair) dropsMonitor(from, to model.Pool) bool {
	return from.Monitor != nil && (to.Monitor == nil || to.Monitor.Type != from.Monitor.Type || p.blocks(from) || p.recreated[from.ID])
}

// withoutMonitors returns a load balancer without its monitors, and the steps that
// create them.
func withoutMonitors(desired *model.LoadBalancer) (*model.LoadBalancer, []Step) {
	bare := *desired
	bare.Listeners = slices.Clone(desired.Listeners)
	var steps []Step
	for i := range bare.Listeners {
		l := &bare.Listeners[i]
		if l.Pool.Monitor != nil {
			steps = append(steps, CreateMonitor{poolFor(*l), *l.Pool.Monitor})
			l.Pool.Monitor = nil
		}
	}
	return &bare, steps
}

// repairStale adds the steps that repair stale statuses: those of a pool before a step that needs
// it, the others at the end.
func repairStale(steps []Step, desired *model.LoadBalancer) []Step {
	r := repairer{desired: desired}
	for _, step := range steps {
		_, update := step.(UpdatePool)
		if pool, within := poolOfStep(step); within && !update && r.index(pool, true) >= 0 {
			r.repair(pool)
		}
		r.steps = append(r.steps, step)
		r.track(step)
	}
	for len(r.stale) > 0 {
		r.repair(r.stale[0].pool)
	}
	return r.steps
}

// repairer tracks the stale statuses at a point of a plan.
type repairer struct {
	desired *model.LoadBalancer
	steps   []Step
	stale   []stalePool
}

// stalePool is a pool with a listener in a stale status; if it is locked, the pool may have a stale
// status too.
type stalePool struct {
	pool   PoolRef
	locked bool
}

// track records the statuses that a step makes stale, and those that it repairs.
func (r *repairer) track(step Step) {
	switch s := step.(type) {
	case CreateMonitor:
		r.mark(stalePool{pool: s.Pool})
	case UpdateMonitor:
		r.mark(stalePool{pool: s.Pool})
	case DeleteMonitor:
		r.mark(stalePool{pool: s.Pool, locked: true})
	case DeletePool:
		r.clear(PoolRef{ID: s.ID, Name: s.Name})
	default:
		if pool, within := poolOfStep(step); within {
			r.clear(pool)
		}
	}
}

func (r *repairer) mark(s stalePool) {
	r.clear(s.pool)
	r.stale = append(r.stale, s)
}

func (r *repairer) clear(pool PoolRef) {
	if i := r.index(pool, false); i >= 0 {
		r.stale = slices.Delete(r.stale, i, i+1)
	}
}

func (r *repairer) index(pool PoolRef, locked bool) int {
	id := func(p PoolRef) string { return cmp.Or(p.ID, p.Name+string(p.Protocol)) }
	return slices.IndexFunc(r.stale, func(s stalePool) bool { return id(s.pool) == id(pool) && (s.locked || !locked) })
}

// repair updates a pool with its present settings.
func (r *repairer) repair(pool PoolRef) {
	r.clear(pool)
	settings := model.Pool{ID: pool.ID, Name: pool.Name, Protocol: pool.Protocol}
	if want := r.desired.Listener(pool.Key); want != nil {
		settings = want.Pool
	}
	r.steps = append(r.steps, UpdatePool{pool, settings, settings})
}

// poolOfStep returns the pool that a step changes, itself or a part of it.
func poolOfStep(step Step) (pool PoolRef, within bool) {
	switch s := step.(type) {
	case UpdatePool:
		return s.Pool, true
	case SetMembers:
		return s.Pool, true
	case AddMember:
		return s.Pool, true
	case UpdateMember:
		return s.Pool, true
	case RemoveMember:
		return s.Pool, true
	case CreateMonitor:
		return s.Pool, true
	case UpdateMonitor:
		return s.Pool, true
	case DeleteMonitor:
		return s.Pool, true
	}
	return PoolRef{}, false
}

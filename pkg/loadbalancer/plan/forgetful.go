package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// The provider ovn of Zed (ovn-octavia-provider 3.0) forgets. What it does not
// report stays PENDING below an ACTIVE load balancer, and takes no change itself:
//
//	a monitor in a full create            it never hears of it; changing or deleting that monitor hangs
//	a listener beside a monitor           hangs, for each transport by itself
//	a monitor made, changed or deleted    its listener stays PENDING_UPDATE
//	a monitor deleted                     its pool may stay PENDING_UPDATE too, and the
//	                                      other monitors of its transport go blind
//
// So load balancers are made without monitors, which follow one by one; monitors
// go before listeners come, and come back last; a pool with a monitor that the
// provider never heard of is replaced; and a pool is written to, which brings back
// the pool and its listeners, when something of them is left behind. Where monitors
// went blind, one is made anew: they see by what the driver writes down of the
// nodes for any of them.

// lost tells that the provider never heard of the monitor of a pool, on a load
// balancer at rest.
func (d *differ) lost(pool model.Pool) bool {
	return d.forgetful && lostMonitor(pool)
}

func lostMonitor(pool model.Pool) bool {
	return pool.Monitor != nil && pool.Monitor.Status.Provisioning == "PENDING_CREATE"
}

// blocks tells that a monitor is in the way of a listener that will be made.
func (d *differ) blocks(pool model.Pool) bool {
	return d.forgetful && slices.ContainsFunc(d.desired.Listeners, func(want model.Listener) bool {
		return want.Protocol.Transport() == pool.Protocol.Transport() && makes(want, d.observed)
	})
}

// makes tells that a listener will be made: it is not there, or of another protocol.
func makes(want model.Listener, lb *model.LoadBalancer) bool {
	have := lb.Listener(want.Key())
	return have == nil || have.Protocol != want.Protocol
}

// beside tells of a monitor of somebody else's that is in the way of a listener.
func beside(desired, lb *model.LoadBalancer) string {
	for _, want := range desired.Listeners {
		for _, foreign := range lb.Foreign {
			if foreign.Monitored == want.Protocol.Transport() && makes(want, lb) {
				return fmt.Sprintf("load balancer %s (%s) would hang in this version of its provider if listener %s were created beside a health monitor, "+
					"that of %s: remove that monitor, or use another load balancer", lb.Name, lb.ID, want.Key(), foreign)
			}
		}
	}
	return ""
}

// blinded gives the pools whose monitors have to be made anew, one of a transport,
// because another monitor of it is deleted and none is made.
func (d *differ) blinded() map[string]bool {
	deleted, made := map[model.Protocol]bool{}, map[model.Protocol]bool{}
	keeps := map[model.Protocol]string{}
	for _, orphan := range d.observed.Orphans {
		if orphan.Monitor != nil && !d.lost(orphan) {
			deleted[orphan.Protocol.Transport()] = true
		}
	}
	for i := range d.observed.Listeners {
		have := &d.observed.Listeners[i]
		transport, known := have.Pool.Protocol.Transport(), have.Pool.Monitor != nil && !d.lost(have.Pool)
		want := d.desired.Listener(have.Key())
		switch {
		case !known:
		case want == nil || !d.fate(want, have).samePool() || d.dropsMonitor(have.Pool, want.Pool):
			deleted[transport] = true
		case keeps[transport] == "":
			keeps[transport] = have.Pool.ID
		}
	}
	for i := range d.desired.Listeners {
		want := &d.desired.Listeners[i]
		have := d.observed.Listener(want.Key())
		fresh := have == nil || !d.fate(want, have).samePool() || have.Pool.Monitor == nil || d.dropsMonitor(have.Pool, want.Pool)
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

// dropsMonitor tells that the monitor of a pool that stays goes, be it for another.
func (d *differ) dropsMonitor(from, to model.Pool) bool {
	return from.Monitor != nil && (to.Monitor == nil || to.Monitor.Type != from.Monitor.Type || d.blocks(from) || d.blind[from.ID])
}

// withoutMonitors takes the monitors out of a load balancer that is to be made,
// and gives the steps that make them.
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

// remember adds to the steps those that bring back what the provider forgets:
// pools when a later step needs them, the rest at the end.
func remember(steps []Step, desired *model.LoadBalancer) []Step {
	m := mender{desired: desired}
	for _, step := range steps {
		_, update := step.(UpdatePool)
		if pool, within := poolOfStep(step); within && !update && m.index(pool, true) >= 0 {
			m.mend(pool)
		}
		m.steps = append(m.steps, step)
		m.note(step)
	}
	for len(m.left) > 0 {
		m.mend(m.left[0].pool)
	}
	return m.steps
}

// mender knows what is left behind at a point of a plan.
type mender struct {
	desired *model.LoadBalancer
	steps   []Step
	left    []behind
}

// behind is a pool of which the listener was forgotten, or, when it is locked,
// perhaps the pool too.
type behind struct {
	pool   PoolRef
	locked bool
}

// note keeps the books: what a step leaves behind, and what it brings back.
func (m *mender) note(step Step) {
	switch s := step.(type) {
	case CreateMonitor:
		m.forget(behind{pool: s.Pool})
	case UpdateMonitor:
		m.forget(behind{pool: s.Pool})
	case DeleteMonitor:
		m.forget(behind{pool: s.Pool, locked: true})
	case DeletePool:
		m.clear(PoolRef{ID: s.ID, Name: s.Name})
	default:
		if pool, within := poolOfStep(step); within {
			m.clear(pool)
		}
	}
}

func (m *mender) forget(b behind) {
	m.clear(b.pool)
	m.left = append(m.left, b)
}

func (m *mender) clear(pool PoolRef) {
	if i := m.index(pool, false); i >= 0 {
		m.left = slices.Delete(m.left, i, i+1)
	}
}

func (m *mender) index(pool PoolRef, locked bool) int {
	id := func(r PoolRef) string { return cmp.Or(r.ID, r.Name+string(r.Protocol)) }
	return slices.IndexFunc(m.left, func(b behind) bool { return id(b.pool) == id(pool) && (b.locked || !locked) })
}

// mend writes to a pool, with the settings that it has.
func (m *mender) mend(pool PoolRef) {
	m.clear(pool)
	settings := model.Pool{ID: pool.ID, Name: pool.Name, Protocol: pool.Protocol}
	if want := m.desired.Listener(pool.Key); want != nil {
		settings = want.Pool
	}
	m.steps = append(m.steps, UpdatePool{pool, settings, settings})
}

// poolOfStep is the pool that a step changes, or changes something in.
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

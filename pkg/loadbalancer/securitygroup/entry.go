package securitygroup

import "k8s.io/apimachinery/pkg/types"

// Entry is the knowledge about the security groups of one Service. The zero Entry knows nothing.
type Entry struct {
	// State is the state in the cloud after our last change; nil if it must be read. It is
	// immutable.
	State *State
	// Settled is set if the Service is not being reconciled: then differences are drift.
	Settled bool
	// Met is set after the first round of this process for the Service.
	Met bool
}

// Store holds an Entry for each Service, by its UID.
type Store interface {
	// AllSecurityGroups returns the existing entries.
	AllSecurityGroups() map[types.UID]Entry
	// UpdateSecurityGroups changes the entry of a Service.
	UpdateSecurityGroups(uid types.UID, change func(*Entry))
}

// Forget invalidates the cached groups of a Service.
func (g *Groups) Forget(uid string) {
	g.store.UpdateSecurityGroups(types.UID(uid), func(e *Entry) { e.State, e.Settled = nil, false })
}

// known returns a copy of the state of a Service whose round begins; nil if it must be read.
func (g *Groups) known(uid string) *State {
	var known *State
	g.store.UpdateSecurityGroups(types.UID(uid), func(e *Entry) {
		e.Settled = false
		if e.State != nil {
			s := *e.State
			known = &s
		}
	})
	return known
}

// meets reports whether this is the first round of this process for a Service.
func (g *Groups) meets(uid string) (first bool) {
	g.store.UpdateSecurityGroups(types.UID(uid), func(e *Entry) { first, e.Met = !e.Met, true })
	return first
}

// keep records the state of a Service, and whether it is final.
func (g *Groups) keep(uid string, s State, settled bool) {
	g.store.UpdateSecurityGroups(types.UID(uid), func(e *Entry) {
		e.State, e.Settled = &s, e.Settled || settled
	})
}

// atRest returns the states of the Services that are not being reconciled.
func (g *Groups) atRest() map[string]*State {
	states := map[string]*State{}
	for uid, e := range g.store.AllSecurityGroups() {
		if e.Settled && e.State != nil && e.State.GroupID != "" {
			states[string(uid)] = e.State
		}
	}
	return states
}

package securitygroup

import "k8s.io/apimachinery/pkg/types"

// Entry is what is known of the security groups of one Service. The zero Entry knows
// nothing.
type Entry struct {
	// State is what is there, as we have left it; nil when it has to be read. It is never
	// changed.
	State *State
	// Settled is set when nobody works on it: what differs is drift.
	Settled bool
	// Met is set once this process has worked on the Service.
	Met bool
}

// Store holds an Entry for each Service, by its UID.
type Store interface {
	// AllSecurityGroups returns the entries of all Services that have any.
	AllSecurityGroups() map[types.UID]Entry
	// UpdateSecurityGroups changes the entry of a Service.
	UpdateSecurityGroups(uid types.UID, change func(*Entry))
}

// Forget has what is there for a Service read anew.
func (g *Groups) Forget(uid string) {
	g.store.UpdateSecurityGroups(types.UID(uid), func(e *Entry) { e.State, e.Settled = nil, false })
}

// known returns a copy of what is there for a Service that is now worked on; nil when it
// must be read.
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

// meets reports whether this process works on a Service for the first time.
func (g *Groups) meets(uid string) (first bool) {
	g.store.UpdateSecurityGroups(types.UID(uid), func(e *Entry) { first, e.Met = !e.Met, true })
	return first
}

// keep records what is there for a Service, and whether it is as it is to stay.
func (g *Groups) keep(uid string, s State, settled bool) {
	g.store.UpdateSecurityGroups(types.UID(uid), func(e *Entry) {
		e.State, e.Settled = &s, e.Settled || settled
	})
}

// atRest returns what is there for the Services that nobody works on.
func (g *Groups) atRest() map[string]*State {
	states := map[string]*State{}
	for uid, e := range g.store.AllSecurityGroups() {
		if e.Settled && e.State != nil && e.State.GroupID != "" {
			states[string(uid)] = e.State
		}
	}
	return states
}

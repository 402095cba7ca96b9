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
	// All returns the existing entries.
	All() map[types.UID]Entry
	// Update changes the entry of a Service. Change must not use the Store.
	Update(uid types.UID, change func(*Entry))
}

// entries reads and changes the Entry of each Service.
type entries struct{ store Store }

// forget invalidates the cached groups of a Service.
func (e entries) forget(uid string) {
	e.store.Update(types.UID(uid), func(entry *Entry) { entry.State, entry.Settled = nil, false })
}

// known returns a copy of the state of a Service whose round begins; nil if it must be read.
func (e entries) known(uid string) *State {
	var known *State
	e.store.Update(types.UID(uid), func(entry *Entry) {
		entry.Settled = false
		if entry.State != nil {
			s := *entry.State
			known = &s
		}
	})
	return known
}

// meets reports whether this is the first round of this process for a Service.
func (e entries) meets(uid string) (first bool) {
	e.store.Update(types.UID(uid), func(entry *Entry) { first, entry.Met = !entry.Met, true })
	return first
}

// keep records the state of a Service, and whether it is final.
func (e entries) keep(uid string, s State, settled bool) {
	e.store.Update(types.UID(uid), func(entry *Entry) {
		entry.State, entry.Settled = &s, entry.Settled || settled
	})
}

// atRest returns the states of the Services that are not being reconciled.
func (e entries) atRest() map[string]*State {
	states := map[string]*State{}
	for uid, entry := range e.store.All() {
		if entry.Settled && entry.State != nil && entry.State.GroupID != "" {
			states[string(uid)] = entry.State
		}
	}
	return states
}

package state

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// creationSettles is how long after an unanswered POST the load balancer can still appear. Octavia
// commits it after it has waited for the project's quota (at most 50 s) and for Neutron to create
// the VIP's port; a proxy closes the connection earlier.
const creationSettles = 3 * time.Minute

// Creation is an unanswered creation of a load balancer: it may appear later, also after its
// Service is gone. The zero value is none.
type Creation struct {
	// Until is the last time at which the load balancer can appear.
	Until time.Time
	// Repeated is set if another creation was sent since: then a load balancer does not prove that
	// this creation has succeeded.
	Repeated bool
	// Resolved is set when the load balancer has been found.
	Resolved bool
}

func (c Creation) over(now time.Time) bool { return now.After(c.Until) }

// CreationSent records that a load balancer is about to be created for a Service.
func (s *Store) CreationSent(uid types.UID) {
	s.update(uid, func(e *Entry) { e.Made.Creation.Repeated = !e.Made.Creation.Until.IsZero() })
}

// CreationLost records an unanswered creation.
func (s *Store) CreationLost(uid types.UID) {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updateLocked(uid, func(e *Entry) {
		e.Made.Creation = Creation{Until: now.Add(creationSettles), Repeated: e.Made.Creation.Repeated}
	})
	s.dropCreations(now)
}

// CreationFound records that a load balancer of a Service was found, and is about to be deleted: it
// is that of the unanswered creation, unless that was repeated. Unserved is that of CreationUntil.
func (s *Store) CreationFound(uid types.UID, unserved time.Time) {
	s.update(uid, func(e *Entry) {
		if until := s.creationUntil(e.Made.Creation, unserved); !until.IsZero() && !e.Made.Creation.Repeated {
			e.Made.Creation = Creation{Until: until, Resolved: true}
		}
	})
}

// CreationUntil returns the time until which a load balancer of an unanswered creation can appear;
// zero if none can. The last requests of an earlier process are unknown: a Service that is older
// than this process and has no address is assumed to have an unanswered creation. Its age does not
// matter, because its turn may have come just then. Unserved is the time of creation of a Service
// without an address, zero if it has one.
func (s *Store) CreationUntil(uid types.UID, unserved time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	var known Creation
	if e := s.entries[uid]; e != nil {
		known = e.Made.Creation
	}
	return s.creationUntil(known, unserved)
}

func (s *Store) creationUntil(known Creation, unserved time.Time) time.Time {
	if known.Until.IsZero() && s.Precedes(unserved) {
		known.Until = s.started.Add(creationSettles)
	}
	if known.Resolved || known.over(s.clock.Now()) {
		return time.Time{}
	}
	return known.Until
}

// Precedes reports whether a time of creation, zero for none, is before the start of this process.
func (s *Store) Precedes(created time.Time) bool {
	return !created.IsZero() && created.Before(s.started)
}

// dropCreations drops the creations with load balancers that can no longer appear.
func (s *Store) dropCreations(now time.Time) {
	for uid, e := range s.entries {
		if c := e.Made.Creation; c != (Creation{}) && c.over(now) {
			s.updateLocked(uid, func(e *Entry) { e.Made.Creation = Creation{} })
		}
	}
}

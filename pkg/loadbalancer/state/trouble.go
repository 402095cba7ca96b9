package state

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Trouble is an obstacle in the cloud that consecutive rounds of a Service have met. The zero value
// is none.
type Trouble struct {
	// Key identifies the trouble.
	Key string
	// Since is the time of the first of these rounds in this process, Times their number.
	Since time.Time
	Times int
	// Text is the report of the first round, with its request ID, so that repeated events are
	// equal.
	Text string
}

// RecordTrouble records the trouble of a round, and returns its record, with the time since which
// consecutive rounds have met it. Text returns the report of a new one.
func (s *Store) RecordTrouble(uid types.UID, key string, text func(since time.Time) string) Trouble {
	var met Trouble
	now := s.clock.Now()
	s.update(uid, func(e *Entry) {
		if e.Trouble.Key != key {
			e.Trouble = Trouble{Key: key, Since: now, Text: text(now)}
		}
		e.Trouble.Times++
		met = e.Trouble
	})
	return met
}

// partsShort is how long a quota of parts of load balancers counts as exhausted: longer than until
// the next retry of the Service that met it.
const partsShort = 10 * time.Minute

// MarkPartsShort records that a quota for parts of load balancers is exhausted.
func (s *Store) MarkPartsShort() {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partsShort = now.Add(partsShort)
}

// PartsShort reports whether a quota for parts of load balancers was recently exhausted for any
// Service. Octavia leaks a port with each load balancer that it refuses for that, but not if it is
// created empty.
func (s *Store) PartsShort() bool {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Before(s.partsShort)
}

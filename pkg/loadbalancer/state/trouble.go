package state

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Trouble is what the cloud has kept a Service from, round after round. The zero value is none.
type Trouble struct {
	// Key is the same as long as the trouble is.
	Key string
	// Since is when this process has met it first, Times is how many rounds have met it.
	Since time.Time
	Times int
	// Text is what was told of it then: with the request ID of that time, so that what is told
	// again is told in the same words.
	Text string
}

// Meet records that a round has met a trouble, and returns what is recorded: of one that the
// round before has met too, since when. Text returns what to tell of one that is new.
func (s *Store) Meet(uid types.UID, key string, text func(since time.Time) string) Trouble {
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

// partsShort is how long a quota of parts of load balancers counts as used up after it was met:
// longer than until whoever has met it tries again.
const partsShort = 10 * time.Minute

// MarkPartsShort records that a quota for what is in load balancers is used up.
func (s *Store) MarkPartsShort() {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partsShort = now.Add(partsShort)
}

// PartsShort reports whether a quota for what is in load balancers was met lately, by whichever
// Service. Octavia loses a port with each load balancer that it refuses for that, but with none
// that is created empty.
func (s *Store) PartsShort() bool {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Before(s.partsShort)
}

package state

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// shortageLasts is how long a quota of parts of load balancers counts as exhausted: longer than until
// the next retry of the Service that met it.
const shortageLasts = 10 * time.Minute

// Shortage is an exhausted quota for parts of load balancers. Octavia leaks a port with each load balancer that it
// refuses for that, but not if it is created empty.
type Shortage struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	until time.Time
}

// Mark records that such a quota is exhausted.
func (s *Shortage) Mark() {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = now.Add(shortageLasts)
}

// Recent reports whether such a quota was recently exhausted for any Service.
func (s *Shortage) Recent() bool {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Before(s.until)
}

func (s *Shortage) clone() *Shortage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Shortage{clock: s.clock, until: s.until}
}

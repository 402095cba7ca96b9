package provider

import (
	"sync"

	v1 "k8s.io/api/core/v1"
)

// nameSet remembers the names of nodes. Its zero value is ready.
type nameSet struct {
	mu    sync.Mutex
	names map[string]bool
	// shrunk tells that the last change took a node away: every Service is told of
	// a change by itself.
	shrunk bool
}

// shrinks remembers these nodes, and tells whether one that was there is missing.
func (s *nameSet) shrinks(nodes []*v1.Node) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		now[n.Name] = true
	}
	missing, added := false, len(now) != len(s.names)
	for name := range s.names {
		if !now[name] {
			missing, added = true, true
		}
	}
	if added { // a change that was not told yet
		s.names, s.shrunk = now, missing
	}
	return s.shrunk
}

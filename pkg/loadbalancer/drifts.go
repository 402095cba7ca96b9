package loadbalancer

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// drift is a change that somebody else has made, noticed and not repaired or told yet.
type drift struct {
	why string
	// before is what was remembered until then: what was applied last, and what was
	// there.
	before *remembered
}

// uidSet is a set of Services. Its zero value is ready.
type uidSet struct {
	mu  sync.Mutex
	set map[types.UID]struct{}
}

func (s *uidSet) add(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		s.set = map[types.UID]struct{}{}
	}
	s.set[uid] = struct{}{}
}

func (s *uidSet) remove(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.set, uid)
}

func (s *uidSet) has(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, has := s.set[uid]
	return has
}

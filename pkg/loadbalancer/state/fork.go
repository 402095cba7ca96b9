package state

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Fork returns a Store for the preview of a round of one Service. It has this Store's knowledge of
// that Service, and the number of others; only Adopt returns anything from it. It has no unanswered
// creations: a preview does not wait for them.
func (s *Store) Fork(uid types.UID) *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	fork := New(s.clock, nil)
	fork.Creations, fork.Retained, fork.Shortage = newCreations(s.clock, time.Time{}), s.Retained.clone(), s.Shortage.clone()
	fork.index.inNamespace = maps.Clone(s.index.inNamespace)
	if known := s.entries[uid]; known != nil {
		e := *known
		fork.entries[uid] = &e
		fork.index.move(uid, &e, "")
	}
	return fork
}

// Adopt takes over the knowledge of a Service that a fork has read: its preview has changed
// nothing.
func (s *Store) Adopt(fork *Store, uid types.UID) {
	learned := fork.Get(uid)
	s.Update(uid, func(e *Entry) {
		learned.Warnings, learned.announced = e.Warnings, e.announced
		*e = learned
	})
}

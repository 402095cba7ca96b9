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
	fork.started, fork.partsShort, fork.inNamespace = time.Time{}, s.partsShort, maps.Clone(s.inNamespace)
	for name, ids := range s.retained {
		fork.retained[name] = maps.Clone(ids)
	}
	if known := s.entries[uid]; known != nil {
		e := *known
		e.warnings, e.announced, e.Made.Creation = maps.Clone(known.warnings), maps.Clone(known.announced), Creation{}
		fork.entries[uid] = &e
		fork.move(uid, &e, "")
	}
	return fork
}

// Adopt takes over the knowledge of a Service that a fork has read: its preview has changed
// nothing.
func (s *Store) Adopt(fork *Store, uid types.UID) {
	learned := fork.Get(uid)
	s.update(uid, func(e *Entry) {
		learned.Made.Creation, learned.warnings, learned.recalled, learned.announced = e.Made.Creation, e.warnings, e.recalled, e.announced
		*e = learned
	})
}

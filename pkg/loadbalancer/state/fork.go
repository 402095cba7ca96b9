package state

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Fork returns a Store for a round of one Service that is only rehearsed. It knows of that
// Service what this one knows, and how many others there are; nothing that it is told comes
// back, but by Adopt. Of creations without an answer it knows nothing: nobody waits for them in
// a rehearsal.
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

// Adopt takes over what a fork has learned of a Service by reading: its rehearsal has changed
// nothing.
func (s *Store) Adopt(fork *Store, uid types.UID) {
	learned := fork.Get(uid)
	s.update(uid, func(e *Entry) {
		learned.Made.Creation, learned.warnings, learned.recalled, learned.announced = e.Made.Creation, e.warnings, e.recalled, e.announced
		*e = learned
	})
}

package state

import (
	"iter"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
)

// Store holds an Entry for each known Service, and knowledge that outlives the Services or is of several. Its
// methods may be called concurrently. The round of a Service owns its Entry; all others use changes that compare first.
type Store struct {
	Creations *Creations
	Creators  *Creators
	Retained  *Retained
	Shortage  *Shortage

	clock clock.PassiveClock
	// refusals is called with the new number of Services that are refused for a reason; may be nil.
	refusals func(reason string, services int)

	mu      sync.Mutex
	entries map[types.UID]*Entry
	index   index
}

// New returns an empty Store. Refusals, which may be nil, is called when the number of Services
// that are refused for a reason changes, by one goroutine at a time. It must not block or use the
// Store.
func New(clk clock.PassiveClock, refusals func(reason string, services int)) *Store {
	return &Store{
		Creations: newCreations(clk, clk.Now()), Creators: &Creators{of: map[Share]types.UID{}},
		Retained: &Retained{clock: clk, left: map[types.NamespacedName]map[string]time.Time{}}, Shortage: &Shortage{clock: clk},
		clock: clk, refusals: refusals, entries: map[types.UID]*Entry{}, index: newIndex(),
	}
}

// Get returns the knowledge of a Service, the zero Entry if there is none. The values behind its
// pointers must not be changed.
func (s *Store) Get(uid types.UID) Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[uid]; e != nil {
		return *e
	}
	return Entry{}
}

// All yields the knowledge of each Service. The loop must not use the Store.
func (s *Store) All() iter.Seq2[types.UID, Entry] {
	return func(yield func(types.UID, Entry) bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for uid, e := range s.entries {
			if !yield(uid, *e) {
				return
			}
		}
	}
}

// Update changes the knowledge of a Service. Change must not use the Store.
func (s *Store) Update(uid types.UID, change func(*Entry)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.update(uid, change)
}

// update is Update for callers that hold the mutex.
func (s *Store) update(uid types.UID, change func(*Entry)) {
	e := s.entries[uid]
	if e == nil {
		e = &Entry{}
	}
	before := *e
	change(e)
	if e.empty() {
		delete(s.entries, uid)
	} else {
		s.entries[uid] = e
	}
	for _, reason := range s.index.update(uid, before, e) {
		if s.refusals != nil {
			s.refusals(reason, s.index.refused[reason])
		}
	}
}

// Advance records the resource version of a Service as the newest served one. It reports false, and
// records nothing, if a newer one has been served.
func (s *Store) Advance(uid types.UID, version string) (advanced bool) {
	s.Update(uid, func(e *Entry) { advanced = e.advance(version, s.clock.Now()) })
	return advanced
}

// Forget drops the Entry of a Service without remains in the cloud. It keeps a creation that can
// still succeed and, unless the Service is being deleted, that it was touched: both concern what
// the cloud may show later.
func (s *Store) Forget(uid types.UID, deleted bool) {
	s.Creations.forget(uid)
	s.Update(uid, func(e *Entry) { *e = Entry{Made: Made{Touched: e.Made.Touched && !deleted}} })
}

// DropAllBut drops the remaining entries of Services that are not live, if they hold only that the
// Service was touched, and no creation of it is unanswered: the deletion of one with another type is not reported. It
// also drops the creators of shares that are not live.
func (s *Store) DropAllBut(live map[types.UID]bool) {
	s.Creators.dropAllBut(live)
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid, e := range s.entries {
		if live[uid] || s.Creations.of(uid) != (creation{}) {
			continue
		}
		rest := *e
		if rest.Made.Touched = false; rest.empty() {
			s.update(uid, func(e *Entry) { *e = Entry{} })
		}
	}
}

// Sweep drops what a snapshot of the project shows to be over: floating IPs that were left before it began and that it
// does not show, and creations with load balancers that can no longer appear.
func (s *Store) Sweep(snap *project.Snapshot) {
	s.Retained.sweep(snap)
	s.Creations.dropOver()
}

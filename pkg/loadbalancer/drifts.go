package loadbalancer

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// drifts keeps what was found changed until it is repaired. Its zero value is
// ready.
type drifts struct {
	mu  sync.Mutex
	why map[types.UID]string
}

func (d *drifts) note(uid types.UID, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.why == nil {
		d.why = map[types.UID]string{}
	}
	d.why[uid] = why
}

func (d *drifts) recall(uid types.UID) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.why[uid]
}

func (d *drifts) forget(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.why, uid)
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

package loadbalancer

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// perService keeps a value for each Service. Its zero value is ready.
type perService[V any] struct {
	mu     sync.Mutex
	values map[types.UID]V
}

func (s *perService[V]) put(uid types.UID, value V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = map[types.UID]V{}
	}
	s.values[uid] = value
}

func (s *perService[V]) get(uid types.UID) (value V, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok = s.values[uid]
	return value, ok
}

func (s *perService[V]) drop(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, uid)
}

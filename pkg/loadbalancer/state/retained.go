package state

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
)

// RetainFloatingIP records that a floating IP was left in the project for the next Service of this
// name.
func (s *Store) RetainFloatingIP(service types.NamespacedName, id string) {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retained[service] == nil {
		s.retained[service] = map[string]time.Time{}
	}
	s.retained[service][id] = now
}

// RetainedFloatingIPs returns the IDs of the floating IPs that this process has left in the
// project for a Service of this name, sorted.
func (s *Store) RetainedFloatingIPs(service types.NamespacedName) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.retained[service]))
}

// Sweep drops floating IPs that were left in the project before the snapshot began and that it does
// not show, and creations with load balancers that can no longer appear.
func (s *Store) Sweep(snap *project.Snapshot) {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for service, ids := range s.retained {
		maps.DeleteFunc(ids, func(id string, left time.Time) bool {
			_, there := snap.FloatingIPs[id]
			return !there && snap.Began.After(left)
		})
		if len(ids) == 0 {
			delete(s.retained, service)
		}
	}
	s.dropCreations(now)
}

package state

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
)

// Retained are the floating IPs that this process has left in the project, each for the next Service of a name.
type Retained struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// left are the times, by name and ID.
	left map[types.NamespacedName]map[string]time.Time
}

// Add records that a floating IP was left in the project for the next Service of this name.
func (r *Retained) Add(service types.NamespacedName, id string) {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left[service] == nil {
		r.left[service] = map[string]time.Time{}
	}
	r.left[service][id] = now
}

// IDs returns the IDs of the floating IPs that were left for a Service of this name, sorted.
func (r *Retained) IDs(service types.NamespacedName) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.left[service]))
}

// sweep drops floating IPs that were left in the project before the snapshot began and that it does not show.
func (r *Retained) sweep(snap *project.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for service, ids := range r.left {
		maps.DeleteFunc(ids, func(id string, left time.Time) bool {
			_, there := snap.FloatingIPs[id]
			return !there && snap.Began.After(left)
		})
		if len(ids) == 0 {
			delete(r.left, service)
		}
	}
}

func (r *Retained) clone() *Retained {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := make(map[types.NamespacedName]map[string]time.Time, len(r.left))
	for service, ids := range r.left {
		left[service] = maps.Clone(ids)
	}
	return &Retained{clock: r.clock, left: left}
}

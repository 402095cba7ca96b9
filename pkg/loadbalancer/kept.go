package loadbalancer

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
)

// keptFloatingIPs are the IDs of the floating IPs that this process has left in the
// project for a Service of the same name to come. Its zero value is ready.
type keptFloatingIPs struct {
	mu sync.Mutex
	// ids holds when each was left.
	ids map[types.NamespacedName]map[string]time.Time
}

func (k *keptFloatingIPs) add(service types.NamespacedName, id string, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ids == nil {
		k.ids = map[types.NamespacedName]map[string]time.Time{}
	}
	if k.ids[service] == nil {
		k.ids[service] = map[string]time.Time{}
	}
	k.ids[service][id] = now
}

// of gives a list of the caller's own.
func (k *keptFloatingIPs) of(service types.NamespacedName) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.ids[service]))
}

// sweep forgets those that a later look does not find any more.
func (k *keptFloatingIPs) sweep(look *snapshot.Look) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for service, ids := range k.ids {
		maps.DeleteFunc(ids, func(id string, left time.Time) bool {
			_, there := look.FloatingIPs[id]
			return !there && look.Began.After(left)
		})
		if len(ids) == 0 {
			delete(k.ids, service)
		}
	}
}

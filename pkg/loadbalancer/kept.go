package loadbalancer

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// keptFloatingIPs are the IDs of the floating IPs that this process has left in the
// project for a Service of the same name to come. Its zero value is ready.
type keptFloatingIPs struct {
	mu  sync.Mutex
	ids map[types.NamespacedName][]string
}

func (k *keptFloatingIPs) add(service types.NamespacedName, id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ids == nil {
		k.ids = map[types.NamespacedName][]string{}
	}
	if !slices.Contains(k.ids[service], id) {
		k.ids[service] = append(k.ids[service], id)
	}
}

// of gives a list of the caller's own.
func (k *keptFloatingIPs) of(service types.NamespacedName) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.ids[service])
}

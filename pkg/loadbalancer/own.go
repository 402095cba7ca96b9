package loadbalancer

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// ownIDs are the load balancers that this process has made for Services, or has found
// to be their own. An error does not make it forget them: a list of load balancers may
// come from a replica that has not heard of the last creation yet, the ID that Octavia
// gave finds it. Its zero value is ready.
type ownIDs struct {
	mu  sync.Mutex
	ids map[types.UID]string
}

func (o *ownIDs) set(uid types.UID, id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ids == nil {
		o.ids = map[types.UID]string{}
	}
	o.ids[uid] = id
}

// get gives "" where none is known.
func (o *ownIDs) get(uid types.UID) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ids[uid]
}

func (o *ownIDs) remove(uid types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.ids, uid)
}

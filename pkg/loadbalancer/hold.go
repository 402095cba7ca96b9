package loadbalancer

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
)

// holder holds the lock of one load balancer at most. Services that share one wait
// for each other; who goes from one to another lets go of the first, so that two never
// wait for each other in a circle. Its zero value holds none.
type holder struct {
	id      string
	release func()
}

// hold takes the lock of a load balancer, after letting go of any other. It tells
// whether it had to wait for somebody else: what was read before may have changed.
func (h *holder) hold(ctx context.Context, locks *async.Locks, id string) (waited bool, err error) {
	if h.id == id || id == "" {
		return false, nil
	}
	h.letGo()
	unlock, waited, err := locks.Lock(ctx, id)
	if err != nil {
		return waited, err
	}
	h.id, h.release = id, unlock
	return waited, nil
}

func (h *holder) letGo() {
	if h.release != nil {
		h.release()
	}
	h.id, h.release = "", nil
}

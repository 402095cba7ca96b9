package resync

import (
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
)

// stay returns how long a member of a Service stays after its endpoints began to terminate, 0 if until
// they have ended.
func (c *Controller) stay(key types.NamespacedName) time.Duration {
	service, err := c.services.Services(key.Namespace).Get(key.Name)
	if err != nil {
		return 0
	}
	return c.engine.Stay(service)
}

// syncAtStop enqueues a Service for the time at which its next member leaves because its endpoints stop.
func (c *Controller) syncAtStop(key types.NamespacedName) {
	if c.endpoints == nil {
		return
	}
	if after, stops := c.endpoints.untilStop(key); stops {
		c.queue.AddAfter(key, after)
	}
}

// stopping is that of the endpoints of a Service, none if members stay until these have ended. The caller
// holds the lock.
func (t *endpointTable) stopping(service types.NamespacedName, of *serviceEndpoints) (addresses []netip.Addr, next time.Duration) {
	if of == nil || len(of.ends) == 0 {
		return nil, 0
	}
	stay := t.stay(service)
	if stay == 0 {
		return nil, 0
	}
	return of.stopping(stay, t.clock.Now())
}

// untilStop returns the time until the next member of a Service leaves because its endpoints stop, and
// whether there is one.
func (t *endpointTable) untilStop(service types.NamespacedName) (after time.Duration, stops bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, after = t.stopping(service, t.services[service])
	return after, after > 0
}

// note updates ends after a change of the slices.
func (s *serviceEndpoints) note(now time.Time) {
	var ends map[netip.Addr]time.Time
	for _, slice := range s.slices {
		for _, address := range (members.Endpoints{slice}).Lasting() {
			if ends == nil {
				ends = map[netip.Addr]time.Time{}
			}
			if ends[address] = now; !s.ends[address].IsZero() {
				ends[address] = s.ends[address]
			}
		}
	}
	s.ends = ends
}

// stopping returns the addresses of endpoints that began to terminate at least stay ago, and the time
// until the next one; 0 for none.
func (s *serviceEndpoints) stopping(stay time.Duration, now time.Time) (stopping []netip.Addr, next time.Duration) {
	for address, began := range s.ends {
		switch left := stay - now.Sub(began); {
		case left <= 0:
			stopping = append(stopping, address)
		case next == 0 || left < next:
			next = left
		}
	}
	return stopping, next
}

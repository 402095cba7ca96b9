package resync

import (
	"net/netip"
	"slices"
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

// lookAtStops is called when a sync of a Service begins. The result enqueues the Service for the time at which
// its next member leaves because its endpoints stop: soon if the sync began before that time.
func (c *Controller) lookAtStops(key types.NamespacedName) (again func()) {
	if c.endpoints == nil {
		return func() {}
	}
	known := c.endpoints.stoppingOf(key)
	return func() {
		if after, stops := c.endpoints.untilStop(key, known); stops {
			c.queue.AddAfter(key, max(after, promptBatchPeriod))
		}
	}
}

// stopping returns the addresses of a Service's endpoints that began to terminate so long ago that their
// members leave. They do not come back, however long other members stay later. The caller holds the lock.
func (t *endpointTable) stopping(service types.NamespacedName) (addresses []netip.Addr) {
	for address, after := range t.stops(service) {
		if after <= 0 {
			ends := t.services[service].ends
			ends[address] = end{ends[address].began, true}
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// stoppingOf is stopping for callers that do not hold the lock.
func (t *endpointTable) stoppingOf(service types.NamespacedName) []netip.Addr {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stopping(service)
}

// untilStop returns the time until the next member of a Service leaves because its endpoints stop, at most zero
// for one that should have left. Stops is false if there is none but those at known addresses.
func (t *endpointTable) untilStop(service types.NamespacedName, known []netip.Addr) (next time.Duration, stops bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for address, after := range t.stops(service) {
		if !slices.Contains(known, address) && (!stops || after < next) {
			next, stops = after, true
		}
	}
	return next, stops
}

// stops returns the time until the members at addresses of a Service's endpoints leave because these stop; none
// if they leave when these have stopped. The caller holds the lock.
func (t *endpointTable) stops(service types.NamespacedName) map[netip.Addr]time.Duration {
	of := t.services[service]
	if of == nil || len(of.ends) == 0 {
		return nil
	}
	all, stay := make(map[netip.Addr]time.Duration, len(of.ends)), t.stay(service)
	for address, end := range of.ends {
		switch {
		case end.leaving:
			all[address] = 0
		case stay > 0:
			all[address] = stay - t.clock.Since(end.began)
		}
	}
	return all
}

// note updates ends after a change of the slices.
func (s *serviceEndpoints) note(now time.Time) {
	var ends map[netip.Addr]end
	for _, slice := range s.slices {
		for _, address := range (members.Endpoints{slice}).Lasting() {
			if ends == nil {
				ends = map[netip.Addr]end{}
			}
			if known, is := s.ends[address]; is {
				ends[address] = known
			} else {
				ends[address] = end{began: now}
			}
		}
	}
	s.ends = ends
}

package resync

import (
	"cmp"
	"maps"
	"math"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
)

// stay returns how long members of a Service stay after their endpoints began to terminate.
func (c *Controller) stay(key types.NamespacedName) model.Stay {
	service, err := c.services.Services(key.Namespace).Get(key.Name)
	if err != nil {
		return model.Stay{}
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
			left := ends[address]
			left.leaving = true
			ends[address] = left
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
// if they leave when these have stopped. A member leaves so early that those that leave after it have left in time, too:
// all pods of a node stop together when it is drained. The caller holds the lock.
func (t *endpointTable) stops(service types.NamespacedName) map[netip.Addr]time.Duration {
	of := t.services[service]
	if of == nil || len(of.ends) == 0 {
		return nil
	}
	all, stay := make(map[netip.Addr]time.Duration, len(of.ends)), t.stay(service)
	next := time.Duration(math.MaxInt64)
	for _, address := range of.lastFirst() {
		switch end := of.ends[address]; {
		case end.leaving:
			all[address] = 0
		case stay.For > 0 && (stay.Family == "" || stay.Family == model.FamilyOf(address.String())):
			next = min(stay.For-t.clock.Since(end.began), next-stay.Each) - time.Duration(end.endpoints-1)*stay.Each
			all[address] = next
		}
	}
	return all
}

// lastFirst returns the addresses of the endpoints that terminate, those that began last first.
func (s *serviceEndpoints) lastFirst() []netip.Addr {
	return slices.SortedFunc(maps.Keys(s.ends), func(a, b netip.Addr) int {
		return cmp.Or(s.ends[b].began.Compare(s.ends[a].began), a.Compare(b))
	})
}

// note updates ends after a change of the slices.
func (s *serviceEndpoints) note(now time.Time) {
	var ends map[netip.Addr]end
	for _, slice := range s.slices {
		for _, address := range (members.Endpoints{slice}).Lasting() {
			if ends == nil {
				ends = map[netip.Addr]end{}
			}
			of, counted := ends[address]
			if !counted {
				if of = s.ends[address]; of.began.IsZero() {
					of.began = now
				}
				of.endpoints = 0
			}
			of.endpoints++
			ends[address] = of
		}
	}
	s.ends = ends
}

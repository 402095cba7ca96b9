package goal

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

const (
	// failoverMemory is how long a failover counts: a load balancer that fails again and again
	// is failed over no more often than failoverPauses has entries in that time.
	failoverMemory = 24 * time.Hour
	// failoverForbidden is how long nobody asks again after Octavia has refused a failover
	// for want of a role.
	failoverForbidden = 6 * time.Hour
)

// failoverPauses are how long after the last failover of a load balancer the next one may be.
// The first one of the list is also how old an ERROR must be that this process has only found:
// the process before may have failed the load balancer over.
func failoverPauses() []time.Duration {
	return []time.Duration{10 * time.Minute, 10 * time.Minute, time.Hour}
}

// Failovers are what is remembered of load balancers that were failed over. Its methods may
// be called from many goroutines.
type Failovers struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// forbidden is until when no failover is asked for.
	forbidden time.Time
	// byID holds the load balancers that were failed over lately.
	byID map[string]failovers
}

// Clone returns a copy: what it is told, these do not learn.
func (f *Failovers) Clone() *Failovers {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Failovers{clock: f.clock, forbidden: f.forbidden, byID: maps.Clone(f.byID)}
}

// failovers are those of one load balancer.
type failovers struct {
	count int
	last  time.Time
}

// NewFailovers returns what is known when the process begins.
func NewFailovers(clk clock.PassiveClock) *Failovers {
	return &Failovers{clock: clk, byID: map[string]failovers{}}
}

// Of returns what is to become of a load balancer in ERROR. Known is set where this process
// has seen it serve before.
//
//	what is known                                    to be failed over
//	Octavia has refused that for want of a role      no, for six hours
//	it was not failed over within a day              at once, or ten minutes after the ERROR where the process
//	                                                 before may have done it
//	once, twice                                      ten minutes, an hour after the last time
//	three times                                      no, until a day after the last time
func (f *Failovers) Of(lb *model.LoadBalancer, known bool) plan.Failover {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, before, pauses := f.clock.Now(), f.byID[lb.ID], failoverPauses()
	var next time.Time
	switch {
	case now.Before(f.forbidden):
		return plan.Failover{WhyNot: "Octavia does not let the user of cloud.conf fail it over, which takes the role load-balancer_admin or a policy that allows it"}
	case now.Sub(before.last) >= failoverMemory: // or never
		if next = lb.UpdatedAt.Add(pauses[0]); known || !now.Before(next) {
			return plan.Failover{Now: true}
		}
		return plan.Failover{WhyNot: "the controller before may just have failed it over; this one does not before " + stamp(next)}
	case before.count >= len(pauses):
		return plan.Failover{WhyNot: fmt.Sprintf("%d failovers did not help for long, the last one at %s", before.count, stamp(before.last))}
	}
	if next = before.last.Add(pauses[before.count]); !now.Before(next) {
		return plan.Failover{Now: true}
	}
	return plan.Failover{WhyNot: fmt.Sprintf("the failover at %s did not help for long, the next one is not before %s", stamp(before.last), stamp(next))}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Begin notes that a load balancer is about to be failed over.
func (f *Failovers) Begin(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	for other, before := range f.byID {
		if now.Sub(before.last) >= failoverMemory {
			delete(f.byID, other)
		}
	}
	f.byID[id] = failovers{f.byID[id].count + 1, now}
}

// Forbid notes that Octavia has refused the failover of a load balancer for want of a role.
func (f *Failovers) Forbid(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forbidden = f.clock.Now().Add(failoverForbidden)
	delete(f.byID, id) // it was not failed over
}

// failover returns what is to become of a load balancer if it is in ERROR.
func (e *Engine) failover(in Inputs, lb *model.LoadBalancer, drv driver.Driver) plan.Failover {
	switch {
	case lb == nil || !lb.Status.Failed():
		return plan.Failover{}
	case e.Config.LoadBalancer.DriftPolicy == drift.PolicyReport:
		return plan.Failover{WhyNot: "drift-policy=report keeps it from being failed over"}
	case !drv.Supports(driver.Failover):
		return plan.Failover{WhyNot: drv.Lacks(driver.Failover)}
	}
	return e.Failovers.Of(lb, e.Store.Get(in.Service.UID).Accepted != nil)
}

package goal

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

const (
	// failoverMemory is how long a failover counts: in that time, a load balancer is failed over at
	// most as often as failoverPauses has entries.
	failoverMemory = 24 * time.Hour
	// failoverForbidden is the pause after Octavia has refused a failover because a role is
	// missing.
	failoverForbidden = 6 * time.Hour
)

// failoverPauses are the minimum times between the last failover of a load balancer and the next.
// The first one is also the minimum age of an ERROR that this process has found at its start: the
// process before may have failed the load balancer over.
func failoverPauses() []time.Duration {
	return []time.Duration{10 * time.Minute, 10 * time.Minute, time.Hour}
}

// Failovers records recent failovers, and limits further ones. It is safe for concurrent use.
type Failovers struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// forbidden is the end of the pause after a refusal.
	forbidden time.Time
	byID      map[string]failovers
}

// Clone returns an independent copy.
func (f *Failovers) Clone() *Failovers {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Failovers{clock: f.clock, forbidden: f.forbidden, byID: maps.Clone(f.byID)}
}

// failovers are the recent failovers of a load balancer.
type failovers struct {
	count int
	last  time.Time
}

// NewFailovers returns Failovers without records.
func NewFailovers(clk clock.PassiveClock) *Failovers {
	return &Failovers{clock: clk, byID: map[string]failovers{}}
}

// Of decides whether to fail over a load balancer in ERROR. Known is set if this process has seen
// it serve before.
//
//	recorded                                         failover
//	a refusal because a role is missing              not for six hours
//	none within a day                                at once, or ten minutes after the ERROR if the process
//	                                                 before may have done it
//	one, two                                         ten minutes, an hour after the last one
//	three                                            not until a day after the last one
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
		return plan.Failover{WhyNot: fmt.Sprintf("%d failovers did not help, the last one at %s", before.count, stamp(before.last))}
	}
	if next = before.last.Add(pauses[before.count]); !now.Before(next) {
		return plan.Failover{Now: true}
	}
	return plan.Failover{WhyNot: fmt.Sprintf("the failover at %s did not help, the next one is not before %s", stamp(before.last), stamp(next))}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Begin records that a load balancer is about to be failed over.
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

// Forbid records that Octavia has refused a failover because a role is missing.
func (f *Failovers) Forbid(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forbidden = f.clock.Now().Add(failoverForbidden)
	delete(f.byID, id) // it was not failed over
}

// failover returns the decision on a failover; the zero value unless the load balancer is in ERROR.
func (p *planner) failover(in Inputs, lb *model.LoadBalancer, drv driver.Driver) plan.Failover {
	switch {
	case lb == nil || !lb.Status.Failed():
		return plan.Failover{}
	case p.config.LoadBalancer.DriftPolicy == drift.PolicyReport:
		return plan.Failover{WhyNot: "drift-policy=report keeps it from being failed over"}
	case !drv.Supports(driver.Failover):
		return plan.Failover{WhyNot: drv.Lacks(driver.Failover)}
	}
	return p.failovers.Of(lb, p.memory.Store.Get(in.Owner.UID).Accepted != nil)
}

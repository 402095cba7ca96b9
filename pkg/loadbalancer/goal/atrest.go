package goal

import (
	"context"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/stopwatch"
)

// A driver that works on members one by one has the load balancer ACTIVE, and perhaps all members of
// it, while most of a batch is still to come. The run that has sent the batch knows what to wait for.
// Whoever reads the load balancer later does not: after a batch without an answer, or after a restart in
// the middle of one. The driver reports each member, and updated_at moves with each report.

// restIntervals is for how many ChildIntervals nothing has moved in a load balancer at rest.
const restIntervals = 5

// contentsAtRest reads everything in a load balancer, where the driver needs it not before that has come
// to rest. A cloud whose clock is another is not waited for: what a batch loses then, the status tree
// shows after the next one.
func (e *Engine) contentsAtRest(ctx context.Context, id ownership.Identity, at *reading) (*model.LoadBalancer, error) {
	lb := at.next
	if !driver.QuirksOf(lb.Provider).MemberByMember || e.Cloud.Observer.Listed {
		return e.Cloud.Observer.Contents(ctx, id, *lb)
	}
	timing := e.Drivers.Timing(lb.Provider)
	if at.deadline.IsZero() {
		at.deadline = e.Clock.Now().Add(timing.ChildTimeout)
	}
	for {
		if at.again == nil {
			rest, age := restIntervals*timing.ChildInterval, e.Clock.Since(at.next.UpdatedAt)
			if !at.resting && (age >= rest || age < -rest || !e.Clock.Now().Before(at.deadline)) {
				break
			}
			at.resting = true
			if err := async.Sleep(ctx, e.Clock, stopwatch.Octavia, "rest "+lb.ID, rest-max(age, time.Duration(0))); err != nil {
				return nil, err
			}
			at.resting = false
			var err error
			if at.again, err = e.readAgain(ctx, lb.ID); err != nil {
				return nil, err
			}
		}
		var again *octavia.LoadBalancer
		if at.again != nil {
			var err error
			if again, err = e.settled(ctx, *at.again); err != nil {
				return nil, err
			}
			at.again = nil
		}
		if again == nil || again.UpdatedAt.Equal(at.next.UpdatedAt) {
			break
		}
		at.next = again
	}
	return e.Cloud.Observer.Contents(ctx, id, *at.next)
}

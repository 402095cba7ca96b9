package goal

import (
	"context"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// If a driver changes members one by one, the load balancer, and perhaps all of its members, are
// ACTIVE while most of a batch is still to come. The run that sent the batch knows the result to
// wait for. A later reader does not, for example after a batch without an answer, or after a
// restart. The driver reports each member, and each report moves updated_at.

// restIntervals is the number of ChildIntervals without a change after which a load balancer is at
// rest.
const restIntervals = 5

// contentsAtRest reads the contents of a load balancer, for such a driver only once it is at rest.
// It does not wait if the cloud's clock differs: if a batch loses members then, the status tree
// shows that after the next one.
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
			rest, age := restIntervals*timing.ChildInterval, e.Clock.Since(at.next.UpdatedAt.Time)
			if !at.resting && (age >= rest || age < -rest || !e.Clock.Now().Before(at.deadline)) {
				break
			}
			at.resting = true
			if err := async.Sleep(ctx, e.Clock, telemetry.Octavia, "rest "+lb.ID, rest-max(age, time.Duration(0))); err != nil {
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
		if again == nil || again.UpdatedAt.Equal(at.next.UpdatedAt.Time) {
			break
		}
		at.next = again
	}
	return e.Cloud.Observer.Contents(ctx, id, *at.next)
}

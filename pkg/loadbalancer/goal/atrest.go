package goal

import (
	"context"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
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
func (e *Engine) contentsAtRest(ctx context.Context, id ownership.Identity, lb octavia.LoadBalancer) (*model.LoadBalancer, error) {
	timing := e.Drivers.Timing(lb.Provider)
	rest := restIntervals * timing.ChildInterval
	if !driver.QuirksOf(lb.Provider).MemberByMember || e.Cloud.Observer.Listed {
		return e.Cloud.Observer.Contents(ctx, id, lb)
	}
	for deadline := e.Clock.Now().Add(timing.ChildTimeout); e.Clock.Now().Before(deadline); {
		age := e.Clock.Since(lb.UpdatedAt)
		if age >= rest || age < -rest {
			break
		}
		if err := async.Sleep(ctx, e.Clock, rest-max(age, time.Duration(0))); err != nil {
			return nil, err
		}
		again, err := e.readAgain(ctx, lb.ID)
		if err == nil && again != nil {
			again, err = e.settled(ctx, *again)
		}
		if err != nil {
			return nil, err
		}
		if again == nil || again.UpdatedAt.Equal(lb.UpdatedAt) {
			break
		}
		lb = *again
	}
	return e.Cloud.Observer.Contents(ctx, id, lb)
}

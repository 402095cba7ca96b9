package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// A driver that changes members one by one also deletes those of a pool before the pool. The load
// balancer and the pool are ACTIVE after the first of them. Until the pool is gone, a later reader
// would find a pool of a Service that has left, and keep the load balancer because of it.

// poolDeletion is an accepted deletion of a pool.
type poolDeletion struct {
	id, name string
	// members is the smallest number of members so far, until is the time by which it must decrease;
	// zero before the first poll. pausing is set before the next poll.
	members int
	until   time.Time
	pausing bool
}

// poolsGone waits until the deleted pools are gone. The error is a *ChangedError if one of them stays
// for ChildTimeout without any progress.
func (o *operations) poolsGone(ctx context.Context) error {
	for len(o.leaving) > 0 {
		if err := o.poolGone(ctx, o.leaving[0]); err != nil {
			return err
		}
		o.leaving = o.leaving[1:]
	}
	return nil
}

func (o *operations) poolGone(ctx context.Context, d *poolDeletion) error {
	lb := o.observed.LoadBalancer
	timing := o.Drivers.Timing(lb.Provider)
	return poll(ctx, o.Clock, &d.pausing, "deleted "+d.id, timing.ChildInterval, func() (done bool, err error) {
		pool, err := o.Octavia.Pool(ctx, d.id)
		switch {
		case apierror.IsNotFound(err):
			return true, nil
		case err != nil:
			return false, err
		case d.until.IsZero(), len(pool.Members) < d.members:
			d.members, d.until = len(pool.Members), o.Clock.Now().Add(timing.ChildTimeout)
		case o.Clock.Now().After(d.until):
			return false, &ChangedError{lb.ID, fmt.Sprintf("pool %s still exists after its deletion", d.name), true}
		}
		return false, nil
	})
}

// poolWait is a wait for a pool until a time; pausing is set before the next poll.
type poolWait struct {
	until   time.Time
	pausing bool
}

// poolUnlocked waits until the pool of a step is not PENDING. A driver with a queue reports the load balancer ACTIVE
// after each of its items, and a pool without a listener is not in the status tree.
func (r *Run) poolUnlocked(ctx context.Context, step plan.Step) error {
	lb, wait := r.observed.LoadBalancer, r.current.pool
	ref := poolOf(step)
	pool := ref.Find(lb)
	if ref == (plan.PoolRef{}) || pool == nil || !driver.QuirksOf(lb.Provider).MemberByMember {
		return nil
	}
	return poll(ctx, r.Clock, &wait.pausing, "pool "+pool.ID, r.Drivers.Timing(lb.Provider).ChildInterval, func() (done bool, err error) {
		now, err := r.Octavia.Pool(ctx, pool.ID)
		if err != nil {
			return true, apierror.IgnoreNotFound(err) // the step reports that it is gone
		}
		return !(model.Status{Provisioning: now.ProvisioningStatus}).Pending() || r.Clock.Now().After(wait.until), nil
	})
}

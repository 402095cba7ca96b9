package apply

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Settle reads the status of all parts of an ACTIVE load balancer until none is PENDING, and no
// removed member is left, and returns the load balancer with these statuses. The error is a
// *ChangedError if the cloud has other parts than the load balancer, and a *ChildrenError if parts
// are in ERROR, or stay PENDING for too long without any progress; the result has the statuses of
// the last read then. Any other error is that of a request or of the context, and the result is the
// unchanged load balancer. Of a driver that changes members one by one, each report is progress: it works through those
// that stay before it removes the first.
func (a *Applier) Settle(ctx context.Context, s *Settling) (*model.LoadBalancer, error) {
	timing := a.Drivers.Timing(s.lb.Provider)
	for ; ; s.after = timing.ChildInterval {
		tree, err := a.Watcher.StatusTree(ctx, s.lb.ID, s.after)
		if err != nil {
			return s.lb, err
		}
		if err := a.prolong(ctx, s, timing); err != nil {
			return s.lb, err
		}
		if lb, ended, err := a.compare(s, tree, timing); ended {
			return lb, err
		}
	}
}

// prolong moves the deadline of Settle, if it is over, for a driver that has reported something since the last time.
func (a *Applier) prolong(ctx context.Context, s *Settling, timing driver.Timing) error {
	if s.deadline.IsZero() || !a.Clock.Now().After(s.deadline) || !driver.QuirksOf(s.lb.Provider).MemberByMember {
		return nil
	}
	now, err := a.Octavia.LoadBalancerState(ctx, s.lb.ID)
	if err != nil {
		return err
	}
	if !now.UpdatedAt.Equal(s.reported) {
		s.reported, s.deadline = now.UpdatedAt, a.Clock.Now().Add(timing.ChildTimeout)
	}
	return nil
}

// NewSettling returns the initial state of Settle for a load balancer.
func NewSettling(lb *model.LoadBalancer) *Settling {
	return &Settling{lb: lb, fewest: math.MaxInt, reported: lb.UpdatedAt}
}

// Settling is the progress of Settle for a load balancer.
type Settling struct {
	lb *model.LoadBalancer
	// wrote are the changes of the run. Removed members are waited for regardless of their status:
	// only their end shows the result of the change.
	wrote written
	// members is set if only members are waited for, because the rest of a plan is still to come.
	// Members that stay PENDING for too long are not an error then.
	members bool
	// fewest is the smallest number of unsound parts so far, deadline the time by which it must
	// decrease, after the pause before the next poll. reported is the last known updated_at: see prolong.
	fewest   int
	deadline time.Time
	after    time.Duration
	reported time.Time
}

// compare returns the load balancer with the statuses of a tree. Ended is set if Settle has a
// result.
func (a *Applier) compare(s *Settling, tree *octavia.StatusTree, timing driver.Timing) (lb *model.LoadBalancer, ended bool, err error) {
	lb = s.lb.Clone()
	going := observe.TakeRemoved(tree, s.wrote.removed)
	how := observe.Compare(lb, tree)
	observe.Statuses(lb, tree)
	unsound := slices.Concat(lb.Unsound(), observe.Removed(lb, tree), going)
	if s.members {
		unsound = slices.DeleteFunc(unsound, func(c model.Child) bool { return c.Kind != model.KindMember || !c.Status.Pending() })
	}
	if len(unsound) < s.fewest { // there is progress
		s.fewest, s.deadline = len(unsound), a.Clock.Now().Add(timing.ChildTimeout)
	}
	late := a.Clock.Now().After(s.deadline)
	switch {
	case len(going) > 0 && late:
		return lb, true, &ChangedError{s.lb.ID, fmt.Sprintf("member %s still exists after its removal", going[0].Name), true}
	case len(going) > 0:
		return lb, false, nil
	case how != "":
		return lb, true, &ChangedError{s.lb.ID, how, s.wrote.batch && driver.QuirksOf(s.lb.Provider).MemberByMember}
	case len(unsound) == 0 && !lb.Status.Pending(), s.members && late:
		return lb, true, nil
	case !lb.Status.Pending() && !model.AnyPending(unsound), late:
		return lb, true, &ChildrenError{s.lb.ID, unsound}
	}
	return lb, false, nil
}

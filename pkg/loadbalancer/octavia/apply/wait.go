package apply

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// settle waits until the operation of the last change has finished.
func (r *Run) settle(ctx context.Context) error {
	if r.working == "" {
		return nil
	}
	lb := r.observed.LoadBalancer
	id, name, of := lb.ID, lb.Name, watcher.Kind{Provider: lb.Provider, Operation: r.working}
	token, err := r.wait(ctx, id, of)
	if err != nil {
		return fmt.Errorf("wait for load balancer %s (%s): %w", name, id, err)
	}
	r.working = ""
	lb.Status, lb.UpdatedAt = token.Status, token.UpdatedAt
	switch {
	case token.Gone:
		return &LoadBalancerError{id, name, "gone"}
	case token.Status.Failed():
		return &LoadBalancerError{id, name, token.Status.Provisioning}
	}
	return nil
}

// gone waits until the deleted load balancers are gone.
func (r *Run) gone(ctx context.Context) error {
	for len(r.deleting) > 0 {
		if err := r.deleted(ctx, r.deleting[0]); err != nil {
			return err
		}
		r.deleting = r.deleting[1:]
	}
	return nil
}

// deleted waits until a load balancer is gone. ACTIVE does not yet mean that the deletion was
// refused: a driver with a queue may report the end of an earlier operation. After ChildTimeout it
// does.
func (r *Run) deleted(ctx context.Context, d *deletion) error {
	timing := r.Drivers.Timing(d.provider)
	return r.poll(ctx, &d.pausing, "deleted "+d.id, timing.ChildInterval, func() (done bool, err error) {
		token, err := r.wait(ctx, d.id, watcher.Kind{Operation: watcher.Deleting})
		switch {
		case err != nil:
			return false, fmt.Errorf("wait for the end of load balancer %s: %w", d.id, err)
		case token.Gone:
			return true, nil
		case token.Status.Failed(), !d.until.IsZero() && r.Clock.Now().After(d.until):
			return false, &LoadBalancerError{ID: d.id, Status: token.Status.Provisioning + " after its deletion"}
		}
		if d.until.IsZero() {
			d.until = r.Clock.Now().Add(timing.ChildTimeout)
		}
		return false, nil
	})
}

// poll calls check until it is done or fails, with pauses in between. Pausing is true during a pause, so that the
// next call of poll goes on with it.
func (r *Run) poll(ctx context.Context, pausing *bool, what string, pause time.Duration, check func() (done bool, err error)) error {
	for {
		if !*pausing {
			if done, err := check(); done || err != nil {
				return err
			}
			*pausing = true
		}
		if err := async.Sleep(ctx, r.Clock, telemetry.Octavia, what, pause); err != nil {
			return err
		}
		*pausing = false
	}
}

// deletion is an accepted deletion of a load balancer.
type deletion struct {
	id, provider string
	// until is the time at which ACTIVE becomes an error, zero before the first poll. pausing is set
	// before the next poll.
	until   time.Time
	pausing bool
}

// verify waits until the last change has finished, and reads the status of all parts: an ACTIVE
// load balancer can have children that failed or, with ovn, are still being created.
func (r *Run) verify(ctx context.Context) error {
	if r.working == "" && !r.verifying || r.observed.LoadBalancer == nil {
		return nil
	}
	r.verifying = true
	if err := r.settle(ctx); err != nil {
		return err
	}
	if err := r.poolsGone(ctx); err != nil {
		return err
	}
	if err := r.settleChildren(ctx, false); err != nil {
		return err
	}
	r.verifying = false
	return nil
}

// settleChildren calls Settle for the load balancer of the run, or for its members only.
func (r *Run) settleChildren(ctx context.Context, members bool) error {
	if r.settling == nil {
		r.settling = NewSettling(r.observed.LoadBalancer)
		r.settling.wrote, r.settling.members = r.written, members
	}
	lb, err := r.Settle(ctx, r.settling)
	if async.IsWaiting(err) {
		return err
	}
	r.settling = nil
	if r.observed.LoadBalancer = lb; err == nil {
		if took := r.written.settled(r.Clock.Now()); took > 0 {
			r.membersTook = took
			r.Watcher.Record(watcher.Kind{Provider: lb.Provider, Operation: watcher.ChangingMembers}, took)
		}
	}
	return err
}

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

func (r *Run) wait(ctx context.Context, id string, of watcher.Kind) (watcher.Token, error) {
	r.waited = true
	timing := r.Drivers.Timing(of.Provider)
	pace := watcher.Every(map[watcher.Operation]driver.PollInterval{
		watcher.Creating: timing.Create, watcher.Updating: timing.Update, watcher.Deleting: timing.Delete, watcher.FailingOver: timing.Create,
	}[of.Operation])
	pace.Kind, pace.Pending = of, map[watcher.Operation]string{
		watcher.Creating: model.StatusPendingCreate, watcher.Updating: model.StatusPendingUpdate,
		watcher.Deleting: model.StatusPendingDelete, watcher.FailingOver: model.StatusPendingUpdate,
	}[of.Operation]
	return r.Watcher.Settled(ctx, id, pace)
}

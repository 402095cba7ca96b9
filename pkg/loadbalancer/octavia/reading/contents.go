package reading

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Progress is the progress of Contents, for one load balancer, between two calls. The zero value
// starts.
type Progress struct {
	// next is the load balancer of the last read, settled is set once it is not PENDING.
	next    *octavia.LoadBalancer
	settled bool
	// resting, again, deadline and prolonged are the progress of contentsAtRest.
	resting   bool
	again     *octavia.LoadBalancer
	deadline  time.Time
	prolonged bool
	// lb has its contents, children waits until none is PENDING.
	lb       *model.LoadBalancer
	children *apply.Settling
	done     *model.Observed
}

// Contents reads the contents of a load balancer, once it is not PENDING. The result is empty if
// the load balancer is gone. It has no children with a finished deletion.
func (r Reader) Contents(ctx context.Context, found observe.Found, scope Scope, at *Progress) (*model.Observed, error) {
	if at.next == nil {
		at.next = &found.LoadBalancers[0]
	}
	for at.done == nil {
		if err := r.inside(ctx, found, scope, at); err != nil || at.done != nil {
			return at.done, err
		}
		settled, changed, err := r.settleChildren(ctx, at)
		if err != nil {
			return nil, err
		}
		if !changed || !slices.ContainsFunc(at.lb.Unsound(), func(c model.Child) bool { return c.Status.Leaving() }) {
			at.done = &model.Observed{LoadBalancer: settled}
			break
		}
		again, err := r.again(ctx, at.lb.ID)
		if err != nil {
			return nil, err
		}
		if *at = (Progress{next: again}); again == nil {
			at.done = &model.Observed{}
		}
	}
	return at.done, nil
}

// inside waits until a load balancer is not PENDING, and reads its contents. It sets at.done if the
// load balancer is gone.
func (r Reader) inside(ctx context.Context, found observe.Found, scope Scope, at *Progress) error {
	if at.lb != nil {
		return nil
	}
	if !at.settled {
		chosen, err := r.settle(ctx, *at.next)
		if err != nil {
			return err
		}
		if chosen == nil {
			at.done = &model.Observed{}
			return nil
		}
		at.next, at.settled = chosen, true
	}
	lb, err := r.contentsOf(ctx, found.As, scope, at)
	at.lb = lb
	return err
}

func (r Reader) contentsOf(ctx context.Context, id ownership.Identity, scope Scope, at *Progress) (*model.LoadBalancer, error) {
	switch {
	case !scope.Leaving:
		return r.contentsAtRest(ctx, id, at)
	case id.Sharing.Is || !scope.Cascade:
		return r.Observer.Contents(ctx, id, *at.next)
	default:
		return r.Observer.Outline(ctx, id, *at.next, scope.Known)
	}
}

// restIntervals is the number of ChildIntervals without a change after which a load balancer is at
// rest.
const restIntervals = 5

// perMember is how long a driver that changes members one by one works at most on each of a batch: 1.1 s were
// measured, and four times as long on a busy cloud.
const perMember = 5 * time.Second

// contentsAtRest reads the contents of a load balancer, for a driver that changes members one by one
// only once it is at rest, for ChildTimeout at least and as long as a batch of all members may take. It does not wait if
// the cloud's clock differs: if a batch loses members then, the status tree shows that after the next one.
func (r Reader) contentsAtRest(ctx context.Context, id ownership.Identity, at *Progress) (*model.LoadBalancer, error) {
	lb := at.next
	if !driver.QuirksOf(lb.Provider).MemberByMember || r.Observer.Source == model.Lists {
		return r.Observer.Contents(ctx, id, *lb)
	}
	timing := r.Drivers.Timing(lb.Provider)
	if at.deadline.IsZero() {
		at.deadline = r.Clock.Now().Add(timing.ChildTimeout)
	}
	for {
		rested, err := r.rest(ctx, at, timing)
		if err != nil {
			return nil, err
		}
		if rested {
			break
		}
		var again *octavia.LoadBalancer
		if at.again != nil {
			if again, err = r.settle(ctx, *at.again); err != nil {
				return nil, err
			}
			at.again = nil
		}
		if again == nil || again.UpdatedAt.Equal(at.next.UpdatedAt.Time) {
			break
		}
		at.next = again
	}
	return r.Observer.Contents(ctx, id, *at.next)
}

// AtRest reports whether no batch can be in progress in a load balancer of a provider that was updated so long ago. It is
// true, too, if that is in the future, because the cloud's clock differs.
func (r Reader) AtRest(provider string, age time.Duration) bool {
	rest := restIntervals * r.Drivers.Timing(provider).ChildInterval
	return !driver.QuirksOf(provider).MemberByMember || age >= rest || age < -rest
}

// rest waits until a load balancer is at rest unless it changes meanwhile, and reads it again. It reports whether there was
// no need to.
func (r Reader) rest(ctx context.Context, at *Progress, timing driver.Timing) (rested bool, err error) {
	if at.again != nil {
		return false, nil
	}
	age := r.Clock.Since(at.next.UpdatedAt.Time)
	if rested, err := r.rested(ctx, at, timing, age); rested || err != nil {
		return rested, err
	}
	at.resting = true
	if err := async.Sleep(ctx, r.Clock, telemetry.Octavia, "rest "+at.next.ID, restIntervals*timing.ChildInterval-max(age, 0)); err != nil {
		return false, err
	}
	at.resting = false
	at.again, err = r.again(ctx, at.next.ID)
	return false, err
}

// rested reports whether contentsAtRest need not wait for a load balancer that was updated so long ago, or its time is
// over, which rested prolongs once.
func (r Reader) rested(ctx context.Context, at *Progress, timing driver.Timing, age time.Duration) (bool, error) {
	switch {
	case at.resting: // the wait has begun
		return false, nil
	case r.AtRest(at.next.Provider, age):
		return true, nil
	case r.Clock.Now().Before(at.deadline):
		return false, nil
	case !at.prolonged:
		tree, err := r.Watcher.StatusTree(ctx, at.next.ID, 0)
		if err != nil {
			return false, err
		}
		members := 0
		for _, listener := range tree.Listeners {
			for _, pool := range listener.Pools {
				members += len(pool.Members)
			}
		}
		at.prolonged, at.deadline = true, at.deadline.Add(max(0, time.Duration(members)*perMember-timing.ChildTimeout))
	}
	return !r.Clock.Now().Before(at.deadline), nil
}

// settleChildren waits for PENDING children of an ACTIVE load balancer, and reports whether the
// children have changed. The plan repairs children that are broken or stay PENDING. It does not
// wait for a load balancer from lists: that one is read in full before a change, with a wait.
func (r Reader) settleChildren(ctx context.Context, at *Progress) (settled *model.LoadBalancer, changed bool, err error) {
	lb := at.lb
	if r.Observer.Source == model.Lists || !lb.Status.Sound() || !model.AnyPending(lb.Unsound()) {
		return lb, false, nil
	}
	if at.children == nil {
		at.children = apply.NewSettling(lb)
	}
	settled, err = r.Settler.Settle(ctx, at.children)
	var broken *apply.ChildrenError
	var other *apply.ChangedError
	if errors.As(err, &other) { // updated_at shows other changes
		return settled, true, nil
	}
	if errors.As(err, &broken) {
		return settled, false, nil
	}
	return settled, false, err
}

// longPending is the age after which a PENDING load balancer is polled ten times less often:
// Octavia takes that long only if it has lost the operation.
const longPending = 15 * time.Minute

// settle waits until a load balancer is not PENDING, and reads it again after a wait. It returns
// nil if the load balancer is gone.
func (r Reader) settle(ctx context.Context, lb octavia.LoadBalancer) (*octavia.LoadBalancer, error) {
	status := observe.Parts{LoadBalancer: lb}.Model(ownership.Identity{}).Status
	if !status.Pending() {
		return &lb, nil
	}
	timing := r.Drivers.Timing(lb.Provider)
	interval := timing.Update
	if status.Provisioning == model.StatusPendingCreate {
		interval = timing.Create
	}
	pace := watcher.Every(interval)
	if r.Clock.Since(lb.UpdatedAt.Time) > longPending {
		pace.First, pace.Step, pace.Cap = 0, 10*pace.Cap, 10*pace.Cap
	}
	token, err := r.Watcher.Settled(ctx, lb.ID, pace)
	if err != nil || token.Gone {
		return nil, err
	}
	return r.again(ctx, lb.ID)
}

// Unchanged reports whether a load balancer still has this value of updated_at. Concurrent calls
// share a request.
func (r Reader) Unchanged(ctx context.Context, id, provider string, updatedAt time.Time) (bool, error) {
	interval := r.Drivers.Timing(provider).Update
	token, err := r.Watcher.Settled(ctx, id, watcher.Pace{First: 0, Step: interval.First, Cap: interval.Cap})
	if err != nil {
		return false, err
	}
	return !token.Gone && token.Status.Provisioning == model.StatusActive && token.UpdatedAt.Equal(updatedAt), nil
}

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
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// settle waits until nothing works on the load balancer.
func (r *run) settle(ctx context.Context) error {
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

// gone waits until the load balancers that were deleted are not there any more.
func (r *run) gone(ctx context.Context) error {
	for _, d := range r.deleting {
		if err := r.deleted(ctx, d); err != nil {
			return err
		}
	}
	r.deleting = nil
	return nil
}

// deleted waits until a load balancer is not there any more. One that is ACTIVE again is not refused: a
// driver that works on one thing after the other reports the end of what it had to do before. After
// ChildTimeout that is over.
func (r *run) deleted(ctx context.Context, d deletion) error {
	timing, again := r.Drivers.Timing(d.provider), time.Time{}
	for {
		token, err := r.wait(ctx, d.id, watcher.Kind{Operation: watcher.Deleting})
		switch {
		case err != nil:
			return fmt.Errorf("wait for the end of load balancer %s: %w", d.id, err)
		case token.Gone:
			return nil
		case token.Status.Failed(), !again.IsZero() && r.Clock.Now().After(again):
			return &LoadBalancerError{ID: d.id, Status: token.Status.Provisioning + " after its deletion"}
		}
		if again.IsZero() {
			again = r.Clock.Now().Add(timing.ChildTimeout)
		}
		if err := async.Sleep(ctx, r.Clock, timing.ChildInterval); err != nil {
			return err
		}
	}
}

// verify waits for the end of the last change and reads how everything in the
// load balancer came out of it: an ACTIVE load balancer can hold children that
// failed, or, at ovn, that are still being made.
func (r *run) verify(ctx context.Context) error {
	if r.working == "" || r.observed.LoadBalancer == nil {
		return nil
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	return r.settleChildren(ctx, false)
}

// settleChildren is Settle for the load balancer of the run, or for its members only.
func (r *run) settleChildren(ctx context.Context, members bool) error {
	lb, err := r.Applier.settleChildren(ctx, settling{r.observed.LoadBalancer, r.written, members})
	if r.observed.LoadBalancer = lb; err == nil {
		r.written.settled()
	}
	return err
}

// Settle reads the status of everything in an ACTIVE load balancer until nothing in it
// is PENDING, and no member is still being removed, and returns the load balancer with these
// statuses. The error is a *ChangedError when the cloud has other parts than the load
// balancer, and a *ChildrenError when something is in ERROR or stays PENDING for too long
// while nothing else comes to its end; the load balancer that is returned is as it was read
// last then. Otherwise the error is that of a request or of the context, and the load
// balancer is the one that was given.
func (a *Applier) Settle(ctx context.Context, lb *model.LoadBalancer) (*model.LoadBalancer, error) {
	return a.settleChildren(ctx, settling{lb: lb})
}

// settling is a load balancer whose parts come to their end.
type settling struct {
	lb *model.LoadBalancer
	// wrote is what the run has written. Members that are to be gone are waited for whatever their
	// status is: not before that is it known what the cloud has made of the change.
	wrote written
	// members is set where only members are waited for: the rest of a plan is still to come. Those
	// that stay PENDING for too long are no error then.
	members bool
}

// settleChildren is Settle.
func (a *Applier) settleChildren(ctx context.Context, s settling) (*model.LoadBalancer, error) {
	timing := a.Drivers.Timing(s.lb.Provider)
	fewest, deadline := math.MaxInt, time.Time{}
	for after := time.Duration(0); ; after = timing.ChildInterval {
		tree, err := a.Watcher.StatusTree(ctx, s.lb.ID, after)
		if err != nil {
			return s.lb, err
		}
		lb := s.lb.Clone()
		going := observe.TakeRemoved(tree, s.wrote.removed)
		how := observe.Compare(lb, tree)
		observe.Statuses(lb, tree)
		unsound := slices.Concat(lb.Unsound(), observe.Removed(lb, tree), going)
		if s.members {
			unsound = slices.DeleteFunc(unsound, func(c model.Child) bool { return c.Kind != model.KindMember || !c.Status.Pending() })
		}
		if len(unsound) < fewest { // so the cloud carries on
			fewest, deadline = len(unsound), a.Clock.Now().Add(timing.ChildTimeout)
		}
		late := a.Clock.Now().After(deadline)
		switch {
		case len(going) > 0 && late:
			return lb, &ChangedError{s.lb.ID, fmt.Sprintf("member %s is still there after its removal", going[0].Name), true}
		case len(going) > 0:
		case how != "":
			return lb, &ChangedError{s.lb.ID, how, s.wrote.batch && driver.QuirksOf(s.lb.Provider).MemberByMember}
		case len(unsound) == 0 && !lb.Status.Pending(), s.members && late:
			return lb, nil
		case !lb.Status.Pending() && !model.AnyPending(unsound), late:
			return lb, &ChildrenError{s.lb.ID, unsound}
		}
	}
}

// wait waits until a load balancer is settled.
func (r *run) wait(ctx context.Context, id string, of watcher.Kind) (watcher.Token, error) {
	if r.progress != nil {
		r.progress(r.estimate(of))
	}
	r.waited = true
	timing := r.Drivers.Timing(of.Provider)
	pace := watcher.Every(map[watcher.Operation]driver.PollInterval{
		watcher.Creating: timing.Create, watcher.Updating: timing.Update, watcher.Deleting: timing.Delete, watcher.FailingOver: timing.Create,
	}[of.Operation])
	pace.Kind, pace.Pending = of, map[watcher.Operation]string{
		watcher.Creating: octavia.StatusPendingCreate, watcher.Updating: octavia.StatusPendingUpdate,
		watcher.Deleting: octavia.StatusPendingDelete, watcher.FailingOver: octavia.StatusPendingUpdate,
	}[of.Operation]
	return r.Watcher.Settled(ctx, id, pace)
}

// estimate returns how long what is waited for, and the steps after it, usually take.
func (r *run) estimate(of watcher.Kind) time.Duration {
	left := r.Watcher.Usual(of)
	for _, step := range r.steps {
		switch step.(type) {
		case plan.CreateLoadBalancer:
			left += r.EstimateCreation(of.Provider)
		case plan.FailOver:
			left += r.Watcher.Usual(watcher.Kind{Provider: of.Provider, Operation: watcher.FailingOver})
		case plan.CreateFloatingIP, plan.AssociateFloatingIP, plan.DisassociateFloatingIP, plan.ClaimFloatingIP, plan.DeleteFloatingIP, plan.DeleteLoadBalancer:
		default:
			left += r.EstimateChange(of.Provider)
		}
	}
	return left
}

// EstimateCreation returns how long the creation of a load balancer usually takes once
// Octavia has accepted it.
func (a *Applier) EstimateCreation(provider string) time.Duration {
	return a.Watcher.Usual(watcher.Kind{Provider: provider, Operation: watcher.Creating})
}

// EstimateChange returns how long a change of one part of a load balancer usually takes.
func (a *Applier) EstimateChange(provider string) time.Duration {
	return a.Watcher.Usual(watcher.Kind{Provider: provider, Operation: watcher.Updating})
}

// EstimateDeletion returns how long a deletion usually takes.
func (a *Applier) EstimateDeletion() time.Duration {
	return a.Watcher.Usual(watcher.Kind{Operation: watcher.Deleting})
}

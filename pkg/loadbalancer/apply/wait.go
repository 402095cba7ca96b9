package apply

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

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
	lb := r.state.outline()
	id, name, of := lb.ID, lb.Name, watcher.Kind{Provider: lb.Provider, Operation: r.working}
	token, err := r.wait(ctx, id, of)
	if err != nil {
		return fmt.Errorf("wait for load balancer %s (%s): %w", name, id, err)
	}
	r.working = ""
	r.state.settled(token)
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
	for _, id := range r.deleting {
		token, err := r.wait(ctx, id, watcher.Kind{Operation: watcher.Deleting})
		switch {
		case err != nil:
			return fmt.Errorf("wait for the end of load balancer %s: %w", id, err)
		case !token.Gone:
			return &LoadBalancerError{ID: id, Status: token.Status.Provisioning + " after its deletion"}
		}
	}
	r.deleting = nil
	return nil
}

// verify waits for the end of the last change and reads how everything in the
// load balancer came out of it: an ACTIVE load balancer can hold children that
// failed, or, at ovn, that are still being made. Of a large one in which only few members
// were written, less is read where that is enough.
func (r *run) verify(ctx context.Context) error {
	if r.working == "" || r.state.outline() == nil {
		return nil
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	if r.confirmMembers(ctx) {
		return nil
	}
	return r.settleChildren(ctx)
}

// settleChildren is Settle for the load balancer of the run. Where the cloud does not show that all
// members which that does not have are as they were, it is looked at with them.
func (r *run) settleChildren(ctx context.Context) error {
	outline := r.state.outline()
	r.state.pack()
	lb, err := r.Applier.settleChildren(ctx, outline.ID, outline.Provider, r.state.known, r.state.observed.Rest)
	if errors.Is(err, errOtherRest) {
		r.state.complete()
		lb, err = r.Applier.settleChildren(ctx, outline.ID, outline.Provider, r.state.known, nil)
	}
	r.state.replace(lb)
	return err
}

// errOtherRest reports that the cloud does not show all members of a Rest, or not as they were.
var errOtherRest = errors.New("members that a round is not about are not as they were")

// Settle reads the status of everything in an ACTIVE load balancer until nothing in it
// is PENDING, and no member is still being removed, and returns the load balancer with these
// statuses. The error is a *ChangedError when the cloud has other parts than the load
// balancer, and a *ChildrenError when something is in ERROR or stays PENDING for too long
// while nothing else comes to its end; the load balancer that is returned is as it was read
// last then. Otherwise the error is that of a request or of the context, and the load
// balancer is the one that was given.
func (a *Applier) Settle(ctx context.Context, lb *model.LoadBalancer) (*model.LoadBalancer, error) {
	return a.settleChildren(ctx, lb.ID, lb.Provider, model.Pack(lb, nil).Unpack, nil)
}

// settleChildren is Settle for a load balancer that is known only while it is compared, and has other
// members beside. The error is errOtherRest, too.
func (a *Applier) settleChildren(ctx context.Context, id, provider string, known func() *model.LoadBalancer, rest *model.Rest) (*model.LoadBalancer, error) {
	timing := a.Drivers.Timing(provider)
	fewest, deadline := math.MaxInt, time.Time{}
	for after := time.Duration(0); ; after = timing.ChildInterval {
		sighting := rest.Sight()
		tree, err := a.Watcher.StatusTree(ctx, id, after, sighting.Known())
		switch {
		case err != nil:
			return known(), err
		case !sighting.All():
			return nil, errOtherRest
		}
		lb := known()
		how := observe.Compare(lb, tree)
		observe.Statuses(lb, tree)
		unsound := append(lb.Unsound(), observe.Removed(lb, tree)...)
		if len(unsound) < fewest { // so the cloud carries on
			fewest, deadline = len(unsound), a.Clock.Now().Add(timing.ChildTimeout)
		}
		switch {
		case how != "":
			return lb, &ChangedError{id, how}
		case len(unsound) == 0 && !lb.Status.Pending():
			return lb, nil
		case !lb.Status.Pending() && !model.AnyPending(unsound), a.Clock.Now().After(deadline):
			return lb, &ChildrenError{id, unsound}
		}
	}
}

// wait waits until a load balancer is settled. The run is packed meanwhile.
func (r *run) wait(ctx context.Context, id string, of watcher.Kind) (watcher.Token, error) {
	if r.progress != nil {
		r.progress(r.estimate(of))
	}
	r.state.park()
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
		case packedCreation:
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

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
	id, name, of := lb.ID, lb.Name, kind{lb.Provider, r.working}
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
		token, err := r.wait(ctx, id, kind{operation: deleting})
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

// wait waits until a load balancer is settled, with intervals that follow from the last
// such waits. The run is packed meanwhile.
func (r *run) wait(ctx context.Context, id string, of kind) (watcher.Token, error) {
	if r.progress != nil {
		r.progress(r.estimate(of))
	}
	r.state.park()
	timing := r.Drivers.Timing(of.provider)
	given := watcher.Every(map[operation]driver.PollInterval{creating: timing.Create, updating: timing.Update, deleting: timing.Delete, failingOver: timing.Create}[of.operation])
	given.Pending = map[operation]string{
		creating: octavia.StatusPendingCreate, updating: octavia.StatusPendingUpdate, deleting: octavia.StatusPendingDelete, failingOver: octavia.StatusPendingUpdate,
	}[of.operation]
	began := r.Clock.Now()
	token, err := r.Watcher.Settled(ctx, id, r.durations.intervals(of, given))
	if err == nil && !token.Status.Failed() {
		took := sample{done: r.Clock.Since(began)}
		if !token.PendingAt.IsZero() {
			took.pending = token.PendingAt.Sub(began)
		}
		r.durations.observe(of, took)
	}
	return token, err
}

// estimate returns how long what is waited for, and the steps after it, usually take.
func (r *run) estimate(of kind) time.Duration {
	left := r.durations.estimate(of)
	for _, step := range r.steps {
		switch step.(type) {
		case packedCreation:
			left += r.durations.estimate(kind{of.provider, creating})
		case plan.FailOver:
			left += r.durations.estimate(kind{of.provider, failingOver})
		case plan.CreateFloatingIP, plan.AssociateFloatingIP, plan.DisassociateFloatingIP, plan.ClaimFloatingIP, plan.DeleteFloatingIP, plan.DeleteLoadBalancer:
		default:
			left += r.durations.estimate(kind{of.provider, updating})
		}
	}
	return left
}

// Package apply carries out plans. It alone writes to the cloud, waits and tries
// again. Every step can be repeated: after a failure anywhere, the plan made from
// what is then there goes on.
package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Octavia is what apply asks of the load balancer service.
type Octavia interface {
	CreateLoadBalancer(ctx context.Context, opts loadbalancers.CreateOptsBuilder) (*octavia.LoadBalancer, error)
	UpdateLoadBalancer(ctx context.Context, id string, opts loadbalancers.UpdateOptsBuilder) error
	DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error
	CreateListener(ctx context.Context, opts listeners.CreateOpts) (*listeners.Listener, error)
	UpdateListener(ctx context.Context, id string, opts listeners.UpdateOptsBuilder) (*listeners.Listener, error)
	DeleteListener(ctx context.Context, id string) error
	CreatePool(ctx context.Context, opts pools.CreateOptsBuilder) (*pools.Pool, error)
	UpdatePool(ctx context.Context, id string, opts pools.UpdateOptsBuilder) error
	DeletePool(ctx context.Context, id string) error
	CreateMonitor(ctx context.Context, opts monitors.CreateOpts) (*monitors.Monitor, error)
	UpdateMonitor(ctx context.Context, id string, opts monitors.UpdateOptsBuilder) error
	DeleteMonitor(ctx context.Context, id string) error
	SetMembers(ctx context.Context, poolID string, members []pools.CreateMemberOpts, additive bool) error
	AddMember(ctx context.Context, poolID string, member pools.CreateMemberOpts) (*pools.Member, error)
	UpdateMember(ctx context.Context, poolID, memberID string, opts pools.UpdateMemberOptsBuilder) error
	RemoveMember(ctx context.Context, poolID, memberID string) error
	StatusTree(ctx context.Context, loadBalancerID string) (*octavia.StatusTree, error)
}

// Neutron is what apply asks of the network service.
type Neutron interface {
	CreateFloatingIP(ctx context.Context, opts floatingips.CreateOpts) (*floatingips.FloatingIP, error)
	UpdateFloatingIP(ctx context.Context, id string, opts floatingips.UpdateOpts) (*floatingips.FloatingIP, error)
	DeleteFloatingIP(ctx context.Context, id string) error
}

// Applier carries out plans.
type Applier struct {
	Octavia  Octavia
	Neutron  Neutron
	Observer *observe.Observer
	Watcher  *watcher.Watcher
	Clock    clock.WithTicker
	// Drivers have the timing of each provider.
	Drivers *driver.Registry

	experience experience
}

// LoadBalancerError tells that a load balancer went into ERROR, or away, while
// it was being changed.
type LoadBalancerError struct {
	ID, Name, Status string
}

// Error implements error.
func (e *LoadBalancerError) Error() string {
	return fmt.Sprintf("load balancer %s (%s) is %s", e.Name, e.ID, e.Status)
}

// ChildrenError tells that a load balancer is ACTIVE, but parts of it did not
// become what they were asked to be.
type ChildrenError struct {
	ID       string
	Children []model.Child
}

// Error implements error.
func (e *ChildrenError) Error() string {
	const most = 3
	var parts []string
	for _, c := range e.Children[:min(most, len(e.Children))] {
		parts = append(parts, fmt.Sprintf("%s %s is %s", c.Kind, c.Name, c.Status.Provisioning))
	}
	if more := len(e.Children) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("load balancer %s is ACTIVE, but %s", e.ID, strings.Join(parts, ", "))
}

// ChangedError tells that a load balancer has other parts, after a change of ours, than
// that change has left: somebody else was at it too. It must be read anew.
type ChangedError struct {
	ID, How string
}

// Error implements error.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("load balancer %s was changed by somebody else at the same time: %s", e.ID, e.How)
}

// RefusedError tells that the provider does not have what a step asks for (501).
type RefusedError struct {
	Step plan.Step
	Err  error
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap gives the answer of the cloud.
func (e *RefusedError) Unwrap() error { return e.Err }

// UnsureCreationError tells that nobody knows whether a load balancer is being made:
// its creation had no answer, and it is not there so far.
type UnsureCreationError struct{ Err error }

// Error implements error.
func (e *UnsureCreationError) Error() string { return e.Err.Error() }

// Unwrap gives what there was in place of an answer.
func (e *UnsureCreationError) Unwrap() error { return e.Err }

// FullCreateError tells that a load balancer with contents was refused, for what is
// in it as it seems, after the port of its VIP was made: Octavia leaves that behind,
// at each try. One that is made empty has a port that goes with it.
type FullCreateError struct {
	Step plan.CreateLoadBalancer
	Err  error
}

// Error implements error.
func (e *FullCreateError) Error() string { return e.Err.Error() }

// Unwrap gives the answer of the cloud.
func (e *FullCreateError) Unwrap() error { return e.Err }

// run is one plan being carried out.
type run struct {
	*Applier
	id       ownership.Identity
	observed *model.Observed
	// working is what is waited for after the last change; empty when nothing works
	// on the load balancer.
	working operation
	// answered is the listener that the last change of one made of it.
	answered *listeners.Listener
	// made is the ID of what the last step made in a load balancer.
	made string
	// deleting are load balancers that are going away.
	deleting []string
	// left are the steps that come after what is waited for.
	left []plan.Step
}

// Run carries out a plan and changes observed along with the cloud. When it
// succeeds, observed is what the cloud has; after an error the cloud must be read
// anew.
func (a *Applier) Run(ctx context.Context, id ownership.Identity, observed *model.Observed, p plan.Plan) error {
	r := &run{Applier: a, id: id, observed: observed}
	logger := klog.FromContext(ctx)
	for i, step := range p.Steps {
		r.left = p.Steps[i:]
		text := message.Truncate(step.String(), message.MaxEvent)
		logger.V(2).Info("Changing the cloud", "step", text)
		r.made = ""
		err := r.do(ctx, step)
		if apierror.IsUnsupported(err) {
			return &RefusedError{step, err}
		}
		if err != nil {
			return err
		}
		logger.V(1).Info("Changed the cloud", append([]any{"step", text}, r.ids(step)...)...)
	}
	r.left = nil
	if err := r.gone(ctx); err != nil {
		return err
	}
	return r.verify(ctx)
}

// ids are the IDs of what a step has changed or made, for the log.
func (r *run) ids(step plan.Step) []any {
	var all []any
	lb := r.observed.LoadBalancer
	switch s := step.(type) {
	case plan.DeleteLoadBalancer:
		return []any{"loadBalancer", s.ID}
	case plan.DisassociateFloatingIP:
		all = append(all, "floatingIP", s.ID)
	case plan.DeleteFloatingIP:
		all = append(all, "floatingIP", s.ID)
	case plan.CreateFloatingIP, plan.AssociateFloatingIP, plan.MoveFloatingIP:
		if lb != nil && lb.FloatingIP != nil {
			all = append(all, "floatingIP", lb.FloatingIP.ID)
		}
	}
	if lb != nil {
		all = append(all, "loadBalancer", lb.ID)
	}
	if r.made != "" {
		all = append(all, "made", r.made)
	}
	return all
}

// do carries out one step. When somebody else holds the load balancer, it waits
// for the end of that and tries again.
func (r *run) do(ctx context.Context, step plan.Step) error {
	const tries = 5
	for try := 1; ; try++ {
		if err := r.ready(ctx, step); err != nil {
			return err
		}
		err := r.once(ctx, step)
		if err == nil || !apierror.IsLocked(err) || try == tries {
			return err
		}
		if err := r.unlocked(ctx, step); err != nil {
			return err
		}
	}
}

// ready waits until the cloud can take a step: one change of a load balancer at a
// time. Floating IPs need not wait for it.
func (r *run) ready(ctx context.Context, step plan.Step) error {
	switch s := step.(type) {
	case plan.MoveFloatingIP:
		return r.verify(ctx)
	case plan.CreateFloatingIP, plan.AssociateFloatingIP, plan.DisassociateFloatingIP, plan.DeleteFloatingIP:
		return nil
	case plan.DeleteLoadBalancer:
		if s.Succeeded {
			return r.verify(ctx)
		}
		if s.Cascade {
			return nil
		}
		return r.settle(ctx) // the last of its children must be gone
	case plan.CreateLoadBalancer:
		return r.gone(ctx)
	}
	fresh := r.working == creating
	if err := r.settle(ctx); err != nil || !fresh || !driver.QuirksOf(r.observed.LoadBalancer.Provider).ActiveBeforeChildren {
		return err
	}
	return r.Settle(ctx, r.observed.LoadBalancer)
}

// unlocked waits for the end of a change that somebody else makes.
func (r *run) unlocked(ctx context.Context, step plan.Step) error {
	if s, ok := step.(plan.DeleteLoadBalancer); ok {
		_, err := r.Watcher.Settled(ctx, s.ID, watcher.Every(r.Drivers.Timing("").Update))
		return err
	}
	r.working = updating
	return r.settle(ctx)
}

// settle waits until nothing works on the load balancer.
func (r *run) settle(ctx context.Context) error {
	if r.working == "" {
		return nil
	}
	lb := r.observed.LoadBalancer
	r.tell(ctx, kind{lb.Provider, r.working})
	token, err := r.wait(ctx, lb.ID, kind{lb.Provider, r.working})
	if err != nil {
		return fmt.Errorf("wait for load balancer %s (%s): %w", lb.Name, lb.ID, err)
	}
	r.working = ""
	lb.Status, lb.UpdatedAt = token.Status, token.UpdatedAt
	switch {
	case token.Gone:
		return &LoadBalancerError{lb.ID, lb.Name, "gone"}
	case token.Status.Failed():
		return &LoadBalancerError{lb.ID, lb.Name, token.Status.Provisioning}
	}
	return nil
}

// gone waits until the load balancers that were deleted are not there any more.
func (r *run) gone(ctx context.Context) error {
	for _, id := range r.deleting {
		r.tell(ctx, kind{operation: deleting})
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
// failed, or, at ovn, that are still being made.
func (r *run) verify(ctx context.Context) error {
	if r.working == "" || r.observed.LoadBalancer == nil {
		return nil
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	return r.Settle(ctx, r.observed.LoadBalancer)
}

// Settle reads the status of everything in an ACTIVE load balancer until nothing
// in it is PENDING. It is a *ChangedError when there are other parts than the model
// has, and a *ChildrenError when something is in ERROR, or stays PENDING for ever.
func (a *Applier) Settle(ctx context.Context, lb *model.LoadBalancer) error {
	timing := a.Drivers.Timing(lb.Provider)
	deadline := a.Clock.Now().Add(timing.ChildTimeout)
	for {
		tree, err := a.Octavia.StatusTree(ctx, lb.ID)
		if err != nil {
			return err
		}
		how := observe.Compare(lb, tree)
		observe.Statuses(lb, tree)
		unsound := lb.Unsound()
		switch {
		case how != "":
			return &ChangedError{lb.ID, how}
		case len(unsound) == 0 && !lb.Status.Pending():
			return nil
		case !lb.Status.Pending() && !model.AnyPending(unsound), a.Clock.Now().After(deadline):
			return &ChildrenError{lb.ID, unsound}
		}
		if err := a.sleep(ctx, timing.ChildInterval); err != nil {
			return err
		}
	}
}

func (a *Applier) sleep(ctx context.Context, d time.Duration) error {
	timer := a.Clock.NewTimer(d)
	defer timer.Stop()
	defer async.Yield(ctx)()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// errUnfound tells that a creation without an answer has left nothing so far.
var errUnfound = errors.New("OpenStack gave no answer, and what was to be created is not there so far: it is looked for again before the next attempt")

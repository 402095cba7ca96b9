package apply

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/tracing"
)

// Run is one plan being carried out: its state between two calls of Applier.Continue.
type Run struct {
	*Applier
	id ownership.Identity
	// observed is what the cloud has, as far as the run knows.
	observed model.Observed
	// steps are those that are not done yet.
	steps []plan.Step
	// working is what the last change has begun in the load balancer; empty when
	// nothing works on it.
	working watcher.Operation
	// written are the members that were written since the load balancer was read.
	written written
	// deleting are load balancers that are going away.
	deleting []deletion
	// waited is set where the cloud has taken its time since the load balancers were read.
	waited bool
	// made is the ID of what the last step made in a load balancer, updated the listener
	// as Octavia answered it.
	made    string
	updated *listeners.Listener

	// Where the first of steps waits: tried counts its refused requests, sending is set from its request on,
	// held while another client holds the load balancer.
	tried         int
	sending, held bool
	span          *span // of the request; nil: none is being sent
	// created is set from the end of a creation until its parts are settled, verifying until the last change is.
	created, verifying bool
	// settling is the state of settleChildren, deletion that of deleted.
	settling *Settling
	deletion deletionWait
	// lost is a creation without an answer, lostFloatingIP that of a floating IP; nil: none is.
	lost           *lostCreation
	lostFloatingIP error
}

// deletion is a load balancer whose deletion the cloud has accepted.
type deletion struct{ id, provider string }

// NewRun returns a Run that has done nothing. It does not change the request.
func NewRun(req Request) *Run {
	return &Run{id: req.ID, observed: req.Observed.Clone(), steps: req.Plan.Steps, waited: req.Later}
}

// all carries out all steps, and waits until the cloud is done with them.
func (r *Run) all(ctx context.Context) (err error) {
	ctx, end := tracing.Start(ctx, "apply")
	defer func() { end(async.Failure(err)) }()
	for len(r.steps) > 0 {
		if err := r.next(ctx); err != nil {
			return err
		}
	}
	if err := r.gone(ctx); err != nil {
		return err
	}
	return r.verify(ctx)
}

// next carries out one step. When another client holds the load balancer, it waits for
// the end of that and tries again.
func (r *Run) next(ctx context.Context) error {
	const tries = 5
	for {
		if err := r.prepare(ctx); err != nil {
			return err
		}
		err := r.send(ctx, r.steps[0])
		s, failsOver := r.steps[0].(plan.FailOver)
		switch {
		case async.IsWaiting(err):
			return err
		case err == nil:
			r.steps, r.tried, r.sending = r.steps[1:], 0, false
			return nil
		case failsOver && apierror.IsLocked(err): // it is not in ERROR any more
			return &ChangedError{ID: s.ID, How: "something else is being done to bring it out of ERROR"}
		case apierror.IsUnsupported(err), failsOver && apierror.IsForbidden(err), refusedAsSuch(r.steps[0], err):
			return &RefusedError{r.steps[0], err}
		case !apierror.IsLocked(err) || !r.holdable(r.steps[0]) || r.tried == tries-1:
			return err
		}
		r.observed.Contended = true
		r.tried++
		r.held, r.sending = true, false
	}
}

// prepare waits until the next step can be sent.
func (r *Run) prepare(ctx context.Context) error {
	if r.sending {
		return nil
	}
	if r.held {
		if err := r.unlocked(ctx, r.steps[0]); err != nil {
			return err
		}
		r.held = false
	}
	if err := r.ready(ctx, r.steps[0]); err != nil {
		return err
	}
	if err := r.stillOurs(ctx, r.steps[0], r.tried > 0); err != nil {
		return err
	}
	r.sending = true
	return nil
}

// refusedAsSuch reports whether the refusal of a step that single requests can do instead may be about
// the kind of its request. Single requests for members are refused again where it is not, which says
// what it is about; of a load balancer they would leave a part.
func refusedAsSuch(step plan.Step, err error) bool {
	switch s := step.(type) {
	case plan.SetMembers:
		return apierror.IsNoRoute(err) || apierror.IsForbidden(err) || apierror.IsInvalid(err)
	case plan.CreateLoadBalancer:
		return len(s.LoadBalancer.Listeners) > 0 && apierror.IsNoRoute(err)
	}
	return false
}

// send sends one step, and logs it.
func (r *Run) send(ctx context.Context, step plan.Step) error {
	if r.span == nil {
		with, end := tracing.Step(ctx, r.Clock, message.Truncate(step.String(), message.MaxEvent))
		r.span = &span{with, end}
	}
	r.made = ""
	err := r.once(r.span.ctx, step) //nolint:contextcheck // the same context, in the span of the step
	if !async.IsWaiting(err) {
		r.span.end(err, r.ids(step)...)
		r.span = nil
	}
	return err
}

// span is the span of a step, which may wait after its request.
type span struct {
	ctx context.Context
	end func(err error, values ...any)
}

// ids returns the IDs of what a step has changed or made, for the log.
func (r *Run) ids(step plan.Step) []any {
	var all []any
	lb := r.observed.LoadBalancer
	switch s := step.(type) {
	case plan.DeleteLoadBalancer:
		return []any{"loadBalancer", s.ID}
	case plan.DisassociateFloatingIP:
		all = append(all, "floatingIP", s.ID)
	case plan.DeleteFloatingIP:
		all = append(all, "floatingIP", s.ID)
	case plan.CreateFloatingIP, plan.AssociateFloatingIP, plan.MoveFloatingIP, plan.ClaimFloatingIP:
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

// ready waits until the cloud can take a step: one change of a load balancer at a
// time. Floating IPs need not wait for it.
func (r *Run) ready(ctx context.Context, step plan.Step) error {
	switch s := step.(type) {
	case plan.MoveFloatingIP:
		return r.verify(ctx)
	case plan.CreateFloatingIP, plan.AssociateFloatingIP, plan.DisassociateFloatingIP, plan.ClaimFloatingIP, plan.DeleteFloatingIP:
		return nil
	case plan.DeleteLoadBalancer:
		if s.Replaced {
			return r.verify(ctx)
		}
		if s.Cascade {
			return nil
		}
		return r.settle(ctx) // the last of its children must be gone
	case plan.CreateLoadBalancer:
		return r.gone(ctx)
	}
	r.created = r.created || r.working == watcher.Creating
	if err := r.settle(ctx); err != nil {
		return err
	}
	quirks := driver.QuirksOf(r.observed.LoadBalancer.Provider)
	switch {
	case r.created && quirks.ActiveBeforeChildren:
		if err := r.settleChildren(ctx, false); err != nil {
			return err
		}
		r.created = false
		return nil
	case r.written.batch && quirks.MemberByMember:
		return r.settleChildren(ctx, true)
	}
	return nil
}

// holdable reports whether there is a load balancer that another client can hold: a cloud may
// answer as if there were one to what makes the first.
func (r *Run) holdable(step plan.Step) bool {
	_, deletes := step.(plan.DeleteLoadBalancer)
	return deletes || r.observed.LoadBalancer != nil
}

// unlocked waits for the end of a change that another client makes.
func (r *Run) unlocked(ctx context.Context, step plan.Step) error {
	if s, ok := step.(plan.DeleteLoadBalancer); ok {
		_, err := r.Watcher.Settled(ctx, s.ID, watcher.Every(r.Drivers.Timing("").Update))
		return err
	}
	r.working = watcher.Updating
	return r.settle(ctx)
}

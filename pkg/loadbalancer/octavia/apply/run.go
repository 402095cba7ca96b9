package apply

import (
	"context"
	"slices"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Run is the progress of a plan between two calls of Applier.Continue.
type Run struct {
	*cloud
	// steps are the remaining steps, current is the progress of the first one.
	steps   []plan.Step
	current current
	// operations are those of the steps before.
	operations *operations
	// These apply the steps.
	creation    creation
	parts       parts
	vips        vips
	floatingIPs floatingIPs
}

// cloud is the access of a run to OpenStack, with its knowledge of it. All parts of a run share one.
type cloud struct {
	*Applier
	id ownership.Identity
	// observed is the state of the cloud, as far as known.
	observed model.Observed
}

// current is the progress of a step.
type current struct {
	// tried counts its refused requests, sending is set once it is being sent, held while another
	// client holds the load balancer.
	tried         int
	sending, held bool
	// pool is the wait for the pool of a refused request; nil: there is none.
	pool *poolWait
	// span is that of its request; nil: none is being sent.
	span *span
}

// NewRun returns a Run at its beginning. It does not change the request.
func NewRun(req Request) *Run {
	c := &cloud{id: req.ID, observed: req.Observed.Clone()}
	began := &operations{cloud: c, waited: req.Later}
	return &Run{
		cloud: c, steps: req.Plan.Steps, operations: began,
		creation: creation{cloud: c}, parts: parts{c, began}, vips: vips{cloud: c}, floatingIPs: floatingIPs{cloud: c},
	}
}

// MembersTook returns how long the driver worked on the members of a pool on average, 0 if it has finished no change.
func (r *Run) MembersTook() time.Duration { return r.operations.membersTook }

// all applies all steps, and waits until the cloud has finished them.
func (r *Run) all(ctx context.Context) (err error) {
	ctx, end := telemetry.Span(ctx, "apply")
	defer func() { end(async.Failure(err)) }()
	for len(r.steps) > 0 {
		if err := r.next(ctx); err != nil {
			return err
		}
	}
	if err := r.operations.gone(ctx); err != nil {
		return err
	}
	return r.operations.verify(ctx)
}

// next applies one step. If another client holds the load balancer, it waits until that has
// finished, and tries again.
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
			r.steps, r.current = r.steps[1:], current{}
			return nil
		case failsOver && apierror.IsLocked(err): // it is no longer in ERROR
			return &ChangedError{ID: s.ID, How: "something else is being done to bring it out of ERROR"}
		case apierror.IsUnsupported(err), failsOver && apierror.IsForbidden(err), refusedAsSuch(r.steps[0], err), r.overQuota(err):
			return &RefusedError{r.steps[0], err}
		case !apierror.IsLocked(err) || !r.holdable(r.steps[0]) || r.current.tried == tries-1:
			return err
		}
		r.observed.Contended = true
		r.current.tried++
		r.current.held, r.current.sending = true, false
	}
}

// prepare waits until the next step can be sent.
func (r *Run) prepare(ctx context.Context) error {
	if r.current.sending {
		return nil
	}
	if r.current.held {
		if err := r.unlocked(ctx, r.steps[0]); err != nil {
			return err
		}
		r.current.held = false
	}
	if err := r.operations.ready(ctx, r.steps[0]); err != nil {
		return err
	}
	if err := r.stillOurs(ctx, r.steps[0], r.current.tried > 0); err != nil {
		return err
	}
	r.current.sending = true
	return nil
}

// refusedAsSuch reports whether a step may be refused because of the kind of its request, so that
// single requests can replace it. If the cause is another, single requests for members get a
// refusal that names it; for a load balancer they would leave parts.
func refusedAsSuch(step plan.Step, err error) bool {
	switch s := step.(type) {
	case plan.SetMembers:
		return apierror.IsNoRoute(err) || apierror.IsForbidden(err) || apierror.IsInvalid(err)
	case plan.CreateLoadBalancer:
		return len(s.LoadBalancer.Listeners) > 0 && apierror.IsNoRoute(err)
	}
	return false
}

// overQuota reports whether a quota has refused a new member of a pool from which others are removed afterwards: a batch
// may do both within the quota.
func (r *Run) overQuota(err error) bool {
	add, is := r.steps[0].(plan.AddMember)
	return is && apierror.IsQuota(err) && driver.QuirksOf(r.observed.LoadBalancer.Provider).MemberByMember &&
		slices.ContainsFunc(r.steps, func(step plan.Step) bool {
			remove, is := step.(plan.RemoveMember)
			return is && remove.Pool == add.Pool
		})
}

func (r *Run) send(ctx context.Context, step plan.Step) error {
	if r.current.span == nil {
		with, end := telemetry.Step(ctx, r.Clock, message.Truncate(step.String(), message.MaxEvent))
		r.current.span = &span{with, end}
	}
	created, err := r.once(r.current.span.ctx, step) //nolint:contextcheck // the same context, in the span of the step
	if !async.IsWaiting(err) {
		r.current.span.end(err, r.ids(step, created)...)
		r.current.span = nil
	}
	return err
}

// span is the span of a step, which may wait after its request.
type span struct {
	ctx context.Context
	end func(err error, values ...any)
}

// ids returns the IDs of the objects that a step has changed or created, for the log; created is "" for none.
func (r *Run) ids(step plan.Step, created string) []any {
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
	if created != "" {
		all = append(all, "made", created)
	}
	return all
}

// holdable reports whether there is a load balancer that another client can hold: a cloud may
// answer so even to the first creation.
func (r *Run) holdable(step plan.Step) bool {
	_, deletes := step.(plan.DeleteLoadBalancer)
	return deletes || r.observed.LoadBalancer != nil
}

// unlocked waits until another client's change, or an earlier one in the queue of the driver, has finished.
func (r *Run) unlocked(ctx context.Context, step plan.Step) error {
	if s, ok := step.(plan.DeleteLoadBalancer); ok {
		_, err := r.Watcher.Settled(ctx, s.ID, watcher.Every(r.Drivers.Timing("").Update))
		return err
	}
	if r.current.pool == nil {
		r.operations.working = watcher.Updating
		if err := r.operations.settle(ctx); err != nil {
			return err
		}
		r.current.pool = &poolWait{until: r.Clock.Now().Add(r.Drivers.Timing(r.observed.LoadBalancer.Provider).ChildTimeout)}
	}
	if err := r.poolUnlocked(ctx, step); err != nil {
		return err
	}
	r.current.pool = nil
	return nil
}

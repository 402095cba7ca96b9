package loadbalancer

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/tracing"
)

// maxAttempts is how often a plan is applied in one round. A plan can leave something for
// the next one: parts that failed, members that did not fit into a creation.
const maxAttempts = 4

// ErrGoesOn is returned by Ensure where the load balancer is being created by itself, and
// Options.Ended is called at the end.
var ErrGoesOn = dispatch.ErrGoesOn

// IsRefusal reports whether an error of a call means that the Service is refused: it requests
// what is not possible until it, the configuration or the cloud changes.
func IsRefusal(err error) bool { return refusal.Reason(err) != "" }

// ErrNoLoadBalancer is returned where there is nothing to bring up to date, and nothing may
// be created.
var ErrNoLoadBalancer = errors.New("the Service has no load balancer yet: the service controller creates it")

// reconcile makes the cloud what a goal says. It is the one way through the engine, for
// Services that are created, changed, followed, repaired and deleted, and returns the status
// to publish. Where the goal is reached already, as far as is known, that is no request.
func (r *Reconciler) reconcile(ctx context.Context, g goal.Goal, req dispatch.Request) (status *v1.LoadBalancerStatus, err error) {
	if tracing.Recording(ctx) {
		g = traced{g}
	}
	var lock async.Guard
	defer lock.Release()
	var round goal.Round
	defer func() { r.distrust(req, round, err) }()
	known, err := g.Recall(ctx, &lock)
	r.options.Metrics.began(known, err)
	if err != nil || known.Status != nil {
		return known.Status, err
	}
	round = goal.Begin(known)
	for attempt := 1; ; attempt++ {
		todo, reported, err := r.next(ctx, g, &round, &lock, req, attempt == 1)
		switch {
		case err != nil:
			return nil, err
		case arrived(round, todo):
			return g.Commit(ctx, round, reported, &lock)
		case attempt > maxAttempts:
			return nil, notConverged(round, todo)
		}
		round.Broken = nil
		complete := reported.Empty() && todo.ChangesOnlyMembers()
		downgraded, err := r.apply(ctx, g, &round, todo, req)
		if err != nil {
			return nil, err
		}
		switch {
		case downgraded:
			attempt-- // the same again, with requests that the provider takes
		case complete && round.HasMembers(g.Inputs()):
			return g.Commit(ctx, round, reported, &lock)
		}
	}
}

// next returns what an attempt is to do, and what is only reported instead. The first attempt
// begins with the goal, and announces what may be done.
func (r *Reconciler) next(ctx context.Context, g goal.Goal, round *goal.Round, lock *async.Guard, req dispatch.Request, first bool) (todo, reported plan.Plan, err error) {
	if todo, err = r.plan(ctx, g, round, lock); err != nil {
		return todo, reported, err
	}
	if first {
		if round.Groups, round.Report, err = g.Begin(ctx, *round, todo); err != nil {
			return todo, reported, err
		}
	}
	todo, reported = round.Report.Split(todo)
	if err := mayCreate(ctx, req, *round, todo); err != nil {
		return todo, reported, err
	}
	if first {
		g.Announce(*round, todo, reported)
	}
	return todo, reported, nil
}

// arrived reports whether nothing is to be done any more, or all of it is only reported.
func arrived(round goal.Round, todo plan.Plan) bool {
	return round.Report.All() || todo.Empty() && len(round.Groups.Open) == 0
}

// distrust has the cloud read next time, after a round that ended halfway.
func (r *Reconciler) distrust(req dispatch.Request, round goal.Round, err error) {
	if err != nil && (round.Wrote || refusal.Reason(err) == "") {
		r.store.DropApplied(req.Service.UID)
	}
}

// plan observes what there is, if that is not known, and compares it with what is desired.
// Before anything is changed, what is only known is verified.
func (r *Reconciler) plan(ctx context.Context, g goal.Goal, round *goal.Round, lock *async.Guard) (plan.Plan, error) {
	for {
		if err := r.compareWith(ctx, g, round, lock); err != nil {
			return plan.Plan{}, err
		}
		todo, err := g.Plan(ctx, *round)
		if err != nil || round.Have.Current || todo.Empty() {
			if err == nil && round.Interfered {
				round.Interfered = false
				r.engine().Events.DriftReverted(g.Inputs().Service, state.ReasonChanged, events.Summary(todo.Steps))
			}
			return todo, err
		}
		same, err := r.engine().Unchanged(ctx, round.Have)
		if err != nil {
			return plan.Plan{}, err
		}
		if !same {
			round.Forget()
			continue
		}
		have, another, err := r.engine().Verify(ctx, g, *round)
		have.Current = true
		if round.Have = have; err != nil || !another {
			return todo, err
		}
	}
}

// compareWith makes the two sides of a plan known.
func (r *Reconciler) compareWith(ctx context.Context, g goal.Goal, round *goal.Round, lock *async.Guard) (err error) {
	if round.Have.Observed == nil {
		if round.Have, err = g.Observe(ctx, lock); err != nil {
			return err
		}
	}
	if round.Before == nil {
		round.Before = state.VersionOf(round.Have.LoadBalancer)
	}
	if basis := goal.BasisOf(g.Inputs(), round.Have.LoadBalancer); round.Want == nil || round.Want.Basis != basis {
		if round.Want, err = g.Desire(ctx, *round); err != nil {
			return err
		}
	}
	return nil
}

// mayCreate is ErrNoLoadBalancer where a plan makes what the request may not, right before that is
// announced and done.
func mayCreate(ctx context.Context, req dispatch.Request, round goal.Round, todo plan.Plan) error {
	if arrived(round, todo) || !todo.Creates() && !round.Groups.Creates() {
		return nil
	}
	may, err := req.MayCreate(ctx)
	if err == nil && !may {
		err = ErrNoLoadBalancer
	}
	return err
}

// apply carries out a plan. What it leaves, also by parts that fail, is the next plan's. It
// reports whether the provider has refused what can be done in another way.
func (r *Reconciler) apply(ctx context.Context, g goal.Goal, round *goal.Round, todo plan.Plan, req dispatch.Request) (downgraded bool, err error) {
	if err := g.Prepare(ctx, *round, todo); err != nil {
		return false, err
	}
	if err := r.engine().Groups.Open(ctx, round.Groups.Task); err != nil {
		return false, err
	}
	request := apply.Request{
		ID: g.Owner(*round), Observed: *round.Have.Observed, Plan: todo, Later: round.Wrote, Progress: req.Progress,
	}
	r.engine().BeginChange(g.Inputs(), round, todo)
	deletes := round.Want.LoadBalancer == nil
	observed, err := r.engine().Cloud.Applier.Run(ctx, request)
	round.Have.Observed = &observed
	r.engine().EndChange(g.Inputs(), observed, err)
	var changed *apply.ChangedError
	var broken *apply.ChildrenError
	switch {
	case err == nil:
	case errors.As(err, &changed):
		klog.FromContext(ctx).Info("Reading the load balancer anew", "cause", changed.Error())
		round.Forget()
		round.Interfered = !deletes && !changed.ByDriver // where nothing is to be left, nothing is reverted
	case errors.As(err, &broken):
		round.Broken = broken
		klog.FromContext(ctx).Info("Repairing parts of the load balancer", "cause", broken.Error())
	case r.engine().Downgrade(ctx, g.Inputs(), round, observed, err):
		round.Forget()
		return true, nil
	default:
		return false, r.engine().Explain(g.Inputs(), r.engine().Tried(round, err))
	}
	return false, nil
}

// notConverged names the parts that stay broken, else the first step that is still to be done.
func notConverged(round goal.Round, todo plan.Plan) error {
	if broken := round.Broken; broken != nil && !broken.Pending() {
		return broken
	}
	var next fmt.Stringer
	if len(todo.Steps) > 0 {
		next = todo.Steps[0]
	} else {
		next = round.Groups.Open[0]
	}
	return fmt.Errorf("OpenStack does not have what the Service asks for after %d attempts; the next step would be: %s; "+
		"what exists goes on and it is tried again; if that stays so, ask the cluster's operator", maxAttempts, next)
}

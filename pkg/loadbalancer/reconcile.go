package loadbalancer

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// maxAttempts is the maximum number of plans in a round. A plan can leave work for the next one:
// failed parts, members that did not fit into a creation.
const maxAttempts = 4

// ErrInProgress is returned by Ensure if the round continues in the background; Options.Ended is called
// at its end.
var ErrInProgress = dispatch.ErrInProgress

// IsRefusal reports whether an error means that the Service is refused: its settings are not
// possible until it, the configuration or the cloud changes.
func IsRefusal(err error) bool { return refusal.Reason(err) != "" }

// ErrNoLoadBalancer is returned if there is no load balancer to update, and none may be created.
var ErrNoLoadBalancer = errors.New("the Service has no load balancer yet: the service controller creates it")

// pursuit is the progress of a round towards one goal.
type pursuit struct {
	goal goal.Goal
	lock async.Guard
	// known is set after Recall; round has the results so far.
	known   bool
	round   goal.Round
	attempt int
	// planned is set while todo and reported belong to the current attempt, which run applies.
	planned        bool
	todo, reported plan.Plan
	run            *apply.Run
	// arrived is set once only the commit is left.
	arrived bool
}

// reconcile brings the cloud to the state of a goal. It is the only way through the engine, for
// Services that are created, changed, refused, repaired and deleted, and returns the status to
// publish. It sends no request if the goal is known to be reached. After async.ErrWaiting it is
// called again.
func (r *Reconciler) reconcile(ctx context.Context, p *pursuit, req dispatch.Request) (status *v1.LoadBalancerStatus, err error) {
	if !p.known {
		known, err := p.goal.Recall(ctx, &p.lock)
		if async.IsWaiting(err) {
			return nil, err
		}
		r.options.Metrics.began(known, err)
		if err != nil || known.Status != nil {
			return known.Status, err
		}
		p.known, p.round, p.attempt = true, goal.Begin(known), 1
	}
	for !p.arrived {
		if err := r.attempt(ctx, p, req); err != nil {
			return nil, err
		}
	}
	return p.goal.Commit(ctx, p.round, p.reported, &p.lock)
}

// attempt makes a plan and applies it.
func (r *Reconciler) attempt(ctx context.Context, p *pursuit, req dispatch.Request) (err error) {
	if !p.planned {
		if p.todo, p.reported, err = r.next(ctx, p, req); err != nil {
			return err
		}
		switch {
		case arrived(p.round, p.todo):
			p.arrived = true
			return nil
		case p.attempt > maxAttempts:
			return notConverged(p.round, p.todo)
		}
		p.planned, p.round.Broken = true, nil
	}
	downgraded, err := r.apply(ctx, p)
	if err != nil {
		return err
	}
	p.planned = false
	if !downgraded { // else the next plan has requests that the provider supports
		p.attempt++
		p.arrived = p.reported.Empty() && p.todo.ChangesOnlyMembers() && p.round.HasMembers(p.goal.Inputs())
	}
	return nil
}

// next returns the plan of an attempt, and the steps that are only reported. The first attempt
// calls the goal's Begin and Announce.
func (r *Reconciler) next(ctx context.Context, p *pursuit, req dispatch.Request) (todo, reported plan.Plan, err error) {
	round, first := &p.round, p.attempt == 1
	if todo, err = r.plan(ctx, p.goal, round, &p.lock); err != nil {
		return todo, reported, err
	}
	if first {
		if round.Groups, round.Report, err = p.goal.Begin(ctx, *round, todo); err != nil {
			return todo, reported, err
		}
	}
	todo, reported = round.Report.Split(todo)
	if err := mayCreate(ctx, req, *round, todo); err != nil {
		return todo, reported, err
	}
	if first {
		p.goal.Announce(*round, todo, reported)
	}
	return todo, reported, nil
}

// arrived reports whether there is nothing to do, or all of it is only reported.
func arrived(round goal.Round, todo plan.Plan) bool {
	return round.Report.All() || todo.Empty() && len(round.Groups.Open) == 0
}

// distrust makes the next round read the cloud after an incomplete round.
func (r *Reconciler) distrust(req dispatch.Request, round goal.Round, err error) {
	if err != nil && (round.Wrote || refusal.Reason(err) == "") {
		r.store.DropApplied(req.Service.UID)
	}
}

// plan compares the observed with the desired state, and observes it if necessary. Before a change,
// it verifies a recalled state.
func (r *Reconciler) plan(ctx context.Context, g goal.Goal, round *goal.Round, lock *async.Guard) (plan.Plan, error) {
	for {
		if err := r.compareWith(ctx, g, round, lock); err != nil {
			return plan.Plan{}, err
		}
		todo, err := g.Plan(ctx, *round)
		if err != nil || round.Have.Source == model.Cloud || todo.Empty() {
			if err == nil && round.Interfered {
				round.Interfered = false
				r.engine().Events.DriftReverted(g.Inputs().Object(), state.ReasonChanged, events.Summary(todo.Steps))
			}
			return todo, err
		}
		same, err := r.engine().Cloud.Unchanged(ctx, round.Have)
		if err != nil {
			return plan.Plan{}, err
		}
		if !same {
			round.Forget()
			continue
		}
		have, another, err := r.engine().Cloud.Verify(ctx, g, *round)
		if round.Have = have; err != nil || !another {
			return todo, err
		}
	}
}

// compareWith sets the observed and the desired state of a round.
func (r *Reconciler) compareWith(ctx context.Context, g goal.Goal, round *goal.Round, lock *async.Guard) (err error) {
	if round.Have.Observed == nil {
		have, err := g.Observe(ctx, lock)
		if err != nil {
			return err
		}
		round.Have = have
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

// mayCreate returns ErrNoLoadBalancer if a plan creates objects that the request must not create.
// It is called immediately before the plan is announced and applied.
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

// apply applies a plan. The next plan has its remaining work, for example failed parts. It reports
// whether the provider has refused a step that another kind of request can replace.
func (r *Reconciler) apply(ctx context.Context, p *pursuit) (downgraded bool, err error) {
	round, in := &p.round, p.goal.Inputs()
	if p.run == nil {
		if err := p.goal.Prepare(ctx, *round, p.todo); err != nil {
			return false, err
		}
		if err := r.engine().Groups.Open(ctx, round.Groups.Task); err != nil {
			return false, err
		}
		p.run = apply.NewRun(apply.Request{ID: p.goal.Owner(*round), Observed: *round.Have.Observed, Plan: p.todo, Later: round.Wrote})
		r.engine().Changes.Begin(in, round, p.todo)
	}
	observed, err := r.engine().Cloud.Applier.Continue(ctx, p.run)
	if async.IsWaiting(err) {
		return false, err
	}
	p.run = nil
	round.Have.Observed = &observed
	r.engine().Changes.End(in, observed, err)
	var changed *apply.ChangedError
	var broken *apply.ChildrenError
	switch {
	case err == nil:
	case errors.As(err, &changed):
		klog.FromContext(ctx).Info("Reading the load balancer anew", "cause", changed.Error())
		round.Forget()
		round.Interfered = round.Want.LoadBalancer != nil && !changed.ByDriver // a deletion reverts nothing
	case errors.As(err, &broken):
		round.Broken = broken
		klog.FromContext(ctx).Info("Repairing parts of the load balancer", "cause", broken.Error())
	case r.engine().Changes.Downgrade(ctx, in, round, observed, err):
		round.Forget()
		return true, nil
	default:
		return false, goal.Explain(in, r.engine().Changes.WithFirstRefusal(round, err))
	}
	return false, nil
}

// notConverged returns the parts that stay broken, else the first remaining step.
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

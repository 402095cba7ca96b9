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
	*rounds

	req  dispatch.Request
	goal goal.Goal
	lock async.Guard
	// known is set after Recall; round has the results so far.
	known    bool
	round    goal.Round
	attempts int
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
func (p *pursuit) reconcile(ctx context.Context) (status *v1.LoadBalancerStatus, err error) {
	if !p.known {
		known, err := p.goal.Recall(ctx, &p.lock)
		if async.IsWaiting(err) {
			return nil, err
		}
		p.metrics.began(known, err)
		if err != nil || known.Status != nil {
			return known.Status, err
		}
		p.known, p.round, p.attempts = true, goal.Begin(known), 1
	}
	for !p.arrived {
		if err := p.attempt(ctx); err != nil {
			return nil, err
		}
	}
	return p.goal.Commit(ctx, p.round, p.reported, &p.lock)
}

// attempt makes a plan and applies it.
func (p *pursuit) attempt(ctx context.Context) (err error) {
	if !p.planned {
		last := p.todo
		if p.todo, p.reported, err = p.next(ctx); err != nil {
			return err
		}
		switch {
		case arrived(p.round, p.todo):
			p.arrived = true
			return nil
		case p.round.Broken != nil && !p.round.Broken.Pending() && repeats(p.todo, last):
			return p.round.Broken
		case p.attempts > maxAttempts:
			return notConverged(p.round, p.todo)
		}
		p.planned, p.round.Broken = true, nil
	}
	downgraded, err := p.apply(ctx)
	if err != nil {
		return err
	}
	p.planned = false
	if !downgraded { // else the next plan has requests that the provider supports
		p.attempts++
		p.arrived = p.reported.Empty() && p.todo.ChangesOnlyMembers() && p.round.HasMembers(p.goal.Inputs())
	}
	return nil
}

// repeats reports whether a plan writes listeners that terminate TLS as the last one did: if they are still in ERROR,
// their certificate may be gone.
func repeats(todo, last plan.Plan) bool {
	_, kept := todo.Certificates()
	return len(kept) > 0 && todo.String() == last.String()
}

// next returns the plan of an attempt, and the steps that are only reported. The first attempt
// calls the goal's Begin and, once Prepare has not refused the plan, Announce.
func (p *pursuit) next(ctx context.Context) (todo, reported plan.Plan, err error) {
	round, first := &p.round, p.attempts == 1
	if todo, err = p.plan(ctx); err != nil {
		return todo, reported, err
	}
	if first {
		if round.Groups, round.Report, err = p.goal.Begin(ctx, *round, todo); err != nil {
			return todo, reported, err
		}
	}
	todo, reported = round.Report.Split(todo)
	if err := mayCreate(ctx, p.req, *round, todo); err != nil {
		return todo, reported, err
	}
	if !arrived(*round, todo) {
		if err := p.goal.Prepare(ctx, *round, todo); err != nil {
			return todo, reported, err
		}
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
func (p *pursuit) distrust(err error) {
	if err != nil && (p.round.Wrote || refusal.Reason(err) == "") {
		p.store.Update(p.req.Service.UID, (*state.Entry).DropApplied)
	}
}

// plan compares the observed with the desired state, and observes it if necessary. Before a change,
// it verifies a recalled state.
func (p *pursuit) plan(ctx context.Context) (plan.Plan, error) {
	g, round := p.goal, &p.round
	for {
		if err := p.compareWith(ctx); err != nil {
			return plan.Plan{}, err
		}
		todo, err := g.Plan(ctx, *round)
		if err != nil || round.Have.Source == model.Cloud || todo.Empty() {
			if err == nil && round.Interfered {
				round.Interfered = false
				p.engine().Events.DriftReverted(g.Inputs().Object(), state.ReasonChanged, events.Summary(todo.Steps))
			}
			return todo, err
		}
		same, err := p.engine().Cloud.Unchanged(ctx, round.Have)
		if err != nil {
			return plan.Plan{}, err
		}
		if !same {
			round.Forget()
			continue
		}
		have, another, err := p.engine().Cloud.Verify(ctx, g, *round)
		if round.Have = have; err != nil || !another {
			return todo, err
		}
	}
}

// compareWith sets the observed and the desired state of a round.
func (p *pursuit) compareWith(ctx context.Context) (err error) {
	g, round := p.goal, &p.round
	if round.Have.Observed == nil {
		have, err := g.Observe(ctx, &p.lock)
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
func (p *pursuit) apply(ctx context.Context) (downgraded bool, err error) {
	round, in := &p.round, p.goal.Inputs()
	if p.run == nil {
		if err := p.engine().Groups.Open(ctx, round.Groups.Task); err != nil {
			return false, err
		}
		p.run = apply.NewRun(apply.Request{ID: p.goal.Owner(*round), Observed: *round.Have.Observed, Plan: p.todo, Later: round.Wrote})
		p.engine().Changes.Begin(in, round, p.todo)
	}
	observed, err := p.engine().Cloud.Applier.Continue(ctx, p.run)
	if async.IsWaiting(err) {
		return false, err
	}
	if took := p.run.MembersTook(); took > 0 {
		p.store.Update(in.Owner.UID, func(e *state.Entry) { e.MemberChanges.Add(took) })
	}
	p.run = nil
	round.Have.Observed = &observed
	p.engine().Changes.End(in, observed, err)
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
	case p.engine().Changes.Downgrade(ctx, in, round, observed, err):
		round.Forget()
		return true, nil
	default:
		return false, goal.Explain(in, p.engine().Changes.WithFirstRefusal(round, err))
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
	return fmt.Errorf("after %d attempts the load balancer still differs from the Service; the next step is: %s; "+
		"the existing parts keep working, and the controller retries; if this persists, ask the cluster's operator", maxAttempts, next)
}

package loadbalancer

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/conditions"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/stopwatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/tracing"
)

// round is the work for one request, between two steps.
type round struct {
	r      *Reconciler
	req    dispatch.Request
	traced func(error) // ends the span
	watch  *stopwatch.Watch

	// entry is what was known of the Service at the beginning, previous its load balancers.
	begun    bool
	entry    state.Entry
	previous []string
	// pursuit is the goal that is pursued; nil: none is.
	pursuit *pursuit
	// refused is why the Service is refused, why its reason, reported whether that was reported; following is
	// set once it keeps what it has in the cloud, and limits are those of that.
	refused   error
	why       string
	reported  bool
	following bool
	byCloud   bool
	limits    goal.Limits
	// gone is set once a deletion has removed everything that was found, pause is the time before the next
	// look for a load balancer without an answer to its creation.
	gone  bool
	pause time.Duration
}

// begin returns the round of a request.
func (r *Reconciler) begin(ctx context.Context, req dispatch.Request) (context.Context, dispatch.Round) {
	ctx, end := r.trace(ctx, req)
	ctx, watch := stopwatch.Start(ctx, r.options.Clock)
	return ctx, &round{r: r, req: req, traced: end, watch: watch}
}

// Step implements dispatch.Round.
func (rd *round) Step(ctx context.Context) (status *v1.LoadBalancerStatus, err error) {
	r, svc := rd.r, rd.req.Service
	if !rd.begun {
		rd.begun, rd.entry = true, r.store.Get(svc.UID)
	}
	status, err = r.serve(ctx, rd)
	if async.IsWaiting(err) {
		return nil, err
	}
	if rd.req.Operation != dispatch.Delete {
		r.measure(svc, rd.entry, rd.watch, status, err)
	}
	rd.traced(err)
	return status, err
}

// serve does a step of a round: it deletes a Service, or brings it to what it asks for.
// Where that is refused, it keeps alive what the Service has; then the refusal is an error of
// Ensure alone, where that reports it and tries again, as nobody else can do more. The status
// to publish comes with that error too.
func (r *Reconciler) serve(ctx context.Context, rd *round) (status *v1.LoadBalancerStatus, err error) {
	svc, reports := rd.req.Service, rd.req.Operation == dispatch.Ensure
	if rd.req.Operation == dispatch.Delete {
		err := r.delete(ctx, rd)
		if async.IsWaiting(err) {
			return nil, err
		}
		if err != nil { // else nothing is known of it any more
			_, err = r.engine().Tell(ctx, svc, err, r.expired(ctx) > 0)
		}
		return nil, refusal.Retry(err, r.expired(ctx))
	}
	if rd.refused == nil {
		status, err = r.ask(ctx, rd, rd.req, rd.entry.Drift, false)
		if async.IsWaiting(err) {
			return nil, err
		}
		if err == nil {
			r.store.Accept(svc)
			r.resolved(rd.entry.Drift)
		}
		told, err := r.engine().Tell(ctx, svc, err, r.expired(ctx) > 0)
		rd.why = refusal.Reason(err)
		if rd.why == "" {
			r.say(svc, conditions.Round{Err: err, Told: told})
			return status, refusal.Retry(err, r.expired(ctx))
		}
		rd.refused, rd.reported = err, r.store.Refuse(svc.UID, rd.why, reports)
	}
	status, failure := r.keep(ctx, rd)
	if async.IsWaiting(failure) {
		return nil, failure
	}
	if failure == nil {
		r.store.DropDrift(svc.UID)
		r.resolved(rd.entry.Drift)
	}
	r.say(svc, conditions.Round{Err: rd.refused, Refusal: refusal.Stated(rd.why), Kept: refusal.Standing(rd.refused, failure)})
	if failure == nil {
		if !reports && (rd.reported || rd.entry.Accepted == nil) { // else Ensure is still to come for it, after a restart
			return status, nil
		}
	}
	return status, refusal.Explain(rd.refused, failure, r.expired(ctx))
}

// pursue brings a Service to a goal, which is made once.
func (r *Reconciler) pursue(ctx context.Context, rd *round, req dispatch.Request, to func() (goal.Goal, error)) (*v1.LoadBalancerStatus, error) {
	if rd.pursuit == nil {
		g, err := to()
		if err != nil {
			return nil, err
		}
		if tracing.Recording(ctx) {
			g = traced{g}
		}
		rd.pursuit = &pursuit{goal: g}
	}
	p := rd.pursuit
	status, err := r.reconcile(ctx, p, req)
	if async.IsWaiting(err) {
		return nil, err
	}
	r.distrust(req, p.round, err)
	p.lock.Release()
	rd.pursuit = nil
	return status, err
}

// trace begins the span of a round, and gives its requests an ID.
func (r *Reconciler) trace(ctx context.Context, req dispatch.Request) (with context.Context, end func(error)) {
	return tracing.Root(ctx, r.options.Tracer, "reconcile", attribute.String("operation", string(req.Operation)),
		attribute.String("k8s.namespace.name", req.Service.Namespace), attribute.String("k8s.service.name", req.Service.Name))
}

// ask brings a Service to what it asks for.
func (r *Reconciler) ask(ctx context.Context, rd *round, req dispatch.Request, drift state.Drift, quiet bool) (*v1.LoadBalancerStatus, error) {
	return r.pursue(ctx, rd, req, func() (goal.Goal, error) { return made(r.engine().NewAsked(ctx, subject(req, drift), quiet)) })
}

// made returns a goal, and no typed nil.
func made[G goal.Goal](g G, err error) (goal.Goal, error) {
	if err != nil {
		return nil, err
	}
	return g, nil
}

func subject(req dispatch.Request, drift state.Drift) goal.Subject {
	return goal.Subject{Service: req.Service, Nodes: req.Nodes, Drift: drift, NodesCurrent: req.NodesCurrent}
}

// keep brings what a refused Service has to its nodes, and returns the status to publish. A
// Service that is refused has no less need of its nodes: members, security groups, floating
// IP and what else others change are kept. Only what it newly asks for waits. What it is to
// have meanwhile is
//
//	refused                                     kept as
//	before anything was changed                 it was asked for when that was last done, as long as this process knows
//	by the cloud, in the middle of a plan       it is: going back would be undone by the next try
//	both, and that is refused too, or not       it is in the cloud; where others have changed that since it was
//	known, as after a restart                   seen first, as it was then
//
// In each case it goes where kube-proxy serves the Service now: see lastGood and desire.Follow.
// It is refusal.ErrNothingKept where the Service has nothing.
func (r *Reconciler) keep(ctx context.Context, rd *round) (*v1.LoadBalancerStatus, error) {
	req, accepted, drift := rd.req, rd.entry.Accepted, rd.entry.Drift
	if !rd.following {
		if accepted == nil && len(req.Service.Status.LoadBalancer.Ingress) == 0 && len(r.engine().Previous(req.Service)) == 0 {
			return nil, refusal.ErrNothingKept
		}
		rd.byCloud = refusal.ByCloud(rd.refused)
		if accepted != nil && !rd.byCloud {
			before := req
			before.Service = lastGood(accepted, req.Service)
			status, err := r.ask(ctx, rd, before, drift, true)
			if refusal.Reason(err) == "" {
				return status, err
			}
			rd.byCloud = refusal.ByCloud(err)
		}
		rd.following, rd.limits = true, goal.Limits{NoMonitors: rd.byCloud}
	}
	if rd.byCloud {
		drift = state.Drift{}
	}
	for {
		status, err := r.follow(ctx, rd, drift)
		if async.IsWaiting(err) {
			return nil, err
		}
		more, ok := rd.limits.Learn(err)
		if !ok {
			return status, err
		}
		rd.limits = more
	}
}

// follow brings what a Service has in the cloud to its nodes.
func (r *Reconciler) follow(ctx context.Context, rd *round, drift state.Drift) (*v1.LoadBalancerStatus, error) {
	unread := false
	status, err := r.pursue(ctx, rd, rd.req, func() (goal.Goal, error) {
		kept, err := r.engine().NewKept(ctx, subject(rd.req, drift), rd.limits)
		if err != nil {
			unread = true
			return nil, err
		}
		return kept, nil
	})
	if err != nil && !unread && !async.IsWaiting(err) {
		r.store.DropApplied(rd.req.Service.UID)
	}
	return status, err
}

// delete removes everything that was made for a Service, and ends when nothing can appear any more
// that was asked for without an answer.
func (r *Reconciler) delete(ctx context.Context, rd *round) error {
	svc := rd.req.Service
	if rd.previous == nil {
		rd.previous = append([]string{}, r.engine().Previous(svc)...)
		r.store.MarkDeleting(svc.UID)
		r.store.StartDeletion(svc.UID)
	}
	for {
		if !rd.gone {
			_, err := r.pursue(ctx, rd, rd.req, func() (goal.Goal, error) {
				return made(r.engine().NewGone(ctx, subject(rd.req, state.Drift{}), rd.entry.Applied, rd.previous))
			})
			if err != nil {
				return err
			}
			rd.gone, rd.pause = true, r.engine().Drivers.Timing("").LostCreateRetry
		}
		appeared, err := r.awaitLostCreation(ctx, rd)
		if err != nil {
			return err
		}
		if !appeared {
			r.store.Uncount(svc.UID)
			if !dispatch.Wanted(svc) {
				r.store.Forget(svc)
			}
			return nil
		}
		rd.gone = false
	}
}

// awaitLostCreation waits until a load balancer appears that was asked for without an
// answer: it is true then. It is false if none can appear any more.
func (r *Reconciler) awaitLostCreation(ctx context.Context, rd *round) (bool, error) {
	longest := 15 * r.engine().Drivers.Timing("").LostCreateRetry
	for ; ; rd.pause = min(2*rd.pause, longest) {
		until := r.store.CreationUntil(rd.req.Service)
		if until.IsZero() {
			return false, nil
		}
		klog.FromContext(ctx).V(2).Info("Waiting for a load balancer that may still appear: its creation had no answer", "until", until)
		if err := async.Sleep(ctx, r.options.Clock, stopwatch.Octavia, "lost creation", rd.pause); err != nil {
			return false, err
		}
		found, err := r.engine().Claimed(ctx, rd.req.Service)
		if err != nil || found {
			return found, err
		}
	}
}

// expired returns the time after which a round was ended, 0 where it was not.
func (r *Reconciler) expired(ctx context.Context) time.Duration {
	if errors.Is(context.Cause(ctx), dispatch.ErrTimeout) {
		return r.options.Patience
	}
	return 0
}

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

// serve does the round of a request: it deletes a Service, or brings it to what it asks for.
// Where that is refused, it keeps alive what the Service has; then the refusal is an error of
// Ensure alone, where that reports it and tries again, as nobody else can do more. The status
// to publish comes with that error too.
func (r *Reconciler) serve(ctx context.Context, req dispatch.Request) (status *v1.LoadBalancerStatus, err error) {
	ctx, end := r.trace(ctx, req)
	defer func() { end(err) }()
	if req.Operation == dispatch.Delete {
		err := r.delete(ctx, req)
		if err != nil { // else nothing is known of it any more
			_, err = r.engine().Tell(ctx, req.Service, err, r.expired(ctx) > 0)
		}
		return nil, refusal.Retry(err, r.expired(ctx))
	}
	svc, reports := req.Service, req.Operation == dispatch.Ensure
	entry := r.store.Get(svc.UID)
	ctx, watch := stopwatch.Start(ctx, r.options.Clock)
	defer func() { r.measure(svc, entry, watch, status, err) }()
	status, err = r.ask(ctx, req, entry.Drift, false)
	if err == nil {
		r.store.Accept(svc)
		r.resolved(entry.Drift)
	}
	told, err := r.engine().Tell(ctx, svc, err, r.expired(ctx) > 0)
	why := refusal.Reason(err)
	if why == "" {
		r.say(svc, conditions.Round{Err: err, Told: told})
		return status, refusal.Retry(err, r.expired(ctx))
	}
	reported := r.store.Refuse(svc.UID, why, reports)
	status, failure := r.keep(ctx, req, entry, err)
	if failure == nil {
		r.store.DropDrift(svc.UID)
		r.resolved(entry.Drift)
	}
	r.say(svc, conditions.Round{Err: err, Refusal: refusal.Stated(why), Kept: refusal.Standing(err, failure)})
	if failure == nil {
		if !reports && (reported || entry.Accepted == nil) { // else Ensure is still to come for it, after a restart
			return status, nil
		}
	}
	return status, refusal.Explain(err, failure, r.expired(ctx))
}

// trace begins the span of a round, and gives its requests an ID.
func (r *Reconciler) trace(ctx context.Context, req dispatch.Request) (with context.Context, end func(error)) {
	return tracing.Root(ctx, r.options.Tracer, "reconcile", attribute.String("operation", string(req.Operation)),
		attribute.String("k8s.namespace.name", req.Service.Namespace), attribute.String("k8s.service.name", req.Service.Name))
}

// ask brings a Service to what it asks for.
func (r *Reconciler) ask(ctx context.Context, req dispatch.Request, drift state.Drift, quiet bool) (*v1.LoadBalancerStatus, error) {
	asked, err := r.engine().NewAsked(ctx, subject(req, drift), quiet)
	if err != nil {
		return nil, err
	}
	return r.reconcile(ctx, asked, req)
}

func subject(req dispatch.Request, drift state.Drift) goal.Subject {
	return goal.Subject{Service: req.Service, Nodes: req.Nodes, Drift: drift, Progress: req.Progress, NodesCurrent: req.NodesCurrent}
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
func (r *Reconciler) keep(ctx context.Context, req dispatch.Request, entry state.Entry, refused error) (*v1.LoadBalancerStatus, error) {
	accepted, drift := entry.Accepted, entry.Drift
	if accepted == nil && len(req.Service.Status.LoadBalancer.Ingress) == 0 && len(r.engine().Previous(req.Service)) == 0 {
		return nil, refusal.ErrNothingKept
	}
	byCloud := refusal.ByCloud(refused)
	if accepted != nil && !byCloud {
		before := req
		before.Service = lastGood(accepted, req.Service)
		status, err := r.ask(ctx, before, drift, true)
		if refusal.Reason(err) == "" {
			return status, err
		}
		byCloud = refusal.ByCloud(err)
	}
	if byCloud {
		drift = state.Drift{}
	}
	limits := goal.Limits{NoMonitors: byCloud}
	for {
		status, err := r.follow(ctx, req, drift, limits)
		more, ok := limits.Learn(err)
		if !ok {
			return status, err
		}
		limits = more
	}
}

// follow brings what a Service has in the cloud to its nodes.
func (r *Reconciler) follow(ctx context.Context, req dispatch.Request, drift state.Drift, limits goal.Limits) (*v1.LoadBalancerStatus, error) {
	kept, err := r.engine().NewKept(ctx, subject(req, drift), limits)
	if err != nil {
		return nil, err
	}
	status, err := r.reconcile(ctx, kept, req)
	if err != nil {
		r.store.DropApplied(req.Service.UID)
	}
	return status, err
}

// delete removes all that was made for a Service, and ends when nothing can appear any more
// that was asked for without an answer.
func (r *Reconciler) delete(ctx context.Context, req dispatch.Request) error {
	svc := req.Service
	applied, previous := r.store.Get(svc.UID).Applied, r.engine().Previous(svc)
	r.store.MarkDeleting(svc.UID)
	r.store.StartDeletion(svc.UID)
	for {
		gone, err := r.engine().NewGone(ctx, subject(req, state.Drift{}), applied, previous)
		if err != nil {
			return err
		}
		if _, err := r.reconcile(ctx, gone, req); err != nil {
			return err
		}
		appeared, err := r.awaitLostCreation(ctx, svc)
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
	}
}

// awaitLostCreation waits until a load balancer appears that was asked for without an
// answer: it is true then. Where none can appear any more it is false.
func (r *Reconciler) awaitLostCreation(ctx context.Context, svc *v1.Service) (bool, error) {
	pause := r.engine().Drivers.Timing("").LostCreateRetry
	for interval := pause; ; interval = min(2*interval, 15*pause) {
		until := r.store.CreationUntil(svc)
		if until.IsZero() {
			return false, nil
		}
		klog.FromContext(ctx).V(2).Info("Waiting for a load balancer that may still appear: its creation had no answer", "until", until)
		if err := async.Sleep(ctx, r.options.Clock, interval); err != nil {
			return false, err
		}
		found, err := r.engine().Claimed(ctx, svc)
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

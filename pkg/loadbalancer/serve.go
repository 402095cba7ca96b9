package loadbalancer

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/conditions"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// round is the progress of a request.
type round struct {
	*rounds

	req    dispatch.Request
	traced func(error) // ends the span
	watch  *telemetry.Watch

	// before is the state of the Service at the beginning, previous are its load balancers.
	begun    bool
	before   before
	previous []string
	// pursuit is the current goal; nil for none. renewed is set once it was replaced by one with later
	// endpoints.
	pursuit *pursuit
	renewed bool
	// refused is the refusal of the Service, why its reason, reported whether it was reported
	// before; following is set once the Service keeps its state in the cloud, with these limits.
	refused   error
	why       string
	reported  bool
	following bool
	byCloud   bool
	limits    goal.Limits
	// gone is set once a deletion has removed all objects that it has found, unrouted once it has removed
	// those of provider router, with the goal routed. pause is the time before the next search for the load balancer
	// of a creation without an answer.
	gone, unrouted bool
	// others is set if the deleted Service may have a load balancer in Octavia; nil if that is not known yet.
	others *bool
	routed *goal.RoutedGone
	pause  time.Duration
}

// before is the part of a Service's state.Entry that a round needs from its beginning. A round keeps no more, because
// thousands may wait at the same time.
type before struct {
	applied   *state.Applied
	accepted  *v1.Service
	drift     state.Drift
	unsettled state.Unsettled
}

// Step implements dispatch.Round.
func (rd *round) Step(ctx context.Context) (status *v1.LoadBalancerStatus, err error) {
	svc := rd.req.Service
	if !rd.begun {
		e := rd.store.Get(svc.UID)
		rd.begun, rd.before = true, before{e.Applied, e.Accepted, e.Drift, e.Unsettled}
	}
	rd.renew()
	status, err = rd.serve(ctx)
	if async.IsWaiting(err) {
		return nil, err
	}
	if rd.req.Operation != dispatch.Delete {
		rd.measure(status, err)
	}
	rd.traced(err)
	return status, err
}

// renew drops the current goal if the endpoints of the Service have got to other nodes before its first
// change, as while another client's change of the load balancer takes minutes. It does so once in a
// round, which must end.
func (rd *round) renew() {
	p := rd.pursuit
	if p == nil || rd.renewed || p.run != nil || p.round.Wrote || !rd.engine().Candidates.Outdated(rd.req.Service, p.goal.Inputs()) {
		return
	}
	p.lock.Release()
	rd.pursuit, rd.renewed = nil, true
}

// serve does a step of a round: it deletes a Service, or brings it to its desired state. If that is
// refused, the Service keeps its state. Only Ensure returns the refusal as an error, because only
// its caller reports it and retries; the status to publish comes with that error.
func (rd *round) serve(ctx context.Context) (status *v1.LoadBalancerStatus, err error) {
	svc, reports := rd.req.Service, rd.req.Operation == dispatch.Ensure
	if rd.req.Operation == dispatch.Delete {
		err := rd.delete(ctx)
		if async.IsWaiting(err) {
			return nil, err
		}
		if err != nil { // else its state is deleted
			_, err = rd.engine().Troubles.Report(ctx, goal.ObjectOf(svc), err, rd.expired(ctx) > 0)
		}
		return nil, refusal.Retry(err, rd.expired(ctx))
	}
	if rd.refused == nil {
		status, err = rd.ask(ctx, rd.req, rd.before.drift, false)
		if async.IsWaiting(err) {
			return nil, err
		}
		if err == nil {
			rd.store.Update(svc.UID, func(e *state.Entry) { e.Accept(svc) })
			rd.resolved()
		}
		reported, err := rd.engine().Troubles.Report(ctx, goal.ObjectOf(svc), err, rd.expired(ctx) > 0)
		rd.why = refusal.Reason(err)
		if rd.why == "" {
			rd.conditions.round(svc, conditions.Round{Err: err, Reported: reported})
			return status, refusal.Retry(err, rd.expired(ctx))
		}
		rd.refused = err
		rd.store.Update(svc.UID, func(e *state.Entry) { rd.reported = e.Refusal.Refuse(rd.why, reports) })
	}
	status, failure := rd.keep(ctx)
	if async.IsWaiting(failure) {
		return nil, failure
	}
	if failure == nil {
		rd.store.Update(svc.UID, func(e *state.Entry) { e.Drift = state.Drift{} })
		rd.resolved()
	}
	rd.conditions.round(svc, conditions.Round{Err: rd.refused, Refusal: refusal.Stated(rd.why), Kept: refusal.Standing(rd.refused, failure)})
	if failure == nil {
		if !reports && (rd.reported || rd.before.accepted == nil) { // else Ensure will be called, after a restart
			return status, nil
		}
	}
	return status, refusal.Explain(rd.refused, failure, rd.expired(ctx))
}

// pursue brings a Service to a goal, which it creates once.
func (rd *round) pursue(ctx context.Context, req dispatch.Request, to func() (goal.Goal, error)) (*v1.LoadBalancerStatus, error) {
	if rd.pursuit == nil {
		g, err := to()
		if err != nil {
			return nil, err
		}
		if telemetry.Recording(ctx) {
			g = traced{g}
		}
		rd.pursuit = &pursuit{rounds: rd.rounds, goal: g, req: req}
	}
	p := rd.pursuit
	status, err := p.reconcile(ctx)
	if async.IsWaiting(err) {
		return nil, err
	}
	p.distrust(err)
	p.lock.Release()
	rd.pursuit = nil
	return status, err
}

// ask brings a Service to its desired state.
func (rd *round) ask(ctx context.Context, req dispatch.Request, drift state.Drift, quiet bool) (*v1.LoadBalancerStatus, error) {
	return rd.pursue(ctx, req, func() (goal.Goal, error) { return rd.asked(ctx, subject(req, drift), quiet) })
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

// keep brings the load balancer of a refused Service to its nodes, and returns the status to
// publish. Members, security groups, floating IP and drift still need updates; only the refused
// change waits. The kept state is
//
//	refusal                                     kept state
//	before the first change                     the last accepted one, if this process knows it
//	by the cloud, in the middle of a plan       the current one: the next attempt would undo going back
//	both; the accepted one is refused, too, or  the one in the cloud; if other clients have changed it
//	unknown, as after a restart                 since it was first seen, the one that was seen then
//
// In each case it follows kube-proxy: see lastGood and desire.Follow. The error is
// refusal.ErrNothingKept if the Service has no load balancer.
func (rd *round) keep(ctx context.Context) (*v1.LoadBalancerStatus, error) {
	req, accepted, drift := rd.req, rd.before.accepted, rd.before.drift
	if !rd.following {
		if accepted == nil && len(req.Service.Status.LoadBalancer.Ingress) == 0 && len(rd.engine().Memory.Previous(req.Service.UID)) == 0 {
			return nil, refusal.ErrNothingKept
		}
		rd.byCloud = refusal.ByCloud(rd.refused)
		if accepted != nil && !rd.byCloud {
			before := req
			before.Service = lastGood(accepted, req.Service)
			status, err := rd.ask(ctx, before, drift, true)
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
		status, err := rd.follow(ctx, drift)
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

// follow brings the Service's load balancer in the cloud to its nodes.
func (rd *round) follow(ctx context.Context, drift state.Drift) (*v1.LoadBalancerStatus, error) {
	unread := false
	status, err := rd.pursue(ctx, rd.req, func() (goal.Goal, error) {
		kept, err := rd.kept(ctx, subject(rd.req, drift), rd.limits)
		if err != nil {
			unread = true
			return nil, err
		}
		return kept, nil
	})
	if err != nil && !unread && !async.IsWaiting(err) {
		rd.store.Update(rd.req.Service.UID, (*state.Entry).DropApplied)
	}
	return status, err
}

// delete deletes all objects of a Service, and ends when no object can appear from a request
// without an answer.
func (rd *round) delete(ctx context.Context) error {
	svc := rd.req.Service
	if rd.previous == nil {
		rd.previous = append([]string{}, rd.engine().Memory.Previous(svc.UID)...)
		now := rd.clock.Now()
		rd.store.Update(svc.UID, func(e *state.Entry) {
			e.Unsettled.MarkDeleting(now)
			e.StartDeletion()
		})
	}
	for {
		if !rd.gone {
			others, err := rd.deleteRouted(ctx)
			if err != nil {
				return err
			}
			rd.gone = !others
		}
		if !rd.gone {
			_, err := rd.pursue(ctx, rd.req, func() (goal.Goal, error) {
				return made(rd.engine().NewGone(ctx, subject(rd.req, state.Drift{}), rd.before.applied, rd.previous))
			})
			if err != nil && !rd.neverThere(ctx, svc, rd.routed != nil && rd.routed.Found(), err) {
				return err
			}
			rd.gone = true
		}
		if rd.pause == 0 {
			rd.pause = rd.engine().Cloud.Drivers.Timing("").LostCreateRetry
		}
		appeared, err := rd.awaitLostCreation(ctx)
		if err != nil {
			return err
		}
		if !appeared {
			rd.store.Update(svc.UID, func(e *state.Entry) { e.Namespace, e.Unsettled = "", state.Unsettled{} })
			if !dispatch.Wanted(svc) {
				rd.store.Forget(svc.UID, svc.DeletionTimestamp != nil)
			}
			return nil
		}
		rd.gone, rd.unrouted, rd.pause = false, false, 0
	}
}

// awaitLostCreation waits for the load balancer of a creation without an answer. It returns true if
// one appears, and false if none can appear any more.
func (rd *round) awaitLostCreation(ctx context.Context) (bool, error) {
	longest := 15 * rd.engine().Cloud.Drivers.Timing("").LostCreateRetry
	for ; ; rd.pause = min(2*rd.pause, longest) {
		until := rd.store.Creations.Until(rd.req.Service.UID, goal.PublishedOf(rd.req.Service).Unserved())
		if until.IsZero() {
			return false, nil
		}
		klog.FromContext(ctx).V(2).Info("Waiting for a load balancer that may still appear: its creation had no answer", "until", until)
		if err := async.Sleep(ctx, rd.clock, telemetry.Octavia, "lost creation", rd.pause); err != nil {
			return false, err
		}
		found, err := rd.appeared(ctx)
		if err != nil || found {
			return found, err
		}
	}
}

// expired returns the time limit of a round that was ended by it, else 0.
func (rd *round) expired(ctx context.Context) time.Duration {
	if errors.Is(context.Cause(ctx), dispatch.ErrTimeout) {
		return rd.patience
	}
	return 0
}

package goal

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// BeginChange records that a plan is about to be applied: from now on what was applied last
// says no more than where to look.
func (e *Engine) BeginChange(in Inputs, r *Round, todo plan.Plan) {
	uid, first := in.Service.UID, !r.Wrote
	r.Wrote = true
	if r.Want.LoadBalancer == nil { // all of that was dropped when the deletion began
		if todo.DeletesLoadBalancer() {
			e.Store.CreationFound(in.Service)
		}
		return
	}
	if first {
		e.Store.DropDrift(uid)
	}
	if id := todo.FailsOver(); id != "" {
		e.Failovers.Begin(id)
	}
	e.Store.MarkTouched(uid)
	e.enter(in, r.Have.LoadBalancer)
	if todo.Creates() {
		e.Store.CreationSent(uid)
	}
}

// EndChange records what has come of a plan: what is there now, and how applying it ended.
func (e *Engine) EndChange(in Inputs, now model.Observed, err error) {
	var unsure *apply.UnsureCreationError
	if errors.As(err, &unsure) {
		e.Store.CreationLost(in.Service.UID)
	}
	if err != nil && !in.Settings.Floating.Keep && leavesFloatingIP(now) { // the Service may not request it any more when it is served next
		e.Store.SetUnattachedFloatingIP(in.Service.UID, true)
	}
	if lb := now.LoadBalancer; lb != nil && lb.Shared == nil && lb.ID != "" {
		e.Store.SetLoadBalancerID(in.Service.UID, lb.ID)
		e.enter(in, lb)
	}
}

// enter records where a Service comes to that was elsewhere before: if it turns back halfway, it has
// something there. Nil is a load balancer that is being created.
func (e *Engine) enter(in Inputs, lb *model.LoadBalancer) {
	switch {
	case settledOn(lb, in):
	case lb == nil:
		e.Store.Enter(in.Service.UID, "")
	default:
		e.Store.Enter(in.Service.UID, lb.ID)
	}
}

// Downgrade takes from an error what the provider, or Octavia, does not do. It reports
// whether a new plan, from what is then there, does without.
func (e *Engine) Downgrade(ctx context.Context, in Inputs, r *Round, now model.Observed, err error) bool {
	var refused *apply.RefusedError
	if !errors.As(err, &refused) {
		return e.createEmpty(ctx, in, err)
	}
	if s, failsOver := refused.Step.(plan.FailOver); failsOver && apierror.IsForbidden(err) {
		klog.FromContext(ctx).Info("Octavia does not let us fail over load balancers", "loadBalancer", s.ID, "err", refused.Err)
		e.Failovers.Forbid(s.ID)
		return true
	}
	provider := in.Settings.LoadBalancer.Provider
	if _, creates := refused.Step.(plan.CreateLoadBalancer); !creates && now.LoadBalancer != nil {
		provider = now.LoadBalancer.Provider
	}
	how, ok := e.inSingleSteps(in, r, provider, refused)
	if !ok {
		return e.createEmpty(ctx, in, err)
	}
	klog.FromContext(ctx).Info("This was refused, doing it in single steps "+how+", as with "+serialSetting, "provider", provider, "step", refused.Step.String(), "err", refused.Err)
	return true
}

// inSingleSteps notes that a step was refused, and reports whether single steps can do the same, and for
// how long they do.
//
//	refused                                              single steps
//	by a provider that does not have it, 501             from now on
//	because no request of the kind is taken here         from now on, in all rounds
//	in a way that may be about what it asks for          in this round: the next one sends it again
func (e *Engine) inSingleSteps(in Inputs, r *Round, provider string, refused *apply.RefusedError) (how string, ok bool) {
	const fromNowOn = "from now on"
	feature, optional := plan.Needs(refused.Step)
	if apierror.IsUnsupported(refused.Err) { // another round may have been first
		return fromNowOn, noteRefusal(e.Drivers, provider, refused.Step, false) || optional && !e.Drivers.For(provider, in.Version).Supports(feature)
	}
	if !optional || r.Serial != nil && r.Serial.feature == feature {
		return "", false
	}
	r.Serial = &Serial{feature, provider, refused}
	if !apierror.IsNoRoute(refused.Err) {
		return "this time", true
	}
	noteRefusal(e.Drivers, provider, refused.Step, true)
	return fromNowOn, true
}

// serialSetting is what has everything done in single steps from the start.
const serialSetting = "provider-requires-serial-api-calls=true in cloud.conf"

// Serial is a step that was refused in a way that may be about the kind of its request, and is done in
// single steps for the rest of the round.
type Serial struct {
	feature  driver.Feature
	provider string
	refused  *apply.RefusedError
}

// without returns a driver without what a step of the round was refused for; nil: none was.
func (s *Serial) without(drv driver.Driver) driver.Driver {
	if s == nil {
		return drv
	}
	return drv.Without(s.feature)
}

// Tried returns an error of a round with what has led to it. Where single steps are refused too, what
// they were tried in place of was refused for something else: their answer says for what, and it is tried
// again next time.
func (e *Engine) Tried(r *Round, err error) error {
	if r.Serial == nil || apierror.IsQuota(err) || !apierror.IsRefused(err) && !apierror.IsNoRoute(err) {
		return err
	}
	e.Drivers.Retract(r.Serial.provider, r.Serial.feature)
	what := map[driver.Feature]string{driver.FullCreate: "the load balancer with everything in it", driver.MemberBatches: "all members of a pool at once"}[r.Serial.feature]
	return fmt.Errorf("%w; this was one of the single requests that are sent with %s, after the request for %s was refused: %w", err, serialSetting, what, r.Serial.refused.Err)
}

// noteRefusal notes that a step was refused, by the provider with 501 or on its way to it, and reports
// whether the same can be done without.
//
//	step                          what it shows
//	full create                   the provider has no full creates
//	creation of an empty one      nothing of full creates: one that was refused before was refused for something else
//	batch of members              the provider has no batches
//	failover                      the provider has no failovers
//	any other                     nothing
func noteRefusal(drivers *driver.Registry, provider string, step plan.Step, onItsWay bool) bool {
	feature, optional := plan.Needs(step)
	if _, creates := step.(plan.CreateLoadBalancer); creates && !optional {
		drivers.Retract(provider, driver.FullCreate)
	}
	return optional && drivers.Refuse(provider, feature, onItsWay)
}

// createEmpty notes that a load balancer was refused with everything in it, so that it is
// created empty from now on. It reports whether that is likely to help at once: what a
// quota or the provider refuses, they refuse afterwards too.
func (e *Engine) createEmpty(ctx context.Context, in Inputs, err error) bool {
	var refused *apply.FullCreateError
	if !errors.As(err, &refused) {
		return false
	}
	klog.FromContext(ctx).Info("Octavia has refused the load balancer with everything in it, making it empty first from now on", "err", refused.Err)
	e.Store.MarkCreateEmpty(in.Service.UID)
	if apierror.IsSourceRangeCrash(err) {
		e.Drivers.RefuseRanges()
	}
	return apierror.IsCrash(err)
}

// checkCertificates asks for each certificate that a plan brings to a listener, before
// anything is changed: Octavia would refuse one that is not there in the middle of the plan.
func (e *Engine) checkCertificates(ctx context.Context, in Inputs, todo plan.Plan) error {
	if in.Settings.Listeners.ExternalStore {
		return nil
	}
	return lookup.Certificates(ctx, e.Cloud.Barbican, todo.Certificates(), in.Settings.Origin(annotation.TLSContainer).Name)
}

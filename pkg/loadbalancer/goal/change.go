package goal

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// Changes records the changes of load balancers: their beginning, their end, and which features an
// answer shows to be missing.
type Changes struct {
	store     *state.Store
	drivers   *driver.Registry
	failovers *Failovers
}

// Begin records that a plan is about to be applied: from now on, the last applied state is
// only a hint where to look.
func (c *Changes) Begin(in Inputs, r *Round, todo plan.Plan) {
	uid, first := in.Owner.UID, !r.Wrote
	r.Wrote = true
	if r.Want.LoadBalancer == nil { // the deletion has already dropped the rest
		if todo.DeletesLoadBalancer() {
			c.store.Creations.Found(uid, in.Published.Unserved())
		}
		return
	}
	if first {
		c.store.Update(uid, func(e *state.Entry) { e.Drift = state.Drift{} })
	}
	if id := todo.FailsOver(); id != "" {
		c.failovers.Begin(id)
	}
	c.store.Update(uid, func(e *state.Entry) {
		e.Made.Touched, e.Made.Weighed = true, e.Made.Weighed || in.Settings.Members.Drains()
	})
	switch r.Want.LoadBalancer.Provider {
	case driver.Router:
		c.store.Update(uid, func(e *state.Entry) { e.Made.VIP = true })
	case driver.PortForwarding:
		c.store.Update(uid, func(e *state.Entry) { e.Made.Forwards = true })
	default:
		c.enter(in, r.Have.LoadBalancer)
	}
	if todo.Creates() {
		c.store.Creations.Sent(uid)
	}
}

// End records the result of a plan: the current state, and its error.
func (c *Changes) End(in Inputs, now model.Observed, err error) {
	var unsure *apply.UnsureCreationError
	if errors.As(err, &unsure) {
		c.store.Creations.Lost(in.Owner.UID)
	}
	if err != nil && !in.Settings.Floating.Keep && leavesFloatingIP(now) { // the next plan may not request it any more
		c.store.Update(in.Owner.UID, func(e *state.Entry) { e.Made.UnattachedFloatingIP = true })
	}
	if lb := now.LoadBalancer; lb != nil && lb.Shared == nil && lb.ID != "" && !driver.WithoutOctavia(lb.Provider) {
		c.store.Update(in.Owner.UID, func(e *state.Entry) { e.Made.LoadBalancerID = lb.ID })
		c.enter(in, lb)
	}
}

// enter records the new load balancer of a Service that moves: if the Service turns back halfway,
// it leaves parts there. Nil is a load balancer that is being created.
func (c *Changes) enter(in Inputs, lb *model.LoadBalancer) {
	if settledOn(lb, in) {
		return
	}
	id := ""
	if lb != nil {
		id = lb.ID
	}
	c.store.Update(in.Owner.UID, func(e *state.Entry) { e.Made.Enter(id) })
}

// Downgrade records which feature the provider or Octavia lacks, according to an error. It reports
// whether a new plan, from the state that now exists, avoids that feature.
func (c *Changes) Downgrade(ctx context.Context, in Inputs, r *Round, now model.Observed, err error) bool {
	var refused *apply.RefusedError
	if !errors.As(err, &refused) {
		return c.createEmpty(ctx, in, err)
	}
	if s, failsOver := refused.Step.(plan.FailOver); failsOver && apierror.IsForbidden(err) {
		klog.FromContext(ctx).Info("Octavia does not let us fail over load balancers", "loadBalancer", s.ID, "err", refused.Err)
		c.failovers.Forbid(s.ID)
		return true
	}
	if _, adds := refused.Step.(plan.AddMember); adds && apierror.IsQuota(refused.Err) {
		again := !r.Batched
		r.Batched = true
		return again
	}
	provider := in.Settings.LoadBalancer.Provider
	if _, creates := refused.Step.(plan.CreateLoadBalancer); !creates && now.LoadBalancer != nil {
		provider = now.LoadBalancer.Provider
	}
	how, ok := c.inSingleSteps(in, r, provider, refused)
	if !ok {
		return c.createEmpty(ctx, in, err)
	}
	klog.FromContext(ctx).Info("This was refused, doing it in single steps "+how+", as with "+serialSetting, "provider", provider, "step", refused.Step.String(), "err", refused.Err)
	return true
}

// inSingleSteps records that a step was refused. It reports whether single steps can replace it,
// and for how long.
//
//	refusal                                              single steps
//	501: the provider lacks the feature                  from now on
//	no route for this kind of request                    from now on, in all rounds
//	any other                                            in this round: the next one sends the step again
func (c *Changes) inSingleSteps(in Inputs, r *Round, provider string, refused *apply.RefusedError) (how string, ok bool) {
	const fromNowOn = "from now on"
	feature, optional := plan.Needs(refused.Step)
	if apierror.IsUnsupported(refused.Err) { // perhaps recorded by another round
		return fromNowOn, noteRefusal(c.drivers, provider, refused.Step, false) || optional && !c.drivers.For(provider, in.Version).Supports(feature)
	}
	if !optional || r.Serial != nil && r.Serial.feature == feature {
		return "", false
	}
	r.Serial = &Serial{feature, provider, refused}
	if !apierror.IsNoRoute(refused.Err) {
		return "this time", true
	}
	noteRefusal(c.drivers, provider, refused.Step, true)
	return fromNowOn, true
}

// serialSetting is the setting that always uses single steps.
const serialSetting = "provider-requires-serial-api-calls=true in cloud.conf"

// Serial is a refused step that is done in single steps for the rest of the round, because its kind
// of request may be the cause.
type Serial struct {
	feature  driver.Feature
	provider string
	refused  *apply.RefusedError
}

// without returns a driver without the feature that was refused in this round; s may be nil.
func (s *Serial) without(drv driver.Driver) driver.Driver {
	if s == nil {
		return drv
	}
	return drv.Without(s.feature)
}

// WithFirstRefusal adds the first refusal to an error of single steps. If they are refused too, the kind of
// request was not the cause: their answer has the cause, and the next round tries the original step
// again.
func (c *Changes) WithFirstRefusal(r *Round, err error) error {
	if r.Serial == nil || apierror.IsQuota(err) || !apierror.IsRefused(err) && !apierror.IsNoRoute(err) {
		return err
	}
	c.drivers.Retract(r.Serial.provider, r.Serial.feature)
	what := map[driver.Feature]string{driver.FullCreate: "the load balancer with everything in it", driver.MemberBatches: "all members of a pool at once"}[r.Serial.feature]
	return fmt.Errorf("%w; this was a single request, as with %s, because the request for %s was refused before: %w", err, serialSetting, what, r.Serial.refused.Err)
}

// noteRefusal records that a step was refused, by the provider with 501 or before the provider got
// it. It reports whether the plan can do without it.
//
//	refused step                  conclusion
//	full create                   the provider has no full creates
//	empty create                  none: an earlier refusal of a full create had another cause
//	batch of members              the provider has no batches
//	failover                      the provider has no failovers
//	any other                     none
func noteRefusal(drivers *driver.Registry, provider string, step plan.Step, onItsWay bool) bool {
	feature, optional := plan.Needs(step)
	if _, creates := step.(plan.CreateLoadBalancer); creates && !optional {
		drivers.Retract(provider, driver.FullCreate)
	}
	return optional && drivers.Refuse(provider, feature, onItsWay)
}

// createEmpty records that a full create was refused, so that the load balancer is created empty
// from now on. It reports whether that can help at once: if a quota or the provider has refused the
// create, it refuses the parts too.
func (c *Changes) createEmpty(ctx context.Context, in Inputs, err error) bool {
	var refused *apply.FullCreateError
	if !errors.As(err, &refused) {
		return false
	}
	klog.FromContext(ctx).Info("Octavia has refused the load balancer with everything in it, making it empty first from now on", "err", refused.Err)
	c.store.Update(in.Owner.UID, func(e *state.Entry) { e.Made.CreateEmpty = true })
	if apierror.IsSourceRangeCrash(err) {
		c.drivers.RefuseRanges()
	}
	return apierror.IsCrash(err)
}

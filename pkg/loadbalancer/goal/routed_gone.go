package goal

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// RoutedGone is the goal that all objects of a Service with provider router or port-forwarding are removed.
type RoutedGone struct {
	*Engine
	in Inputs
	// asked is set if the Service requests one of these providers, forwarded if it requests port-forwarding.
	// asksFloatingIP is that of Gone.
	asked, forwarded, asksFloatingIP bool
	// found is set once a VIP or a port forwarding was found.
	found bool
}

// NewRoutedGone parses the settings of a Service that a deletion needs.
func (e *Engine) NewRoutedGone(of Subject) *RoutedGone {
	with := settings.ParseDeletion(of.Service)
	g := &RoutedGone{
		Engine: e, in: e.inputs(Subject{Service: of.Service}, &settings.Settings{}, nil, driver.VersionTags),
		asked: e.Settings.Routed(of.Service), forwarded: e.Settings.Forwarded(of.Service), asksFloatingIP: with.AsksFloatingIP,
	}
	g.in.Settings.Floating.Keep, g.in.ID.Releases = with.KeepFloatingIP, with.ReleaseFloatingIP
	return g
}

// Inputs implements Goal.
func (g *RoutedGone) Inputs() Inputs { return g.in }

// Owner implements Goal.
func (g *RoutedGone) Owner(Round) ownership.Identity { return g.in.ID }

// Recall returns nothing: a deletion reads its objects.
func (g *RoutedGone) Recall(context.Context, *async.Guard) (Known, error) { return Known{}, nil }

// Observe reads the ports of the Service, the routes to them, and all its floating IPs with their forwardings.
func (g *RoutedGone) Observe(ctx context.Context, _ *async.Guard) (Observation, error) {
	have, err := g.find(ctx)
	if err != nil {
		return have, err
	}
	if err := g.observer.leavingFloatingIPs(ctx, g.in, have, g.asksFloatingIP); err != nil {
		return have, err
	}
	forwarded, err := g.routedReader.forwarded(ctx, g.in.ID, g.in.Published, g.forwarded)
	withoutFloatingIPsOf(have.Observed, forwarded)
	for i := range forwarded {
		if have.LoadBalancer == nil {
			have.LoadBalancer = &forwarded[i]
		} else {
			have.Duplicates = append(have.Duplicates, forwarded[i])
		}
	}
	g.found = g.found || have.LoadBalancer != nil || len(have.Duplicates) > 0
	return have, err
}

// Found reports whether the Service had a VIP or port forwardings.
func (g *RoutedGone) Found() bool { return g.found }

// Verify implements Goal: the observation is complete.
func (g *RoutedGone) Verify(_ context.Context, r Round) (Observation, bool, error) {
	return r.Have, false, nil
}

// Desire implements Goal: nothing is desired.
func (g *RoutedGone) Desire(_ context.Context, r Round) (*Desired, error) {
	return &Desired{Basis: BasisOf(g.in, r.Have.LoadBalancer), Facts: desire.Facts{Driver: g.Cloud.Drivers.For(driver.Router, g.in.Version)}}, nil
}

// Plan implements Goal.
func (g *RoutedGone) Plan(_ context.Context, r Round) (plan.Plan, error) {
	return plan.Unlead(*r.Have.Observed, plan.Options{KeepFloatingIP: g.in.Settings.Floating.Keep}), nil
}

// Begin implements Goal: Commit removes security groups.
func (g *RoutedGone) Begin(context.Context, Round, plan.Plan) (SecurityGroups, plan.Report, error) {
	return SecurityGroups{Task: &securitygroup.Task{}}, plan.Report{}, nil
}

// Announce emits the planned deletions.
func (g *RoutedGone) Announce(_ Round, todo, _ plan.Plan) { g.Events.Planned(g.in.Object(), todo) }

// Prepare records the floating IP that outlives the Service, for the next Service of its name.
func (g *RoutedGone) Prepare(_ context.Context, r Round, _ plan.Plan) error {
	if lb := r.Have.LoadBalancer; g.in.Settings.Floating.Keep && lb != nil && lb.FloatingIP != nil && lb.FloatingIP.Owned {
		g.Memory.Store.Retained.Add(g.in.Owner.Key(), lb.FloatingIP.ID)
	}
	return nil
}

// Commit removes the security groups of the Service, unless they are those of another provider. If the Service may have
// a load balancer in Octavia, Gone follows, and needs the knowledge of it.
func (g *RoutedGone) Commit(ctx context.Context, r Round, _ plan.Plan, _ *async.Guard) (*v1.LoadBalancerStatus, error) {
	if g.asked || r.Wrote {
		if err := g.Groups.Remove(ctx, g.in.ID); err != nil {
			return nil, err
		}
		if !g.Memory.enteredOctavia(g.in.Owner.UID) {
			g.Memory.Store.Update(g.in.Owner.UID, func(e *state.Entry) { e.MarkRemoved(g.in.Settings.Floating.Keep) })
		}
	}
	return nil, nil
}

// Exists reports whether a port, floating IP or security group of the Service is left.
func (g *RoutedGone) Exists(ctx context.Context, wanted bool) (*v1.LoadBalancerStatus, bool, error) {
	if wanted {
		return g.in.Published.Status.DeepCopy(), true, nil
	}
	have, err := g.Observe(ctx, nil)
	if err != nil {
		return nil, false, err
	}
	left, err := g.Plan(ctx, Round{Have: have})
	if err != nil || !left.Empty() {
		return g.in.Published.Status.DeepCopy(), err == nil, err
	}
	exists, err := g.Groups.Exists(ctx, g.in.ID)
	return &v1.LoadBalancerStatus{}, exists, err
}

// RoutedAppeared reports whether a port of the Service is there, or with port-forwarding a floating IP, as after a
// creation without an answer.
func (g *RoutedGone) RoutedAppeared(ctx context.Context) (bool, error) {
	if g.forwarded {
		have, err := g.Observe(ctx, nil)
		return err == nil && !plan.Unlead(*have.Observed, plan.Options{KeepFloatingIP: g.in.Settings.Floating.Keep}).Empty(), err
	}
	have, err := g.find(ctx)
	return have.LoadBalancer != nil || len(have.Duplicates) > 0, err
}

// find reads the ports of the Service; if it has none, those without tags.
func (g *RoutedGone) find(ctx context.Context) (Observation, error) {
	have, err := g.routedReader.find(ctx, g.in)
	if err != nil || have.LoadBalancer != nil || len(have.Duplicates) > 0 {
		return have, err
	}
	untagged, err := g.Cloud.VIPs.Untagged(ctx, g.in.ID)
	if len(untagged) > 0 {
		have.LoadBalancer, have.Duplicates = &untagged[0], untagged[1:]
	}
	return have, err
}

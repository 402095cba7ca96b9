package goal

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Gone is nothing: all that was made for a Service is removed.
type Gone struct {
	e  *Engine
	in Inputs
	// known is what was applied last, which tells what is whose in the load balancer.
	known *model.LoadBalancer
	// asksFloatingIP is set where the Service asks for a certain floating IP, which was
	// there before.
	asksFloatingIP bool
	// guestOn is another's load balancer that the Service is, or was a moment ago, on.
	guestOn string
	// look and left are the states of Observe and Commit between two calls, unnamed is set where the named
	// load balancer is not the Service's.
	look    look
	unnamed bool
	left    *departure
}

// NewGone reads of a Service what it says of what it leaves behind. One that says something
// wrong can be deleted all the same; a floating IP that it perhaps means to keep is kept.
// Applied is what was applied last, nil where nobody knows, previous the load balancers
// that the Service is known to have been on.
func (e *Engine) NewGone(ctx context.Context, of Subject, applied *state.Applied, previous []string) (*Gone, error) {
	svc := of.Service
	version, err := e.Lookup.Version(ctx)
	if err != nil {
		return nil, err
	}
	says := settings.ParseDeletion(svc)
	g := &Gone{e: e, in: Inputs{
		Service: svc, Settings: &settings.Settings{}, ID: e.Identity(svc, version), Version: version, Previous: previous,
		Entered: e.Store.Get(svc.UID).Made.Entered,
	}}
	g.in.Settings.LoadBalancer.ID, g.in.Settings.Floating.Keep = says.LoadBalancerID, says.KeepFloatingIP
	g.asksFloatingIP, g.in.ID.Releases = says.AsksFloatingIP, says.ReleaseFloatingIP
	if applied != nil && applied.Contents != nil {
		g.known = applied.Contents
	}
	return g, nil
}

// Inputs implements Goal.
func (g *Gone) Inputs() Inputs { return g.in }

// Owner implements Goal.
func (g *Gone) Owner(r Round) ownership.Identity { return r.Have.As }

// Recall knows nothing: what is to be deleted is read.
func (g *Gone) Recall(context.Context, *async.Guard) (Known, error) { return Known{}, nil }

// Observe reads of the Service's load balancers as much as it takes to delete them, all its
// floating IPs, and what it has elsewhere. A load balancer that may be another's is left
// alone.
func (g *Gone) Observe(ctx context.Context, lock *async.Guard) (Observation, error) {
	var have Observation
	var err error
	if !g.unnamed {
		have, err = g.e.read(ctx, g.in, g.in.Settings.LoadBalancer.ID, g.e.outline(g.known), lock, &g.look)
		g.unnamed = observe.IsNotOurs(err)
	}
	if g.unnamed {
		have, err = g.e.read(ctx, g.in, "", g.e.outline(g.known), lock, &g.look)
	}
	if observe.IsNotOurs(err) {
		g.e.Events.NotDeleted(g.in.Service, err)
		have, err = nothing(g.in.ID), nil
	}
	if err != nil {
		return have, err
	}
	g.noteGuest(have.LoadBalancer)
	if err := g.e.leavingFloatingIPs(ctx, g.in.Service, have, g.asksFloatingIP); err != nil {
		return have, err
	}
	have.Elsewhere, err = g.e.elsewhere(ctx, g.in, have.LoadBalancer)
	have.Elsewhere = slices.DeleteFunc(have.Elsewhere, func(f observe.Found) bool { return have.Has(f.LoadBalancers[0].ID) })
	if old := have.Outgoing; err == nil && old != nil && len(old.Foreign) > 0 { // it stays, but for what is the Service's in it
		again, err := g.e.readAgain(ctx, old.ID)
		if err != nil || again == nil {
			return have, err
		}
		have.Elsewhere = append(have.Elsewhere, observe.Found{LoadBalancers: []octavia.LoadBalancer{*again}, As: have.As})
	}
	return have, err
}

// noteGuest remembers that the Service is on another's load balancer. When it has left that one
// and only then learns that it was the last, nothing else tells that it may delete it.
func (g *Gone) noteGuest(lb *model.LoadBalancer) {
	switch {
	case lb == nil || lb.Shared == nil:
	case lb.Holds():
		g.guestOn = lb.ID
	case lb.ID == g.guestOn:
		left := *lb.Shared
		left.Left = true
		lb.Shared = &left
	}
}

// Verify implements Goal: all of it was read.
func (g *Gone) Verify(_ context.Context, r Round) (Observation, bool, error) {
	return r.Have, false, nil
}

// Desire implements Goal: nothing is desired.
func (g *Gone) Desire(_ context.Context, r Round) (*Desired, error) {
	want := &Desired{Basis: BasisOf(g.in, r.Have.LoadBalancer)}
	if lb := r.Have.LoadBalancer; lb != nil {
		want.Facts.Driver = g.e.Drivers.For(lb.Provider, g.in.Version)
	}
	return want, nil
}

// Plan implements Goal.
func (g *Gone) Plan(_ context.Context, r Round) (plan.Plan, error) {
	return plan.Delete(*r.Have.Observed, plan.Options{
		KeepFloatingIP: g.in.Settings.Floating.Keep,
		Describe:       g.in.ID.FloatingIPDescription(),
		Cascade:        g.e.Config.LoadBalancer.CascadeDelete,
		Driver:         r.Want.Facts.Driver,
	}), nil
}

// Begin implements Goal: security groups are removed in the end.
func (g *Gone) Begin(context.Context, Round, plan.Plan) (SecurityGroups, plan.Report, error) {
	return SecurityGroups{Task: &securitygroup.Task{}}, plan.Report{}, nil
}

// Announce emits what is going to be removed.
func (g *Gone) Announce(_ Round, todo, _ plan.Plan) {
	g.e.Events.Planned(g.in.Service, todo)
}

// Prepare notes the floating IPs that outlive the Service, for the next one of its name.
func (g *Gone) Prepare(_ context.Context, r Round, _ plan.Plan) error {
	if !g.in.Settings.Floating.Keep {
		return nil
	}
	name := cluster.Key(g.in.Service)
	all := slices.Clone(r.Have.UnattachedFloatingIPs)
	for _, lb := range append([]model.LoadBalancer{ptr.Deref(r.Have.LoadBalancer, model.LoadBalancer{}), ptr.Deref(r.Have.Outgoing, model.LoadBalancer{})}, r.Have.Duplicates...) {
		if lb.FloatingIP != nil {
			all = append(all, *lb.FloatingIP)
		}
	}
	for _, fip := range all {
		if fip.Owned {
			g.e.Store.RetainFloatingIP(name, fip.ID)
		}
	}
	return nil
}

// Commit removes what the Service has elsewhere, and its security groups.
func (g *Gone) Commit(ctx context.Context, r Round, _ plan.Plan, lock *async.Guard) (*v1.LoadBalancerStatus, error) {
	keep := g.in.Settings.Floating.Keep
	if g.left == nil {
		g.left = &departure{all: r.Have.Elsewhere}
	}
	if err := g.e.leave(ctx, g.in, g.left, plan.Options{KeepFloatingIP: keep}, lock); err != nil {
		return nil, err
	}
	g.left = nil
	if err := g.e.Groups.Remove(ctx, g.in.ID); err != nil {
		return nil, err
	}
	g.e.Store.MarkRemoved(g.in.Service.UID, keep)
	return nil, nil
}

package goal

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// Gone is the goal that all objects of a Service are removed.
type Gone struct {
	in Inputs
	// known are the last applied contents: they show which parts of the load balancer are the
	// Service's.
	known *model.LoadBalancer
	// asksFloatingIP is set if the Service requests an existing floating IP.
	asksFloatingIP bool
	// guestOn is the shared load balancer that the Service uses, or has just left.
	guestOn string
	// look and left keep the progress of Observe and Commit between two calls, unnamed is set if
	// the named load balancer is not the Service's.
	look    reading.Search
	unnamed bool
	left    *departure

	config   *config.Config
	store    *state.Store
	drivers  *driver.Registry
	events   *events.Recorder
	observer *observer
	groups   NodeGroups
	leaver   *leaver
}

// NewGone parses the settings of a Service that a deletion needs. Invalid settings do not prevent a
// deletion; if the Service may intend to keep a floating IP, it is kept. Applied is the last
// applied state, nil if unknown; previous are the known earlier load balancers of the Service.
func (e *Engine) NewGone(ctx context.Context, of Subject, applied *state.Applied, previous []string) (*Gone, error) {
	svc := of.Service
	version, err := e.Cloud.Lookup.Version(ctx)
	if err != nil {
		return nil, err
	}
	says := settings.ParseDeletion(svc)
	g := &Gone{
		in:     e.inputs(Subject{Service: svc}, &settings.Settings{}, nil, version),
		config: e.Config, store: e.Memory.Store, drivers: e.Cloud.Drivers, events: e.Events, observer: e.observer, groups: e.Groups, leaver: e.leaver,
	}
	g.in.Previous = previous
	g.in.Settings.LoadBalancer.ID, g.in.Settings.Floating.Keep = says.LoadBalancerID, says.KeepFloatingIP
	if g.in.Settings.LoadBalancer.Share = says.Share; says.Share != "" {
		if g.in.Settings.LoadBalancer.ID, err = e.sharers.leaving(ctx, svc, says.Share, previous); err != nil {
			return nil, err
		}
	}
	g.asksFloatingIP, g.in.ID.Releases = says.AsksFloatingIP, says.ReleaseFloatingIP
	if applied != nil && applied.Depth != model.Listed {
		g.known = applied.Contents
	}
	return g, nil
}

// Inputs implements Goal.
func (g *Gone) Inputs() Inputs { return g.in }

// Owner implements Goal.
func (g *Gone) Owner(r Round) ownership.Identity { return r.Have.As }

// Recall returns nothing: a deletion reads its objects.
func (g *Gone) Recall(context.Context, *async.Guard) (Known, error) { return Known{}, nil }

// Observe reads the Service's load balancers as far as a deletion needs them, all its floating IPs,
// and its remains elsewhere. It leaves out a load balancer that may be another owner's.
func (g *Gone) Observe(ctx context.Context, lock *async.Guard) (Observation, error) {
	var have Observation
	var err error
	if !g.unnamed {
		have, err = g.observer.read(ctx, g.in, g.in.Settings.LoadBalancer.ID, leaving(g.config, g.known), lock, &g.look)
		g.unnamed = observe.IsNotOurs(err)
	}
	if g.unnamed {
		have, err = g.observer.read(ctx, g.in, "", leaving(g.config, g.known), lock, &g.look)
	}
	if observe.IsNotOurs(err) {
		g.events.NotDeleted(g.in.Object(), err)
		have, err = nothing(g.in.ID), nil
	}
	if err != nil {
		return have, err
	}
	g.rememberGuest(have.LoadBalancer)
	if err := g.observer.leavingFloatingIPs(ctx, g.in, have, g.asksFloatingIP); err != nil {
		return have, err
	}
	have.Elsewhere, err = g.observer.elsewhere(ctx, g.in, have.LoadBalancer)
	have.Elsewhere = slices.DeleteFunc(have.Elsewhere, func(f observe.Found) bool { return have.Has(f.LoadBalancers[0].ID) })
	if old := have.Outgoing; err == nil && old != nil && len(old.Foreign) > 0 { // only the Service's parts in it go
		again, err := g.observer.Reader.Listed(ctx, old.ID, have.As)
		have.Elsewhere = append(have.Elsewhere, again...)
		return have, err
	}
	return have, err
}

// rememberGuest remembers that the Service is on a shared load balancer: if it learns after leaving
// that it was the last guest, only this shows that it may delete the load balancer.
func (g *Gone) rememberGuest(lb *model.LoadBalancer) {
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

// Verify implements Goal: the observation is complete.
func (g *Gone) Verify(_ context.Context, r Round) (Observation, bool, error) {
	return r.Have, false, nil
}

// Desire implements Goal: nothing is desired.
func (g *Gone) Desire(_ context.Context, r Round) (*Desired, error) {
	want := &Desired{Basis: BasisOf(g.in, r.Have.LoadBalancer)}
	if lb := r.Have.LoadBalancer; lb != nil {
		want.Facts.Driver = g.drivers.For(lb.Provider, g.in.Version)
	}
	return want, nil
}

// Plan implements Goal.
func (g *Gone) Plan(_ context.Context, r Round) (plan.Plan, error) {
	return plan.Delete(*r.Have.Observed, plan.Options{
		KeepFloatingIP: g.in.Settings.Floating.Keep,
		Describe:       g.in.ID.FloatingIPs().Description(),
		Cascade:        g.config.LoadBalancer.CascadeDelete,
		Driver:         r.Want.Facts.Driver,
	}), nil
}

// Begin implements Goal: Commit removes security groups.
func (g *Gone) Begin(context.Context, Round, plan.Plan) (SecurityGroups, plan.Report, error) {
	return SecurityGroups{Task: &securitygroup.Task{}}, plan.Report{}, nil
}

// Announce emits the planned deletions.
func (g *Gone) Announce(_ Round, todo, _ plan.Plan) {
	g.events.Planned(g.in.Object(), todo)
}

// Prepare records the floating IPs that outlive the Service, for the next Service of its name.
func (g *Gone) Prepare(_ context.Context, r Round, _ plan.Plan) error {
	if !g.in.Settings.Floating.Keep {
		return nil
	}
	name := g.in.Owner.Key()
	all := slices.Clone(r.Have.UnattachedFloatingIPs)
	for _, lb := range append([]model.LoadBalancer{ptr.Deref(r.Have.LoadBalancer, model.LoadBalancer{}), ptr.Deref(r.Have.Outgoing, model.LoadBalancer{})}, r.Have.Duplicates...) {
		if lb.FloatingIP != nil {
			all = append(all, *lb.FloatingIP)
		}
	}
	for _, fip := range all {
		if fip.Owned {
			g.store.Retained.Add(name, fip.ID)
		}
	}
	return nil
}

// Commit removes the Service's remains elsewhere, and its security groups.
func (g *Gone) Commit(ctx context.Context, r Round, _ plan.Plan, lock *async.Guard) (*v1.LoadBalancerStatus, error) {
	keep := g.in.Settings.Floating.Keep
	if g.left == nil {
		g.left = &departure{all: r.Have.Elsewhere}
	}
	if err := g.leaver.leave(ctx, g.in, g.left, plan.Options{KeepFloatingIP: keep}, lock); err != nil {
		return nil, err
	}
	g.left = nil
	if err := g.groups.Remove(ctx, g.in.ID); err != nil {
		return nil, err
	}
	g.store.Update(g.in.Owner.UID, func(e *state.Entry) { e.MarkRemoved(keep) })
	return nil, nil
}

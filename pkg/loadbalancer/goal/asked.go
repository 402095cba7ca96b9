package goal

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// Asked is the goal that a Service gets its desired state.
type Asked struct {
	in Inputs
	// quiet suppresses events for settings without effect: the settings are not the Service's
	// current ones.
	quiet bool
	// last, look and left keep the progress of Recall, Observe and Commit between two calls.
	last *lastApplied
	look look
	left *departures
	// svc is the Service; gone are load balancers of its share that turned out not to exist, and lost
	// is set until another one is known.
	svc  *v1.Service
	gone []string
	lost bool

	memory   Memory
	events   *events.Recorder
	recaller *recaller
	observer *observer
	planner  *planner
	groups   *groups
	reporter *reporter
	checks   *checks
	leaver   *leaver
	results  *results
	rollouts *rollouts
	sharers  *sharers
}

// NewAsked parses the settings of a Service. The error is a refusal if they are invalid. Quiet is
// set if they are not the Service's current settings.
func (e *Engine) NewAsked(ctx context.Context, of Subject, quiet bool) (*Asked, error) {
	svc, object := of.Service, ObjectOf(of.Service)
	if written, ok := e.Memory.record(svc.UID); ok {
		e.Memory.Store.Update(svc.UID, func(of *state.Entry) { of.Warnings.Recall(written.Warnings) })
	}
	settings, ignored, errs := e.Settings.Parse(svc)
	if !quiet {
		e.Events.Warn(object, events.SettingsIgnored(events.Settings, ignored))
	}
	if len(errs) > 0 {
		return nil, message.Invalid(errs)
	}
	vips, err := e.Providers.leaves(ctx, svc, settings)
	if err != nil {
		return nil, err
	}
	version, err := e.Cloud.Lookup.Version(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.sharers.join(ctx, svc, settings, nil); err != nil {
		return nil, err
	}
	endpoints, err := e.Candidates.endpoints(ctx, svc, settings)
	if err != nil {
		return nil, err
	}
	selected, err := e.Candidates.choose(ctx, settings, of.Nodes)
	if err != nil {
		return nil, err
	}
	second := e.Candidates.second(settings, of.Nodes)
	e.Events.Warn(object, events.NodesSkipped(settings.Family, selected.Without), events.MembersLeft(settings.Members.NodeSelector.String(), selected))
	in := e.inputs(of, settings, selected, version)
	in.Endpoints, in.Second, in.VIPs = endpoints, second, vips
	return &Asked{
		in: in, quiet: quiet, svc: svc, sharers: e.sharers, memory: e.Memory, events: e.Events, recaller: e.recaller, observer: e.observer, planner: e.planner,
		groups: e.groups, reporter: e.reporter, checks: e.checks, leaver: e.leaver, results: e.results, rollouts: e.rollouts,
	}, nil
}

// Inputs implements Goal.
func (a *Asked) Inputs() Inputs { return a.in }

// Owner implements Goal.
func (a *Asked) Owner(Round) ownership.Identity { return a.in.ID }

// Recall returns the last applied state of this process, or the recorded one of the process before.
// If the desired state is the same and no change by another client is known, there is nothing to
// do.
func (a *Asked) Recall(ctx context.Context, lock *async.Guard) (Known, error) {
	if len(a.in.VIPs) > 0 {
		return Known{}, nil
	}
	if a.last == nil {
		last, err := a.recaller.lastApplied(ctx, a.in)
		if err != nil {
			return Known{}, err
		}
		a.last = &last
	}
	applied, want := a.last.applied, a.last.want
	if applied == nil {
		return Known{}, nil
	}
	if a.last.same {
		if lb := servedBy(a.in, applied); lb != nil {
			a.announceUnused(want, a.in.Settings.On(lb).For(want.Facts.Driver).Unused(), lb)
		}
		a.results.noteAddress(a.in)
		return Known{Status: publish(applied.Addresses(), a.in.Settings)}, a.memory.Store.Count(a.in.Owner, 0) // it has one: no limit
	}
	have, err := a.observer.recall(ctx, a.in, applied, true, lock)
	if err == nil && have.Observed == nil && applied.Depth == model.Listed {
		have.Observed, err = a.recaller.rebuild(ctx, a.in, applied, want)
		have.Knowledge = model.Knowledge{Source: model.Record, Confirmed: true}
	}
	if err == nil && have.Observed != nil {
		err = a.authorize(ctx, have)
	}
	return Known{Applied: applied, Have: have, Want: want}, err
}

// Observe reads load balancer and floating IPs. The error is a refusal if the Service may not share
// the load balancer that it names. If the one that it shares by name is gone, it gets another: that
// of the other Services, or its own.
func (a *Asked) Observe(ctx context.Context, lock *async.Guard) (Observation, error) {
	for {
		if a.lost {
			if err := a.sharers.join(ctx, a.svc, a.in.Settings, a.gone); err != nil {
				return Observation{}, err
			}
			a.lost = false
		}
		var have Observation
		var found bool
		var err error
		if len(a.in.VIPs) == 0 {
			have, found, err = a.observer.takeOver(ctx, a.in, lock, &a.look)
		}
		if err == nil && !found {
			have, err = a.observer.observe(ctx, a.in, a.in.Settings, lock, &a.look.search)
		}
		if err != nil {
			return have, err
		}
		named := a.in.Settings.LoadBalancer
		if have.LoadBalancer != nil || named.Share == "" || named.ID == "" {
			return have, a.authorize(ctx, have)
		}
		lock.Release()
		a.gone, a.lost = append(a.gone, named.ID), true
	}
}

func (a *Asked) authorize(ctx context.Context, have Observation) error {
	asked := sharing.Request{Address: a.in.Settings.LoadBalancerIP, Share: a.in.Settings.LoadBalancer.Share}
	return a.observer.sharing.Authorize(ctx, have.As, asked, have.LoadBalancer)
}

// Verify reads floating IPs if the known one is not the desired one.
func (a *Asked) Verify(ctx context.Context, r Round) (Observation, bool, error) {
	have, lb := r.Have, r.Have.LoadBalancer
	if lb.Shared != nil {
		return have, false, nil // it is the owner's
	}
	asked, _ := a.in.Settings.On(lb).AskedFloatingIP()
	if a.in.Settings.On(lb).FloatingIP() == (lb.FloatingIP != nil) && (lb.FloatingIP == nil || asked.Fits(*lb.FloatingIP)) {
		return have, false, nil
	}
	if plan.ForeignFloatingIP(r.Want.LoadBalancer, lb, plan.Options{Given: given(a.in)}) != nil {
		return have, false, nil // it stays
	}
	observed := *have.Observed
	observed.UnattachedFloatingIPs = nil
	have.Observed = &observed
	return have, true, a.observer.readFloatingIPs(ctx, a.in, a.in.ID, a.in.Settings, &observed)
}

// Desire returns the desired state on the existing load balancer.
func (a *Asked) Desire(ctx context.Context, r Round) (*Desired, error) {
	return a.planner.asked(ctx, a.in, r.Have.LoadBalancer)
}

// Plan compares the desired with the observed state.
func (a *Asked) Plan(ctx context.Context, r Round) (plan.Plan, error) {
	options := a.planner.options(a.in, r.Have.LoadBalancer, r.Serial)
	options.Batches = r.Batched
	options.Given = given(a.in)
	options.CreateEmpty = a.memory.Store.Get(a.in.Owner.UID).Made.CreateEmpty || a.memory.Store.Shortage.Recent()
	var err error
	if options.Replacement, err = a.planner.replacement(ctx, a.in, r.Have, r.Want); err != nil {
		return plan.Plan{}, err
	}
	todo := plan.Diff(r.Want.LoadBalancer, *r.Have.Observed, options)
	if todo.Blocked != "" {
		a.events.Planned(a.in.Object(), todo)
		return todo, &refusal.BlockedError{Why: todo.Blocked, Failed: r.Have.LoadBalancer.Status.Failed()}
	}
	return todo, a.reporter.unsettled(a.in, r, todo)
}

// Begin implements Goal.
func (a *Asked) Begin(ctx context.Context, r Round, first plan.Plan) (SecurityGroups, plan.Report, error) {
	groups, err := a.groups.plan(ctx, a.in, r, nil)
	return groups, a.reporter.report(a.in, r, first, groups), err
}

// Announce emits the planned changes, and settings without effect.
func (a *Asked) Announce(r Round, todo, reported plan.Plan) {
	object, emit, lb := a.in.Object(), a.events, r.Have.LoadBalancer
	a.reporter.announce(a.in, r, todo, reported)
	settings := a.in.Settings.On(lb)
	if lb == nil {
		settings = settings.For(r.Want.Facts.Driver).OnNew()
	}
	with := settings.For(r.Want.Facts.Driver)
	emit.Warn(object, events.MembersFollow(r.Want.Followed, with.KeepsNodes(), with.KeepsFlows())...)
	emit.Warn(object, events.HealthMonitorMissing(with.MissingMonitors()))
	a.announceUnused(r.Want, with.Unused(), lb)
	emit.Chosen(object, r.Want.Facts, todo)
	if second := r.Want.Settings.Second; second != "" {
		emit.Warn(object, events.NodesSkipped(second, a.in.Second.Without))
	}
	if fip := a.newForeignFloatingIP(r); fip != nil {
		emit.ForeignFloatingIP(object, *fip, lb.VIP.Address)
	}
	if !todo.Empty() && lb != nil && lb.Shared != nil && lb.FloatingIP == nil && a.in.Settings.FloatingIP() {
		emit.SharedWithoutFloatingIP(object, lb.VIP.Address)
	}
}

// announceUnused emits the settings that have no effect on a load balancer, nil for none. They are no part of
// the desired state, so that they can change without it.
func (a *Asked) announceUnused(want *Desired, unused []annotation.Notice, lb *model.LoadBalancer) {
	if !a.quiet {
		a.events.Warn(a.in.Object(), events.SettingsIgnored(events.Provider, slices.Concat(want.Facts.Ignored, unused, missingNamed(a.in, lb))))
	}
}

// newForeignFloatingIP returns a floating IP that another client has put on the VIP of a Service
// without one, if it is new. It is not changed.
func (a *Asked) newForeignFloatingIP(r Round) *model.FloatingIP {
	if r.Have.LoadBalancer == nil {
		return nil
	}
	fip := plan.ForeignFloatingIP(r.Want.LoadBalancer, r.Have.LoadBalancer, plan.Options{Given: given(a.in)})
	written, _ := a.memory.record(a.in.Owner.UID)
	if fip == nil || fip.ID == written.FloatingIPID || r.Applied != nil && fip.ID == r.Applied.LoadBalancer.FloatingIPID {
		return nil
	}
	return fip
}

// Prepare refuses a plan that exceeds limits of cloud.conf, or needs missing certificates.
func (a *Asked) Prepare(ctx context.Context, r Round, todo plan.Plan) error {
	if err := a.checks.limits(a.in, r, todo); err != nil {
		return err
	}
	if err := a.checks.floatingAddress(ctx, a.in, todo); err != nil {
		return err
	}
	return a.checks.certificates(ctx, a.in, todo)
}

// Commit removes the Service from its previous load balancers, closes the security groups, and
// stores the state. If steps were only reported, the published status stays.
func (a *Asked) Commit(ctx context.Context, r Round, reported plan.Plan, lock *async.Guard) (*v1.LoadBalancerStatus, error) {
	lb, named := r.Have.LoadBalancer, a.in.Settings.LoadBalancer.ID
	if r.Report.All() || !reported.Empty() {
		return a.results.storeReported(a.in, r, reported), nil
	}
	if a.left == nil {
		a.left = new(departures)
	}
	if err := a.leaver.leaveOthers(ctx, a.in, r, a.left, lock); err != nil {
		return nil, err
	}
	a.memory.Store.Update(a.in.Owner.UID, func(e *state.Entry) { e.Made.VIP, e.Made.Forwards = false, false })
	if err := a.groups.close(ctx, a.in, r, nil); err != nil {
		return nil, err
	}
	if a.in.Settings.Floating.Keep || !leavesFloatingIP(*r.Have.Observed) {
		a.memory.Store.Update(a.in.Owner.UID, func(e *state.Entry) { e.Made.UnattachedFloatingIP = false })
	}
	addresses := addressesOn(lb, a.in.Settings)
	a.events.Ready(a.in.Object(), lb, addresses)
	a.events.AddressChanged(a.in.Object(), a.in.Published.first(), addresses[0])
	a.results.remember(a.in, r, addresses, named, nil)
	if r.Wrote {
		a.rollouts.compare(ctx, a.in, r)
	}
	return publish(addresses, a.in.Settings), nil
}

package goal

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
)

// Asked is the goal that a Service gets its desired state.
type Asked struct {
	e  *Engine
	in Inputs
	// quiet suppresses events for settings without effect: the settings are not the Service's
	// current ones.
	quiet bool
	// triedTakeOver is set after the first takeOver, lists are kept while it waits.
	triedTakeOver bool
	lists         *project.Lists
	// look, last and left keep the progress of Observe, Recall and Commit between two calls.
	look reading.Search
	last *lastApplied
	left *departures
}

// NewAsked parses the settings of a Service. The error is a refusal if they are invalid. Quiet is
// set if they are not the Service's current settings.
func (e *Engine) NewAsked(ctx context.Context, of Subject, quiet bool) (*Asked, error) {
	svc := of.Service
	if written, ok := e.record(svc.UID); ok {
		e.Store.RecallWarnings(svc.UID, written.Warnings)
	}
	settings, ignored, errs := e.Settings.Parse(svc)
	if !quiet {
		e.Events.SettingsIgnored(svc, events.Settings, ignored)
	}
	if len(errs) > 0 {
		return nil, message.Invalid(errs)
	}
	version, err := e.Lookup.Version(ctx)
	if err != nil {
		return nil, err
	}
	endpoints, err := e.endpoints(ctx, svc, settings)
	if err != nil {
		return nil, err
	}
	selected, err := e.Members.Select(settings, of.Nodes)
	if err != nil {
		return nil, err
	}
	e.Events.NodesSkipped(svc, settings.Family, selected.Without)
	e.Events.MembersLeft(svc, settings.Members.NodeSelector.String(), selected)
	in := e.inputs(of, settings, selected, version)
	in.Endpoints = endpoints
	return &Asked{e: e, quiet: quiet, in: in}, nil
}

// Inputs implements Goal.
func (a *Asked) Inputs() Inputs { return a.in }

// Owner implements Goal.
func (a *Asked) Owner(Round) ownership.Identity { return a.in.ID }

// Recall returns the last applied state of this process, or the recorded one of the process before.
// If the desired state is the same and no change by another client is known, there is nothing to
// do.
func (a *Asked) Recall(ctx context.Context, lock *async.Guard) (Known, error) {
	if a.last == nil {
		last, err := a.lastApplied(ctx)
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
		a.e.noteAddress(a.in.Service, applied)
		return Known{Status: publish(applied.Address, a.in.Settings)}, a.e.Store.Count(a.in.Owner, 0) // it has one: no limit
	}
	have, err := a.e.recall(ctx, a.in, applied, true, lock)
	if err == nil && have.Observed == nil && applied.Depth == model.Listed {
		have.Observed, err = a.rebuild(ctx, applied, want)
		have.Knowledge = model.Knowledge{Source: model.Record, Confirmed: true}
	}
	if err == nil && have.Observed != nil {
		err = a.authorize(ctx, have)
	}
	return Known{Applied: applied, Have: have, Want: want}, err
}

// Observe reads load balancer and floating IPs. The error is a refusal if the Service may not share
// the load balancer that it names.
func (a *Asked) Observe(ctx context.Context, lock *async.Guard) (Observation, error) {
	have, found, err := a.takeOver(ctx, lock)
	if err == nil && !found {
		have, err = a.e.observe(ctx, a.in, a.in.Settings, lock, &a.look)
	}
	if err != nil {
		return have, err
	}
	return have, a.authorize(ctx, have)
}

func (a *Asked) authorize(ctx context.Context, have Observation) error {
	return a.e.Sharing.Authorize(ctx, have.As, a.in.Settings.LoadBalancerIP, have.LoadBalancer)
}

// Verify reads floating IPs if the known one is not the desired one.
func (a *Asked) Verify(ctx context.Context, r Round) (Observation, bool, error) {
	have, lb := r.Have, r.Have.LoadBalancer
	if lb.Shared != nil {
		return have, false, nil // it is the owner's
	}
	asked, _ := a.in.Settings.AskedFloatingIP()
	if a.in.Settings.FloatingIP() == (lb.FloatingIP != nil) && (lb.FloatingIP == nil || asked.Fits(*lb.FloatingIP)) {
		return have, false, nil
	}
	if plan.ForeignFloatingIP(r.Want.LoadBalancer, lb, plan.Options{Given: a.given()}) != nil {
		return have, false, nil // it stays
	}
	observed := *have.Observed
	observed.UnattachedFloatingIPs = nil
	have.Observed = &observed
	return have, true, a.e.readFloatingIPs(ctx, a.in, a.in.ID, a.in.Settings, &observed)
}

// Desire returns the desired state on the existing load balancer.
func (a *Asked) Desire(ctx context.Context, r Round) (*Desired, error) {
	return a.desire(ctx, r.Have.LoadBalancer)
}

func (a *Asked) desire(ctx context.Context, existing *model.LoadBalancer) (*Desired, error) {
	if existing == nil {
		if err := a.checkNamed(); err != nil {
			return nil, err
		}
	}
	return a.e.desire(ctx, a.in, a.in.Settings.On(existing), existing, "")
}

// Plan compares the desired with the observed state.
func (a *Asked) Plan(ctx context.Context, r Round) (plan.Plan, error) {
	options := a.e.planOptions(a.in, r.Have.LoadBalancer, r.Serial)
	options.Given = a.given()
	options.CreateEmpty = a.e.Store.Get(a.in.Owner.UID).Made.CreateEmpty || a.e.Store.PartsShort()
	var err error
	if options.Replacement, err = a.replacement(ctx, r.Have, r.Want); err != nil {
		return plan.Plan{}, err
	}
	todo := plan.Diff(r.Want.LoadBalancer, *r.Have.Observed, options)
	if todo.Blocked != "" {
		a.e.Events.Planned(a.in.Service, todo)
		return todo, &refusal.BlockedError{Why: todo.Blocked, Failed: r.Have.LoadBalancer.Status.Failed()}
	}
	return todo, a.unsettled(r, todo)
}

// Begin implements Goal.
func (a *Asked) Begin(ctx context.Context, r Round, first plan.Plan) (SecurityGroups, plan.Report, error) {
	groups, err := a.e.planGroups(ctx, a.in, r, nil)
	return groups, a.e.report(a.in, r, first, groups), err
}

// Announce emits the planned changes, and settings without effect.
func (a *Asked) Announce(r Round, todo, reported plan.Plan) {
	svc, emit, lb := a.in.Service, a.e.Events, r.Have.LoadBalancer
	a.e.announce(a.in, r, todo, reported)
	settings := a.in.Settings.On(lb)
	emit.MembersFollow(svc, r.Want.Followed, settings.KeepsNodes(r.Want.Facts.Driver), settings.KeepsFlows(r.Want.Facts.Driver))
	emit.HealthMonitorMissing(svc, settings.MissingMonitors(r.Want.Facts.Driver))
	if !a.quiet {
		emit.SettingsIgnored(svc, events.Provider, slices.Concat(r.Want.Facts.Ignored, settings.Unused(r.Want.Facts.Driver), a.missingNamed(lb)))
	}
	emit.Chosen(svc, r.Want.Facts, todo)
	if fip := a.newForeignFloatingIP(r); fip != nil {
		emit.ForeignFloatingIP(svc, *fip, lb.VIP.Address)
	}
	if !todo.Empty() && lb != nil && lb.Shared != nil && lb.FloatingIP == nil && a.in.Settings.FloatingIP() {
		emit.SharedWithoutFloatingIP(svc, lb.VIP.Address)
	}
}

// newForeignFloatingIP returns a floating IP that another client has put on the VIP of a Service
// without one, if it is new. It is not changed.
func (a *Asked) newForeignFloatingIP(r Round) *model.FloatingIP {
	if r.Have.LoadBalancer == nil {
		return nil
	}
	fip := plan.ForeignFloatingIP(r.Want.LoadBalancer, r.Have.LoadBalancer, plan.Options{Given: a.given()})
	written, _ := a.e.record(a.in.Owner.UID)
	if fip == nil || fip.ID == written.FloatingIPID || r.Applied != nil && fip.ID == r.Applied.LoadBalancer.FloatingIPID {
		return nil
	}
	return fip
}

// Prepare refuses a plan that exceeds limits of cloud.conf, or needs missing certificates.
func (a *Asked) Prepare(ctx context.Context, r Round, todo plan.Plan) error {
	limits := a.e.Config.LoadBalancer
	opens := slices.ContainsFunc(r.Groups.Open, func(step securitygroup.Step) bool { _, adds := step.(securitygroup.AddRules); return adds })
	if err := message.Invalid(a.in.Settings.Exceeds(limits, r.Want.LoadBalancer, r.Have.LoadBalancer, opens)); err != nil {
		return err
	}
	most := int(limits.MaxServicesPerNamespace)
	if r.Have.LoadBalancer != nil || !todo.Creates() {
		most = 0
	}
	if err := a.e.Store.Count(a.in.Owner, most); err != nil {
		return err
	}
	if err := a.e.checkFloatingAddress(ctx, a.in, todo); err != nil {
		return err
	}
	return a.e.checkCertificates(ctx, a.in, todo)
}

// Commit removes the Service from its previous load balancers, closes the security groups, and
// stores the state. If steps were only reported, the published status stays.
func (a *Asked) Commit(ctx context.Context, r Round, reported plan.Plan, lock *async.Guard) (*v1.LoadBalancerStatus, error) {
	svc, lb, named := a.in.Service, r.Have.LoadBalancer, a.in.Settings.LoadBalancer.ID
	if r.Report.All() || !reported.Empty() {
		return a.e.commitReported(a.in, r, reported), nil
	}
	if err := a.leaveOthers(ctx, r, lock); err != nil {
		return nil, err
	}
	if err := a.e.closeGroups(ctx, a.in, r, nil); err != nil {
		return nil, err
	}
	if a.in.Settings.Floating.Keep || !leavesFloatingIP(*r.Have.Observed) {
		a.e.Store.SetUnattachedFloatingIP(svc.UID, false)
	}
	address := addressOf(lb, a.in.Settings)
	a.e.Events.Ready(svc, lb, address)
	a.e.Events.AddressChanged(svc, statusAddress(svc), address)
	a.e.remember(a.in, r, address, named, nil)
	return publish(address, a.in.Settings), nil
}

package goal

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
)

// withoutOctavia has what the goals Routed and Forwarded share: a Service gets its desired state or, if it is refused,
// keeps its addresses, and follows the nodes. They send no request to Octavia, unless the Service may have a load
// balancer there.
type withoutOctavia struct {
	*Engine
	in Inputs
	// unread are the invalid settings of a refused Service; nil if it is not refused. quiet is that of
	// Asked.
	unread *settings.Unread
	quiet  bool
	// limits are those of a refused Service: nodes that must not become members.
	limits Limits
	// look is the progress of the search for a load balancer in Octavia.
	look reading.Search
}

// NewRouted parses the settings of a Service. It returns the goal of its provider: Routed or Forwarded. Quiet is that
// of NewAsked.
func (e *Engine) NewRouted(ctx context.Context, of Subject, quiet bool) (Goal, error) {
	asked, ignored, errs := e.Settings.Parse(of.Service)
	if !quiet {
		e.Events.Warn(ObjectOf(of.Service), events.SettingsIgnored(events.Settings, ignored))
	}
	if len(errs) > 0 {
		return nil, message.Invalid(errs)
	}
	return e.newRouted(ctx, of, withoutOctavia{Engine: e, quiet: quiet}, asked)
}

// NewRoutedKept parses those settings of a refused Service that are valid. Provider is the one that serves it.
func (e *Engine) NewRoutedKept(ctx context.Context, of Subject, provider string, limits Limits) (Goal, error) {
	asked, unread := e.Settings.ParseKept(of.Service)
	asked.LoadBalancer.Provider = provider
	return e.newRouted(ctx, of, withoutOctavia{Engine: e, quiet: true, unread: &unread, limits: limits}, asked)
}

func (e *Engine) newRouted(ctx context.Context, of Subject, g withoutOctavia, asked *settings.Settings) (Goal, error) {
	asked = asked.InFirst() // there is one VIP
	if place, _ := annotation.WrittenPlace(of.Service); asked.LoadBalancer.ID == place {
		asked.LoadBalancer.ID = "" // from its time with another provider
	}
	object, provider := ObjectOf(of.Service), asked.Origins().Of(annotation.Provider).Name
	network, forwards := e.Config.LoadBalancer.RouterVIPNetworkID, asked.LoadBalancer.Provider == driver.PortForwarding
	switch {
	case network == "" && g.unread == nil && !forwards:
		return nil, &lookup.Error{Message: provider + ": the provider router needs router-vip-network-id in cloud.conf: ask the cluster's operator"}
	case e.Cluster.ID == "":
		return nil, &lookup.Error{Message: provider + ": the provider " + asked.LoadBalancer.Provider + " needs the right to read the namespace kube-system, whose UID identifies the cluster's load balancers: ask the cluster's operator"}
	}
	endpoints, err := e.Candidates.endpoints(ctx, of.Service, asked)
	if err != nil {
		return nil, err
	}
	selected, err := e.Members.Select(asked, g.limits.nodes(of.Nodes))
	if err != nil {
		return nil, err
	}
	e.Events.Warn(object, events.NodesSkipped(asked.Family, selected.Without), events.MembersLeft(asked.Members.NodeSelector.String(), selected))
	g.in = e.inputs(of, asked, selected, driver.VersionTags)
	g.in.Endpoints = endpoints
	if forwards {
		return &Forwarded{g}, nil
	}
	routed := &Routed{withoutOctavia: g}
	if g.unread == nil { // else the VIP stays in its pool
		routed.pool, err = e.Cloud.Lookup.Pools.Of(ctx, network, asked.Family)
	}
	return routed, err
}

// Inputs implements Goal.
func (g *withoutOctavia) Inputs() Inputs { return g.in }

// Owner implements Goal.
func (g *withoutOctavia) Owner(Round) ownership.Identity { return g.in.ID }

// Verify implements Goal: the observation is complete.
func (g *withoutOctavia) Verify(_ context.Context, r Round) (Observation, bool, error) {
	return r.Have, false, nil
}

// recall returns the last applied state of this process, and its status if that is the desired one. After a start, it
// returns the state in lists that all Services share. It returns nothing if a load balancer in Octavia must be read.
// Desire and first, which reads the lists, are those of the goal.
func (g *withoutOctavia) recall(ctx context.Context, first func(context.Context) (Known, error), desire func(context.Context, Round) (*Desired, error)) (Known, error) {
	if g.Memory.enteredOctavia(g.in.Owner.UID) {
		return Known{}, nil
	}
	applied := g.Memory.Store.Get(g.in.Owner.UID).Routed
	switch {
	case applied != nil && applied.LoadBalancer.Provider != g.in.Settings.LoadBalancer.Provider:
		return Known{}, nil
	case applied == nil:
		return first(ctx)
	case rebuilt(g.in, applied):
		return Known{}, nil // Neutron may have removed the port forwardings with the node's old port
	}
	have := Observation{Observed: &model.Observed{LoadBalancer: applied.LoadBalancer.Clone()}, As: g.in.ID, Knowledge: model.Knowledge{Confirmed: true}}
	want, err := desire(ctx, Round{Have: have})
	if err != nil {
		return Known{}, err
	}
	if want.digest == applied.Digest {
		g.announceUnused(want)
		return Known{Status: statusOf(have.LoadBalancer, g.in.Settings)}, nil
	}
	if asked, has := want.LoadBalancer.FloatingIP, have.LoadBalancer.FloatingIP; (asked == nil) != (has == nil) || asked != nil && !asked.Fits(*has) {
		return Known{}, nil // others, which are not attached, must be read
	}
	return Known{Have: have, Want: want}, nil
}

// outgoing returns the load balancer in Octavia that this one replaces; nil for none. Served is set if the published
// address is that of a VIP, or of port forwardings.
//
//	published address      annotation allow-replace    load balancer
//	none                   any                         replaced
//	served                 any                         replaced, if this process has begun it or found it
//	another                true                        replaced
//	another                false                       stays, and the Service is refused
func (g *withoutOctavia) outgoing(ctx context.Context, served bool, lock *async.Guard) (*model.LoadBalancer, error) {
	published := g.in.Published
	elsewhere := published.hasStatus() && !served
	mayHave := g.Memory.enteredOctavia(g.in.Owner.UID) || !published.hasStatus() && g.Memory.begunInOctavia(g.in.Owner, published)
	if !elsewhere && !mayHave {
		return nil, nil
	}
	version, err := g.Cloud.Lookup.Version(ctx)
	if auth.IsNoOctavia(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	in := g.in
	in.Version, in.ID = version, g.Cluster.Identity(in.Owner, version)
	have, err := g.observer.read(ctx, in, "", leaving(g.Config, nil), lock, &g.look)
	if observe.IsNotOurs(err) || auth.IsNoOctavia(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	old := have.LoadBalancer
	switch {
	case old == nil:
		return nil, nil
	case elsewhere && !g.in.Settings.LoadBalancer.AllowReplace:
		return nil, cannotChange(g.in.Settings, "load balancer of another provider", g.in.Settings.LoadBalancer.Provider)
	}
	if !old.Ends() || len(have.Duplicates) > 0 || have.Outgoing != nil {
		return nil, cannotChange(g.in.Settings, "load balancer that others use, or several", g.in.Settings.LoadBalancer.Provider)
	}
	return old, nil
}

// desired returns a desired state that still lacks the load balancer; lb is the existing one, nil for none. It refuses
// settings that the provider cannot serve.
func (g *withoutOctavia) desired(lb *model.LoadBalancer) (*Desired, error) {
	can := g.Cloud.Drivers.For(g.in.Settings.LoadBalancer.Provider, g.in.Version)
	want := &Desired{Basis: BasisOf(g.in, lb), Facts: desire.Facts{Driver: can}, Settings: g.in.Settings}
	if g.unread == nil {
		if err := message.Invalid(g.in.Settings.For(can).Validate()); err != nil {
			return want, err
		}
	}
	want.Followed = g.in.members(g.in.Settings, can)
	return want, nil
}

// Begin implements Goal.
func (g *withoutOctavia) Begin(ctx context.Context, r Round, first plan.Plan) (SecurityGroups, plan.Report, error) {
	spec, subnet := clientsSpec(g.in, r.Want), r.Want.LoadBalancer.VIP.SubnetID
	task, err := g.Groups.Plan(ctx, securitygroup.Request{
		ID: g.in.ID, Spec: spec, VIPSubnet: subnet, Before: g.in.Published.hasStatus() && (spec != nil || !r.Recalled || r.Have.Source == model.Lists),
		Kept: g.unread != nil, Unread: g.unread != nil && g.unread.Ranges, KeepPorts: g.in.Settings.LoadBalancer.Provider == driver.Router,
		NodesCurrent: g.in.NodesCurrent,
	})
	if err != nil {
		return SecurityGroups{}, plan.Report{}, err
	}
	return SecurityGroups{Task: task, VIPSubnet: subnet}, g.reported(r, first, task), nil
}

// reported returns which steps are only reported: all that would revert changes of another client, if the policy
// is to report them.
func (g *withoutOctavia) reported(r Round, first plan.Plan, groups *securitygroup.Task) plan.Report {
	before := g.in.Drift.Routed
	if before == nil || g.Config.LoadBalancer.DriftPolicy != drift.PolicyReport || before.Digest != r.Want.digest {
		return plan.Report{}
	}
	return plan.NewReport(plan.Applied{Same: true}, !first.Empty() || !groups.Empty())
}

// announce emits the planned changes.
func (g *withoutOctavia) announce(r Round, todo, reported plan.Plan) {
	object, groups := g.in.Object(), events.Summary(r.Groups.Steps())
	g.Events.Warn(object, events.PortsNotFound(r.Groups.Unfound, r.Groups.Strayed, r.Groups.Taken, g.in.Members.Backends))
	changed := g.in.Drift.Reason
	if r.Report.All() {
		g.Events.DriftReported(object, changed, groups)
		g.Events.DriftReported(object, changed, events.Summary(reported.Steps))
	} else {
		g.Events.GroupsChanging(object, groups)
		g.Events.Planned(object, todo)
		g.Events.DriftReverted(object, changed, events.Summary(todo.Steps))
	}
	g.Events.Warn(object, events.MembersFollow(r.Want.Followed, false, false)...)
}

// announceUnused emits the settings that have no effect, which are no part of the desired state.
func (g *withoutOctavia) announceUnused(want *Desired) {
	if !g.quiet {
		unused := g.in.Settings.For(want.Facts.Driver).Unused()
		g.Events.Warn(g.in.Object(), events.SettingsIgnored(events.Provider, slices.Concat(unused, want.Facts.Ignored)))
	}
}

// prepare refuses a plan that exceeds limits of cloud.conf, or that check refuses for its provider.
func (g *withoutOctavia) prepare(ctx context.Context, r Round, todo plan.Plan, check func() error) error {
	limits := g.Config.LoadBalancer
	if err := message.Invalid(settings.Exceeds(limits, g.in.Settings.Access, r.Want.LoadBalancer, r.Have.LoadBalancer, false)); err != nil {
		return err
	}
	if err := check(); err != nil {
		return err
	}
	if err := g.checks.floatingAddress(ctx, g.in, todo); err != nil {
		return err
	}
	most := int(limits.MaxServicesPerNamespace)
	if !todo.Creates() {
		most = 0
	}
	return g.Memory.Store.Count(g.in.Owner, most)
}

// Commit closes the security groups, stores the state, and returns the status. If steps were only reported, the
// published status stays.
func (g *withoutOctavia) Commit(ctx context.Context, r Round, reported plan.Plan, _ *async.Guard) (*v1.LoadBalancerStatus, error) {
	lb, uid := r.Have.LoadBalancer, g.in.Owner.UID
	applied := &state.Routed{LoadBalancer: lb.Clone(), Service: g.in.Owner.Key(), Digest: r.Want.digest, Reported: reported.Lines(), Server: serverOf(g.in, lb), Since: g.Cloud.Clock.Now()}
	if r.Report.All() {
		if lb != nil {
			g.Memory.Store.Update(uid, func(e *state.Entry) { e.SetRouted(applied) })
		}
		return g.in.Published.Status.DeepCopy(), nil
	}
	if err := g.Groups.Close(ctx, r.Groups.Task); err != nil {
		return nil, err
	}
	var access *state.Access // port forwardings open only NodePorts, which no other Service has
	if lb.Provider != driver.PortForwarding {
		has := accessIn(r.Groups.Spec)
		access = &has
	}
	g.Memory.Store.Update(uid, func(e *state.Entry) { e.Access = access })
	if g.in.Settings.Floating.Keep || !leavesFloatingIP(*r.Have.Observed) {
		g.Memory.Store.Update(uid, func(e *state.Entry) { e.Made.UnattachedFloatingIP = false })
	}
	if g.unread == nil || g.in.Published.shows(lb) { // else a load balancer in Octavia may be left
		g.Memory.Store.Update(uid, func(e *state.Entry) { e.SetRouted(applied) })
	}
	if g.unread != nil {
		return g.in.Published.Status.DeepCopy(), nil
	}
	g.Memory.Store.Update(uid, func(e *state.Entry) { e.Made.LoadBalancerID, e.Made.Entered = "", nil })
	addresses := addressesOn(lb, g.in.Settings)
	g.Events.Ready(g.in.Object(), lb, addresses)
	g.Events.AddressChanged(g.in.Object(), g.in.Published.first(), addresses[0])
	return statusOf(lb, g.in.Settings), nil
}

// statusOf returns the status of a VIP: first the address, or the host name, for users, then the VIP, which
// is the destination of the packets that nodes get. With another ipMode than VIP, kube-proxy would drop them. Port
// forwardings have no VIP.
func statusOf(lb *model.LoadBalancer, s *settings.Settings) *v1.LoadBalancerStatus {
	status := publish(addressesOn(lb, s), s)
	if lb.Provider == driver.PortForwarding {
		return status
	}
	mode := v1.LoadBalancerIPModeVIP
	vip := v1.LoadBalancerIngress{IP: lb.VIP.Address, IPMode: &mode}
	if status.Ingress[0].IP == vip.IP {
		status.Ingress = nil
	}
	status.Ingress = append(status.Ingress, vip)
	return status
}

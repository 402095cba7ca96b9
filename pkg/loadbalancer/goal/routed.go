package goal

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/digest"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// Routed is the goal of a Service with provider router or port-forwarding: it gets its desired state or, if it is
// refused, keeps VIP and floating IP, and follows the nodes. It sends no request to Octavia, unless the Service may have a
// load balancer there.
type Routed struct {
	*Engine
	in Inputs
	// unread are the invalid settings of a refused Service; nil if it is not refused. quiet is that of
	// Asked.
	unread *settings.Unread
	quiet  bool
	// provider is router or port-forwarding.
	provider string
	// pool has the VIP: that in cloud.conf, or that of an existing VIP; nil before Desire if the Service is
	// refused, and with port-forwarding.
	pool *lookup.Pool
	// look is the progress of the search for a load balancer in Octavia.
	look reading.Search
	// noFloatingIP is the reason why the Service gets no floating IP although it requests one.
	noFloatingIP string
}

// NewRouted parses the settings of a Service. Quiet is that of NewAsked.
func (e *Engine) NewRouted(ctx context.Context, of Subject, quiet bool) (*Routed, error) {
	asked, ignored, errs := e.Settings.Parse(of.Service)
	if !quiet {
		e.Events.Warn(ObjectOf(of.Service), events.SettingsIgnored(events.Settings, ignored))
	}
	if len(errs) > 0 {
		return nil, message.Invalid(errs)
	}
	return e.newRouted(ctx, of, &Routed{Engine: e, quiet: quiet, provider: asked.LoadBalancer.Provider}, asked)
}

// NewRoutedKept parses those settings of a refused Service that are valid. Provider is the one that serves it.
func (e *Engine) NewRoutedKept(ctx context.Context, of Subject, provider string) (*Routed, error) {
	asked, unread := e.Settings.ParseKept(of.Service)
	asked.LoadBalancer.Provider = provider
	return e.newRouted(ctx, of, &Routed{Engine: e, quiet: true, unread: &unread, provider: provider}, asked)
}

func (e *Engine) newRouted(ctx context.Context, of Subject, g *Routed, asked *settings.Settings) (*Routed, error) {
	asked = asked.InFirst() // there is one VIP
	if place, _ := annotation.WrittenPlace(of.Service); asked.LoadBalancer.ID == place {
		asked.LoadBalancer.ID = "" // from its time with another provider
	}
	object, provider := ObjectOf(of.Service), asked.Origins().Of(annotation.Provider).Name
	network := e.Config.LoadBalancer.RouterVIPNetworkID
	switch {
	case network == "" && g.unread == nil && !g.forwards():
		return nil, &lookup.Error{Message: provider + ": the provider router needs router-vip-network-id in cloud.conf: ask the cluster's operator"}
	case e.Cluster.ID == "":
		return nil, &lookup.Error{Message: provider + ": the provider " + g.provider + " needs the right to read the namespace kube-system, whose UID identifies the cluster's load balancers: ask the cluster's operator"}
	}
	endpoints, err := e.Candidates.endpoints(ctx, of.Service, asked)
	if err != nil {
		return nil, err
	}
	selected, err := e.Members.Select(asked, of.Nodes)
	if err != nil {
		return nil, err
	}
	e.Events.Warn(object, events.NodesSkipped(asked.Family, selected.Without), events.MembersLeft(asked.Members.NodeSelector.String(), selected))
	g.in = e.inputs(of, asked, selected, driver.VersionTags)
	g.in.Endpoints = endpoints
	if g.unread == nil && !g.forwards() { // else the VIP stays in its pool
		g.pool, err = e.Cloud.Lookup.Pools.Of(ctx, network, asked.Family)
	}
	return g, err
}

// Inputs implements Goal.
func (g *Routed) Inputs() Inputs { return g.in }

// Owner implements Goal.
func (g *Routed) Owner(Round) ownership.Identity { return g.in.ID }

// Verify implements Goal: the observation is complete.
func (g *Routed) Verify(_ context.Context, r Round) (Observation, bool, error) {
	return r.Have, false, nil
}

// Desire returns the desired VIP with its next hops: the present ones, unless their nodes have left.
func (g *Routed) Desire(ctx context.Context, r Round) (*Desired, error) {
	lb, can := r.Have.LoadBalancer, g.Cloud.Drivers.For(g.provider, g.in.Version)
	want := &Desired{Basis: BasisOf(g.in, lb), Facts: desire.Facts{Driver: can}, Settings: g.in.Settings}
	if lb != nil && !g.forwards() && (g.pool == nil || g.pool.SubnetID != lb.VIP.SubnetID) {
		var err error
		if g.pool, err = g.Cloud.Lookup.Pools.In(ctx, lb.VIP.SubnetID); err != nil {
			return want, err
		}
	}
	if g.unread == nil {
		if err := message.Invalid(g.in.Settings.For(can).Validate()); err != nil {
			return want, err
		}
	}
	want.Followed = g.in.members(g.in.Settings, can)
	if g.forwards() {
		return want, g.desireForwarded(ctx, want, lb)
	}
	hops, err := g.nextHops(want, lb)
	if err != nil {
		return want, err
	}
	if g.unread != nil {
		want.LoadBalancer = lb.Clone()
	} else if want.LoadBalancer, err = g.vip(ctx, lb); err != nil {
		return want, err
	}
	want.LoadBalancer.NextHops, want.LoadBalancer.Barred = hops, nil
	want.digest = digest.Of(want.LoadBalancer, g.in.Settings, g.spec(want))
	return want, nil
}

// vip returns the desired load balancer without next hops.
func (g *Routed) vip(ctx context.Context, existing *model.LoadBalancer) (*model.LoadBalancer, error) {
	s := g.in.Settings
	lb := &model.LoadBalancer{
		Name: g.in.ID.Name(), Description: g.in.ID.ProvenDescription(), Tags: slices.Concat(g.in.ID.Tags(), s.LoadBalancer.Tags), Provider: driver.Router,
		VIP: model.VIP{NetworkID: g.pool.NetworkID, SubnetID: g.pool.SubnetID, Address: s.VIP.Address},
	}
	var err error
	if lb.FloatingIP, g.noFloatingIP, err = g.Cloud.Lookup.Floating(ctx, s, existing, lb.VIP); err != nil {
		return nil, err
	}
	if lb.FloatingIP != nil {
		lb.FloatingIP.Description = g.in.ID.FloatingIPDescription()
	} else if lb.VIP.Address == "" {
		lb.VIP.Address = s.LoadBalancerIP
	}
	if existing != nil {
		if lb.VIP.Address != "" && lb.VIP.Address != existing.VIP.Address {
			return nil, &lookup.Error{Message: fmt.Sprintf("the VIP %s cannot become %s: delete the Service and create it again", existing.VIP.Address, lb.VIP.Address)}
		}
		lb.VIP.Address = existing.VIP.Address
	}
	return lb, nil
}

// nextHops returns the next hops of the VIP.
func (g *Routed) nextHops(want *Desired, lb *model.LoadBalancer) ([]string, error) {
	all, ready := nodesOf(want.Followed.Ports)
	candidates := slices.DeleteFunc(slices.Clone(all), func(n router.Node) bool { return !g.pool.Reaches(n.Address) })
	if len(all) > 0 && len(candidates) == 0 {
		return nil, &lookup.Error{Message: fmt.Sprintf("node %s (%s), as all others that can serve, is %s", all[0].Name, all[0].Address, g.unfit())}
	}
	var present []string
	most := g.in.Settings.Members.NextHops
	if lb != nil {
		present = lb.NextHops
	}
	if !ready && len(present) > 0 {
		most = min(most, len(present))
	}
	return router.Choose(string(g.in.Owner.UID), candidates, present, most), nil
}

// unfit completes a sentence about nodes that cannot be next hops.
func (g *Routed) unfit() string {
	return fmt.Sprintf("no next hop: the router of the VIPs, %s, must be its default gateway, or answers would take another way, "+
		"and the network of VIPs, %s, must be without nodes", g.pool.RouterID, g.pool.NetworkID)
}

// Plan compares the desired with the observed state.
func (g *Routed) Plan(_ context.Context, r Round) (plan.Plan, error) {
	options := plan.Options{KeepFloatingIP: g.in.Settings.Floating.Keep, Given: given(g.in)}
	if g.forwards() {
		return plan.Forward(r.Want.LoadBalancer, *r.Have.Observed, options), nil
	}
	options.Addresses = slices.DeleteFunc(g.in.Published.addresses(), func(address string) bool { return !g.pool.Holds(address) })
	return plan.Lead(r.Want.LoadBalancer, *r.Have.Observed, options), nil
}

// Begin implements Goal.
func (g *Routed) Begin(ctx context.Context, r Round, first plan.Plan) (SecurityGroups, plan.Report, error) {
	spec, subnet := g.spec(r.Want), ""
	if g.pool != nil {
		subnet = g.pool.SubnetID
	}
	task, err := g.Groups.Plan(ctx, securitygroup.Request{
		ID: g.in.ID, Spec: spec, VIPSubnet: subnet, Before: g.in.Published.hasStatus() && (spec != nil || !r.Recalled || r.Have.Source == model.Lists),
		Kept: g.unread != nil, Unread: g.unread != nil && g.unread.Ranges, NodesCurrent: g.in.NodesCurrent,
	})
	if err != nil {
		return SecurityGroups{}, plan.Report{}, err
	}
	return SecurityGroups{Task: task, VIPSubnet: subnet}, g.reported(r, first, task), nil
}

// reported returns which steps are only reported: all that would revert changes of another client, if the policy
// is to report them.
func (g *Routed) reported(r Round, first plan.Plan, groups *securitygroup.Task) plan.Report {
	before := g.in.Drift.Routed
	if before == nil || g.Config.LoadBalancer.DriftPolicy != drift.PolicyReport || before.Digest != r.Want.digest {
		return plan.Report{}
	}
	return plan.NewReport(plan.Applied{Same: true}, !first.Empty() || !groups.Empty())
}

// Announce emits the planned changes, and settings without effect.
func (g *Routed) Announce(r Round, todo, reported plan.Plan) {
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
	if g.pool != nil {
		var unfit []string
		for _, b := range g.in.Members.Backends {
			if !g.pool.Reaches(b.Address) {
				unfit = append(unfit, b.Node.Name)
			}
		}
		g.Events.Warn(object, events.HopsSkipped(unfit, g.unfit()))
	}
	g.announceUnused(r.Want)
}

// announceUnused emits the settings that have no effect, which are no part of the desired state.
func (g *Routed) announceUnused(want *Desired) {
	if g.quiet {
		return
	}
	ignored := g.in.Settings.For(want.Facts.Driver).Unused()
	if g.noFloatingIP != "" {
		ignored = append(ignored, annotation.Notice{Annotation: annotation.Internal, Message: g.noFloatingIP})
	}
	g.Events.Warn(g.in.Object(), events.SettingsIgnored(events.Provider, ignored))
}

// Prepare refuses a plan that exceeds limits of cloud.conf, or opens a port with other source ranges than
// another Service.
func (g *Routed) Prepare(ctx context.Context, r Round, todo plan.Plan) error {
	if g.unread != nil {
		return nil
	}
	limits := g.Config.LoadBalancer
	if err := message.Invalid(settings.Exceeds(limits, g.in.Settings.Access, r.Want.LoadBalancer, r.Have.LoadBalancer, false)); err != nil {
		return err
	}
	if g.forwards() {
		if err := g.mayForward(ctx, todo); err != nil {
			return err
		}
	} else if most := int(limits.RouterMaxRoutes); most > 0 && todo.Creates() {
		has, err := g.Cloud.VIPs.Table(g.pool.RouterID).Size(ctx)
		if err != nil {
			return err
		}
		if has+len(r.Want.LoadBalancer.NextHops) > most {
			return &lookup.Error{Message: fmt.Sprintf("router %s has %d routes, and router-max-routes of cloud.conf allows %d: ask the cluster's operator", g.pool.RouterID, has, most)}
		}
	}
	if err := g.checks.floatingAddress(ctx, g.in, todo); err != nil {
		return err
	}
	most := int(limits.MaxServicesPerNamespace)
	if !todo.Creates() {
		most = 0
	}
	if err := g.Memory.Store.Count(g.in.Owner, most); err != nil {
		return err
	}
	if g.forwards() { // no other Service has its NodePorts
		return nil
	}
	return g.claim(ctx)
}

// Commit closes the security groups, stores the state, and returns the status. If steps were only reported, the
// published status stays.
func (g *Routed) Commit(ctx context.Context, r Round, reported plan.Plan, _ *async.Guard) (*v1.LoadBalancerStatus, error) {
	lb, uid := r.Have.LoadBalancer, g.in.Owner.UID
	applied := &state.Routed{LoadBalancer: lb.Clone(), Service: g.in.Owner.Key(), Digest: r.Want.digest, Reported: reported.Lines(), Server: g.server(lb), Since: g.Cloud.Clock.Now()}
	if r.Report.All() {
		if lb != nil {
			g.Memory.Store.SetRouted(uid, applied)
		}
		return g.in.Published.Status.DeepCopy(), nil
	}
	if err := g.Groups.Close(ctx, r.Groups.Task); err != nil {
		return nil, err
	}
	if !g.forwards() {
		g.Memory.Store.Hold(uid, accessOf(g.in.Settings))
	}
	if g.in.Settings.Floating.Keep || !leavesFloatingIP(*r.Have.Observed) {
		g.Memory.Store.SetUnattachedFloatingIP(uid, false)
	}
	if g.unread == nil || g.serves(lb) { // else a load balancer in Octavia may be left
		g.Memory.Store.SetRouted(uid, applied)
	}
	if g.unread != nil {
		return g.in.Published.Status.DeepCopy(), nil
	}
	g.Memory.Store.LeaveOctavia(uid)
	addresses := addressesOn(lb, g.in.Settings)
	g.Events.Ready(g.in.Object(), lb, addresses)
	g.Events.AddressChanged(g.in.Object(), g.in.Published.first(), addresses[0])
	return g.status(lb), nil
}

// status returns the status of a VIP: first the address, or the host name, for users, then the VIP, which
// is the destination of the packets that nodes get. With another ipMode than VIP, kube-proxy would drop them. Port
// forwardings have no VIP.
func (g *Routed) status(lb *model.LoadBalancer) *v1.LoadBalancerStatus {
	status := publish(addressesOn(lb, g.in.Settings), g.in.Settings)
	if g.forwards() {
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

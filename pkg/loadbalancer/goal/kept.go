package goal

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// Kept is the goal that a refused Service keeps its load balancer: as in the cloud, or as first
// seen if other clients have changed it since. Only its members, which follow the nodes, and
// settings that follow kube-proxy (desire.Follow) change. Pools without a listener, remains of a
// refused plan, stay for the next plan.
type Kept struct {
	in     Inputs
	unread settings.Unread
	limits Limits
	// choose returns the nodes that become members with other settings. nodesMode chooses them if the
	// members change from pods to nodes: as in the last state that was completely applied, "" if that is unknown.
	choose    func(context.Context, *settings.Settings) (*members.Set, error)
	nodesMode string
	// like is the load balancer to keep: the first observation of the round.
	like *model.LoadBalancer
	// look is the progress of Observe between two calls, unnamed is set if the named load balancer
	// is not the Service's.
	look    reading.Search
	unnamed bool

	store    *state.Store
	lookup   *lookup.Reader
	events   *events.Recorder
	observer *observer
	planner  *planner
	groups   *groups
	reporter *reporter
	checks   *checks
	results  *results
}

// Limits are the restrictions that earlier attempts to keep a load balancer have found.
type Limits struct {
	// Without are the nodes that must not become members, because source ranges would not be
	// enforced on them.
	Without []string
	// Full is set if there is no quota for more members, NoMonitors if pools get no new monitors,
	// because OpenStack may refuse them.
	Full, NoMonitors bool
	// Lost are the certificates that no longer exist: listeners with them are not written.
	Lost []string
}

// Learn returns the limits of the next attempt after an error. It is false if the next attempt
// would fail in the same way.
func (l Limits) Learn(err error) (Limits, bool) {
	var open *securitygroup.UnenforcedError
	var lost *lookup.LostCertificateError
	switch {
	case errors.As(err, &open) && len(open.Nodes) > 0 && !slices.Contains(l.Without, open.Nodes[0]):
		l.Without = slices.Concat(l.Without, open.Nodes)
		return l, true
	case apierror.IsPartsQuota(err) && !l.Full:
		l.Full, l.NoMonitors = true, true
		return l, true
	case errors.As(err, &lost) && !slices.Contains(l.Lost, lost.Ref):
		l.Lost = slices.Concat(l.Lost, []string{lost.Ref})
		return l, true
	}
	return l, false
}

// nodes returns those of some nodes that may become members. It does not change the list.
func (l Limits) nodes(all []*v1.Node) []*v1.Node {
	return slices.DeleteFunc(slices.Clone(all), func(node *v1.Node) bool { return slices.Contains(l.Without, node.Name) })
}

// NewKept parses those settings of a refused Service that are valid.
func (e *Engine) NewKept(ctx context.Context, of Subject, limits Limits) (*Kept, error) {
	svc := of.Service
	parsed, unread := e.Settings.ParseKept(svc)
	if unread.Weights && e.Memory.weighed(svc.UID) { // how is unknown: members that get no new connections stay so
		parsed.Members.Weights = annotation.WeightsDrain
	}
	version, err := e.Cloud.Lookup.Version(ctx)
	if err != nil {
		return nil, err
	}
	endpoints, err := e.Candidates.watched(ctx, svc, parsed)
	if err != nil {
		return nil, err
	}
	nodes := limits.nodes(of.Nodes)
	selected, err := e.Candidates.choose(ctx, parsed, nodes)
	if err == nil && selected.Standing == members.Unselected { // the selector may be the refused change
		parsed.Members.NodeSelector, unread.Selector = labels.Everything(), true
		selected, err = e.Members.Select(parsed, nodes)
	}
	if err != nil {
		return nil, err
	}
	e.Events.Warn(ObjectOf(svc), events.MembersLeft(parsed.Members.NodeSelector.String(), selected))
	if parsed.LoadBalancer.Share != "" { // it stays where it is
		parsed.LoadBalancer.ID, parsed.LoadBalancer.Share = e.Memory.placeOf(svc)
	}
	in := e.inputs(of, parsed, selected, version)
	in.Endpoints, in.Second = endpoints, e.Candidates.second(parsed, nodes)
	var nodesMode string
	if last := e.Memory.Store.Get(svc.UID).Accepted; last != nil && !e.Settings.FollowsPods(last) {
		nodesMode = e.Settings.MembersMode(last)
	}
	return &Kept{
		in: in, unread: unread, limits: limits, nodesMode: nodesMode,
		choose: func(ctx context.Context, s *settings.Settings) (*members.Set, error) {
			return e.Candidates.choose(ctx, s, nodes)
		},
		store: e.Memory.Store, lookup: e.Cloud.Lookup, events: e.Events,
		observer: e.observer, planner: e.planner, groups: e.groups, reporter: e.reporter, checks: e.checks, results: e.results,
	}, nil
}

// Inputs implements Goal.
func (k *Kept) Inputs() Inputs { return k.in }

// Owner implements Goal.
func (k *Kept) Owner(Round) ownership.Identity { return k.in.ID }

// Recall returns the last applied state of this process, for comparison.
func (k *Kept) Recall(ctx context.Context, lock *async.Guard) (Known, error) {
	applied := k.store.Get(k.in.Owner.UID).Applied
	if applied != nil && applied.Depth == model.Settings {
		return Known{Applied: applied}, nil // keeping needs the full contents
	}
	have, err := k.observer.recall(ctx, k.in, applied, false, lock)
	return Known{Applied: applied, Have: have}, err
}

// Observe reads the current load balancer of the Service, not one that it newly names. If one load
// balancer shall replace another, it returns the one that serves. The error is
// refusal.ErrNothingKept if there is none.
func (k *Kept) Observe(ctx context.Context, lock *async.Guard) (Observation, error) {
	has := func(have Observation) bool {
		return have.LoadBalancer != nil && (have.LoadBalancer.Shared == nil || len(have.LoadBalancer.Listeners) > 0)
	}
	settings := *k.in.Settings
	var have Observation
	var err error
	if !k.unnamed {
		have, err = k.observer.observe(ctx, k.in, &settings, lock, &k.look)
		k.unnamed = settings.LoadBalancer.ID != "" && (observe.IsNotOurs(err) || err == nil && !has(have))
	}
	if k.unnamed {
		settings.LoadBalancer.ID = ""
		have, err = k.observer.observe(ctx, k.in, &settings, lock, &k.look)
	}
	if err == nil && !has(have) || observe.IsNotOurs(err) {
		err = refusal.ErrNothingKept
	}
	if err != nil {
		return have, err
	}
	if old := have.Outgoing; old != nil {
		have.Replaced = true
		if have.LoadBalancer.FloatingIP == nil && !slices.ContainsFunc(k.in.Published.addresses(), have.LoadBalancer.HasAddress) {
			have.LoadBalancer = old
		}
	}
	have.Outgoing, have.Duplicates = nil, nil
	return k.restoreFloatingIP(ctx, have, &settings)
}

// restoreFloatingIP finds a replacement for a floating IP that the load balancer has lost: the same
// one, else a new one from the Service's floating network.
func (k *Kept) restoreFloatingIP(ctx context.Context, have Observation, settings *settings.Settings) (Observation, error) {
	lb, address := have.LoadBalancer, k.in.Published.servedAt()
	if lb.Shared != nil || lb.FloatingIP != nil || !settings.FloatingIP() || address == "" || lb.HasAddress(address) {
		return have, nil
	}
	have.Lost = address
	asked := *settings
	asked.LoadBalancerIP = address
	err := k.observer.readFloatingIPs(ctx, k.in, have.As, &asked, have.Observed)
	var unavailable *observe.FloatingIPError
	if err != nil && !errors.As(err, &unavailable) {
		return have, err
	}
	same := func(fip model.FloatingIP) bool { return fip.Address == address }
	restored := &model.FloatingIP{Description: k.in.ID.FloatingIPs().Description()}
	if slices.ContainsFunc(have.UnattachedFloatingIPs, same) {
		restored.Address = address
	} else if facts, err := k.lookup.Gather(ctx, settings, nil, k.planner.driver(k.in, lb), lb); err == nil && facts.FloatingNetworkID != "" {
		restored.NetworkID, restored.SubnetIDs = facts.FloatingNetworkID, facts.FloatingSubnetIDs
	} else {
		klog.FromContext(ctx).Info("Cannot restore the floating IP of a Service that is refused", "address", address, "err", err, "why", facts.NoFloatingIP)
		return have, nil
	}
	have.Restored = restored
	return have, nil
}

// Verify implements Goal: the floating IP stays.
func (k *Kept) Verify(_ context.Context, r Round) (Observation, bool, error) {
	return r.Have, false, nil
}

// Desire returns the existing load balancer, or that before another client's change, with the
// members of the current nodes. The load balancer to keep stays the same for the whole round.
func (k *Kept) Desire(ctx context.Context, r Round) (*Desired, error) {
	lb := r.Have.LoadBalancer
	want := &Desired{Basis: BasisOf(k.in, lb), Facts: desire.Facts{Driver: k.planner.driver(k.in, lb)}}
	if k.like == nil {
		if err := k.usePresentMode(ctx, lb); err != nil {
			return want, err
		}
		k.like = k.before(lb)
	}
	want.Settings = k.in.Settings.On(lb)
	nodes := desire.Followers{
		ID: k.in.ID, Driver: want.Facts.Driver,
		Unchosen: k.unread.Selector, Capped: k.limits.Full, NoMonitors: k.limits.NoMonitors,
		Excluded: k.in.Members.Standing == members.Excluded,
		Weighs:   k.in.Settings.Members.Drains(),
		Drains:   k.in.Settings.Members.Drains() || k.planner.memory.weighed(k.in.Owner.UID),
		Subnet:   cmp.Or(k.in.Settings.Members.SubnetID, k.in.Settings.Members.DefaultSubnetID), Places: !lb.Adopted,
	}
	var err error
	if want.Followed, nodes.Subnets, err = k.members(ctx, lb, want.Facts.Driver); err != nil {
		return want, err
	}
	nodes.Ports = want.Followed.Ports
	want.LoadBalancer = desire.Follow(want.Settings, k.like, nodes)
	return want, nil
}

// members returns the members of each port, and their subnets as far as no setting has them.
func (k *Kept) members(ctx context.Context, lb *model.LoadBalancer, drv driver.Driver) (followed members.Followed, subnets map[string]string, err error) {
	s := k.in.Settings.On(lb)
	followed = k.in.members(s, drv)
	if followed.Pods {
		reach, err := k.planner.reach(ctx, k.in, lb.VIP, drv, followed.Ports)
		followed.Ports = followed.Ports.Without(slices.Collect(maps.Keys(reach.Missing)))
		return followed, reach.Subnets, err
	}
	switch own := s.Members.InNodeSubnets(); {
	case own:
		subnets, err = k.lookup.MemberSubnets(ctx, k.in.serving(followed.Ports, s.Families()))
	case s.Second != "": // the subnet in the settings is of the other IP family
		subnets, err = k.lookup.MemberSubnets(ctx, k.in.Second.Backends)
	}
	return followed, subnets, err
}

// before returns the load balancer before another client's change.
func (k *Kept) before(lb *model.LoadBalancer) *model.LoadBalancer {
	before := k.in.Drift.Before
	if before != nil && before.Depth == model.Full && before.LoadBalancer.ID == lb.ID {
		return before.Contents
	}
	return lb.Clone()
}

// Plan compares the load balancer to keep with the observed one, and leaves out pools without a
// listener that were there at the start.
func (k *Kept) Plan(_ context.Context, r Round) (plan.Plan, error) {
	lb := r.Have.LoadBalancer
	there := model.Observed{LoadBalancer: new(model.LoadBalancer)}
	*there.LoadBalancer = *lb
	there.LoadBalancer.Orphans = slices.DeleteFunc(slices.Clone(lb.Orphans), func(pool model.Pool) bool {
		return slices.ContainsFunc(k.like.Orphans, func(was model.Pool) bool { return was.ID == pool.ID })
	})
	want := *r.Want.LoadBalancer
	if want.FloatingIP = lb.FloatingIP; lb.FloatingIP == nil && r.Have.Restored != nil {
		want.FloatingIP, there.UnattachedFloatingIPs = r.Have.Restored, r.Have.UnattachedFloatingIPs
	}
	options := k.planner.options(k.in, lb, r.Serial)
	options.Batches = r.Batched
	options.MoveMembers = false
	todo := plan.Diff(&want, there, options).WithoutListeners(k.limits.Lost)
	if todo.Blocked != "" {
		return todo, &refusal.BlockedError{Why: todo.Blocked, Failed: lb.Status.Failed()}
	}
	return todo, nil
}

// Begin implements Goal.
func (k *Kept) Begin(ctx context.Context, r Round, first plan.Plan) (SecurityGroups, plan.Report, error) {
	groups, err := k.groups.plan(ctx, k.in, r, &k.unread)
	return groups, k.reporter.report(k.in, r, first, groups), err
}

// Announce emits the planned changes.
func (k *Kept) Announce(r Round, todo, reported plan.Plan) {
	k.reporter.announce(k.in, r, todo, reported)
}

// Prepare refuses a plan with missing certificates.
func (k *Kept) Prepare(ctx context.Context, _ Round, todo plan.Plan) error {
	return k.checks.certificates(ctx, k.in, todo)
}

// Commit closes the security groups, unless the Service is served elsewhere, and stores the state.
// The status stays, unless another floating IP replaces a lost one.
func (k *Kept) Commit(ctx context.Context, r Round, reported plan.Plan, _ *async.Guard) (*v1.LoadBalancerStatus, error) {
	lb, published := r.Have.LoadBalancer, k.in.Published
	if r.Report.All() || !reported.Empty() {
		return k.results.storeReported(k.in, r, reported), nil
	}
	elsewhere := r.Have.Replaced || !settledOn(lb, k.in) // another one serves, and this state does not cover it
	if !elsewhere {
		if err := k.groups.close(ctx, k.in, r, &k.unread); err != nil {
			return nil, err
		}
	}
	addresses, status := published.served(), published.Status.DeepCopy()
	if fip := lb.FloatingIP; fip != nil && r.Have.Lost != "" && !slices.Contains(addresses, fip.Address) {
		addresses = addressesOn(lb, k.in.Settings)
		k.events.AddressChanged(k.in.Object(), published.first(), addresses[0])
		status = publish(addresses, k.in.Settings)
	}
	k.results.remember(k.in, r, addresses, lb.ID, nil) // so that a Service that names another one still moves
	if elsewhere || len(k.limits.Lost) > 0 {           // else the listeners that were not written would count as they shall be
		k.store.Update(k.in.Owner.UID, (*state.Entry).DropApplied)
	}
	return status, nil
}

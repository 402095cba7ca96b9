package goal

import (
	"context"
	"fmt"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/digest"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// Routed is the goal of a Service with provider router: it gets its desired VIP or, if it is refused, keeps VIP and
// floating IP, and follows the nodes.
type Routed struct {
	withoutOctavia
	// pool has the VIP: that in cloud.conf, or that of an existing VIP; nil before Desire if the Service is
	// refused.
	pool *lookup.Pool
}

// Recall implements Goal: see withoutOctavia.recall.
func (g *Routed) Recall(ctx context.Context, _ *async.Guard) (Known, error) {
	return g.recall(ctx, g.first, g.Desire)
}

// first returns the state of a served Service in the first lists of this process, if they show that it has
// one VIP and at most a floating IP of its own. Changes are never based on it.
func (g *Routed) first(ctx context.Context) (Known, error) {
	uid, s := g.in.Owner.UID, g.in.Settings
	asked, _ := s.AskedFloatingIP()
	if !g.in.Published.hasStatus() || asked.Asked() || !g.Memory.Store.Get(uid).Unseen() {
		return Known{}, nil
	}
	all, err := g.Cloud.VIPs.First(ctx, ownership.ClusterTag(g.Cluster.ID), maxSnapshotAge)
	if err != nil || len(all[uid]) != 1 || !g.in.Published.shows(&all[uid][0]) {
		return Known{}, err
	}
	floating, err := g.Cloud.Project.FirstFloatingIPs(ctx)
	if err != nil {
		return Known{}, err
	}
	lb := all[uid][0].Clone()
	for _, fip := range floating.WithWords(string(uid)) {
		switch {
		case !g.in.ID.FloatingIPs().Own(fip.Description):
		case fip.PortID != lb.VIP.PortID:
			return Known{}, nil // the remains of an incomplete change
		default:
			lb.FloatingIP = &model.FloatingIP{ID: fip.ID, Address: fip.Address, PortID: fip.PortID, Description: fip.Description, Owned: true}
		}
	}
	return Known{Have: Observation{Observed: &model.Observed{LoadBalancer: lb}, As: g.in.ID, Knowledge: model.Knowledge{Source: model.Lists}}}, nil
}

// Observe reads the ports of the Service, the routes to them, the ports of the nodes, and its floating IPs. It looks for
// load balancers of the other providers if the Service may have any.
func (g *Routed) Observe(ctx context.Context, lock *async.Guard) (Observation, error) {
	have, err := g.routedReader.find(ctx, g.in)
	if err != nil {
		return have, err
	}
	lb := have.LoadBalancer
	if lb == nil && g.unread != nil {
		return have, refusal.ErrNothingKept
	}
	if lb != nil && len(lb.NextHops) > 0 {
		if lb.Barred, err = g.Cloud.VIPs.Barred(ctx, *lb); err != nil {
			return have, err
		}
	}
	var forwarded []model.LoadBalancer
	if g.unread == nil {
		if forwarded, err = g.leftForwardings(ctx); err != nil {
			return have, err
		}
		have.Duplicates = append(have.Duplicates, forwarded...)
		served := len(forwarded) > 0 || slices.ContainsFunc(g.in.Published.addresses(), g.pool.Holds) || lb != nil && g.in.Published.shows(lb)
		if g.in.Published.hasStatus() && !served && !g.in.Settings.LoadBalancer.AllowReplace {
			return have, cannotChange(g.in.Settings, "load balancer of another provider", driver.Router)
		}
		if have.Outgoing, err = g.outgoing(ctx, served, lock); err != nil {
			return have, err
		}
	}
	err = g.observer.readFloatingIPs(ctx, g.in, have.As, g.in.Settings, have.Observed)
	withoutFloatingIPsOf(have.Observed, forwarded)
	return have, err
}

// leftForwardings returns the port forwardings that the Service leaves for provider router, like Forwarded.leftVIPs.
func (g *Routed) leftForwardings(ctx context.Context) ([]model.LoadBalancer, error) {
	all, err := g.routedReader.forwarded(ctx, g.in.ID, g.in.Published, false)
	if len(all) > 0 && !g.in.Settings.LoadBalancer.AllowReplace {
		return nil, cannotChange(g.in.Settings, "load balancer of provider port-forwarding", driver.Router)
	}
	return all, err
}

// Desire returns the desired VIP with its next hops: the present ones, unless their nodes have left.
func (g *Routed) Desire(ctx context.Context, r Round) (*Desired, error) {
	lb := r.Have.LoadBalancer
	if lb != nil && (g.pool == nil || g.pool.SubnetID != lb.VIP.SubnetID) {
		var err error
		if g.pool, err = g.Cloud.Lookup.Pools.In(ctx, lb.VIP.SubnetID); err != nil {
			return nil, err
		}
	}
	want, err := g.desired(lb)
	if err != nil {
		return want, err
	}
	hops, err := g.nextHops(want, lb)
	if err != nil {
		return want, err
	}
	if g.unread != nil {
		want.LoadBalancer = lb.Clone()
	} else if err := g.vip(ctx, want, lb); err != nil {
		return want, err
	}
	want.LoadBalancer.NextHops, want.LoadBalancer.Barred = hops, nil
	want.digest = digest.Of(want.LoadBalancer, g.in.Settings, clientsSpec(g.in, want))
	return want, nil
}

// vip sets the desired load balancer without next hops, and why it has no floating IP although one is requested.
func (g *Routed) vip(ctx context.Context, want *Desired, existing *model.LoadBalancer) error {
	s := g.in.Settings
	lb := &model.LoadBalancer{
		Name: g.in.ID.Name(), Description: g.in.ID.ProvenDescription(), Tags: slices.Concat(g.in.ID.Tags(), s.LoadBalancer.Tags), Provider: driver.Router,
		VIP: model.VIP{NetworkID: g.pool.NetworkID, SubnetID: g.pool.SubnetID, Address: s.VIP.Address},
	}
	fip, why, err := g.Cloud.Lookup.Floating(ctx, s, existing, lb.VIP)
	if err != nil {
		return err
	}
	if why != "" {
		want.Facts.Ignored = []annotation.Notice{{Annotation: annotation.Internal, Message: why}}
	}
	if lb.FloatingIP = fip; fip != nil {
		fip.Description = g.in.ID.FloatingIPs().Description()
	} else if lb.VIP.Address == "" {
		lb.VIP.Address = s.LoadBalancerIP
	}
	if existing != nil {
		if lb.VIP.Address != "" && lb.VIP.Address != existing.VIP.Address {
			return &lookup.Error{Message: fmt.Sprintf("the VIP %s cannot become %s: delete the Service and create it again", existing.VIP.Address, lb.VIP.Address)}
		}
		lb.VIP.Address = existing.VIP.Address
	}
	want.LoadBalancer = lb
	return nil
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
	addresses := slices.DeleteFunc(g.in.Published.addresses(), func(address string) bool { return !g.pool.Holds(address) })
	return plan.Lead(r.Want.LoadBalancer, *r.Have.Observed, plan.Options{KeepFloatingIP: g.in.Settings.Floating.Keep, Given: given(g.in), Addresses: addresses}), nil
}

// Announce emits the planned changes, nodes that cannot be next hops, and settings without effect.
func (g *Routed) Announce(r Round, todo, reported plan.Plan) {
	g.announce(r, todo, reported)
	var unfit []string
	for _, b := range g.in.Members.Backends {
		if !g.pool.Reaches(b.Address) {
			unfit = append(unfit, b.Node.Name)
		}
	}
	g.Events.Warn(g.in.Object(), events.HopsSkipped(unfit, g.unfit()))
	g.announceUnused(r.Want)
}

// Prepare refuses a plan that exceeds limits of cloud.conf, or opens a port with other source ranges than
// another Service.
func (g *Routed) Prepare(ctx context.Context, r Round, todo plan.Plan) error {
	if g.unread != nil {
		return nil
	}
	if err := g.prepare(ctx, r, todo, func() error { return g.hasRoom(ctx, r.Want, todo) }); err != nil {
		return err
	}
	return g.claims.claim(ctx, g.in)
}

// hasRoom refuses a plan that adds more routes to the router than cloud.conf allows.
func (g *Routed) hasRoom(ctx context.Context, want *Desired, todo plan.Plan) error {
	most := int(g.Config.LoadBalancer.RouterMaxRoutes)
	if most <= 0 || !todo.Creates() {
		return nil
	}
	has, err := g.Cloud.VIPs.Table(g.pool.RouterID).Size(ctx)
	if err != nil {
		return err
	}
	if has+len(want.LoadBalancer.NextHops) > most {
		return &lookup.Error{Message: fmt.Sprintf("router %s has %d routes, and router-max-routes of cloud.conf allows %d: ask the cluster's operator", g.pool.RouterID, has, most)}
	}
	return nil
}

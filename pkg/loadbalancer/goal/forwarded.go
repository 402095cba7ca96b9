package goal

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/digest"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Forwarded is the goal of a Service with provider port-forwarding. Its load balancer is a floating IP with port
// forwardings to the NodePorts of one node, of which model.LoadBalancer has no VIP. If the Service is refused, it keeps
// these, and follows the nodes.
type Forwarded struct{ withoutOctavia }

// Recall implements Goal: see withoutOctavia.recall.
func (g *Forwarded) Recall(ctx context.Context, _ *async.Guard) (Known, error) {
	return g.recall(ctx, g.first, g.Desire)
}

// first returns the state of a served Service in the first lists of this process, if they show that it has one
// floating IP with port forwardings, and no VIP. Changes are never based on it.
func (g *Forwarded) first(ctx context.Context) (Known, error) {
	if !g.in.Published.hasStatus() || g.in.Published.Place != "" || !g.Memory.Store.Get(g.in.Owner.UID).Unseen() {
		return Known{}, nil
	}
	all, err := g.Cloud.Forwardings.First(ctx, maxSnapshotAge)
	if err != nil {
		return Known{}, err
	}
	if g.Config.LoadBalancer.RouterVIPNetworkID != "" {
		vips, err := g.Cloud.VIPs.First(ctx, ownership.ClusterTag(g.Cluster.ID), maxSnapshotAge)
		if err != nil || len(vips[g.in.Owner.UID]) > 0 {
			return Known{}, err
		}
	}
	addresses := g.in.Published.addresses() // none: a host name is published
	all = slices.DeleteFunc(slices.Clone(all), func(fip neutron.ForwardedIP) bool {
		return !g.in.ID.FloatingIPs().Own(fip.Description) && !slices.Contains(addresses, fip.Address)
	})
	if len(all) != 1 || len(addresses) > 0 && !slices.Contains(addresses, all[0].Address) {
		return Known{}, nil
	}
	lb := plan.Forwarded(listedIP(g.in.ID, all[0]), router.ListedOf(all[0]))
	return Known{Have: Observation{Observed: &model.Observed{LoadBalancer: lb}, As: g.in.ID, Knowledge: model.Knowledge{Source: model.Lists}}}, nil
}

// Desire returns the desired port forwardings: to the present node, unless it has left.
func (g *Forwarded) Desire(ctx context.Context, r Round) (*Desired, error) {
	lb := r.Have.LoadBalancer
	want, err := g.desired(lb)
	if err != nil {
		return want, err
	}
	target, port, err := g.target(ctx, want, lb)
	if err != nil {
		return want, err
	}
	if g.unread != nil {
		want.LoadBalancer = lb.Clone()
	} else if want.LoadBalancer, err = g.floating(ctx, lb, port); err != nil {
		return want, err
	}
	var forwardings []model.Forwarding
	for _, key := range g.keys(lb) {
		if target != "" {
			forwardings = append(forwardings, model.Forwarding{Key: key.ListenerKey, NodePort: key.nodePort, Address: target, PortID: port.ID})
		}
	}
	model.SortForwardings(forwardings)
	want.LoadBalancer.Forwardings, want.LoadBalancer.NextHops = forwardings, model.Targets(forwardings)
	want.digest = digest.Of(want.LoadBalancer, g.in.Settings, clientsSpec(g.in, want))
	return want, nil
}

// Plan compares the desired with the observed state.
func (g *Forwarded) Plan(_ context.Context, r Round) (plan.Plan, error) {
	return plan.Forward(r.Want.LoadBalancer, *r.Have.Observed, plan.Options{KeepFloatingIP: g.in.Settings.Floating.Keep, Given: given(g.in)}), nil
}

// Announce emits the planned changes, and settings without effect.
func (g *Forwarded) Announce(r Round, todo, reported plan.Plan) {
	g.announce(r, todo, reported)
	g.announceUnused(r.Want)
}

// Prepare refuses a plan that exceeds limits of cloud.conf, or forwards ports of others.
func (g *Forwarded) Prepare(ctx context.Context, r Round, todo plan.Plan) error {
	if g.unread != nil {
		return nil
	}
	return g.prepare(ctx, r, todo, func() error { return g.mayForward(ctx, todo) })
}

// forwardedPort is a port of a floating IP that is forwarded to a NodePort.
type forwardedPort struct {
	model.ListenerKey
	nodePort int
}

// keys returns the ports to forward: those of the Service; if it is refused, those that are forwarded.
func (g *Forwarded) keys(lb *model.LoadBalancer) []forwardedPort {
	var all []forwardedPort
	if g.unread != nil {
		for _, f := range lb.Forwardings {
			all = append(all, forwardedPort{f.Key, f.NodePort})
		}
		return all
	}
	for _, port := range g.in.Settings.Traffic.Ports {
		all = append(all, forwardedPort{model.ListenerKey{Transport: model.Protocol(port.Protocol), Port: int(port.Port)}, int(port.NodePort)})
	}
	return all
}

// target returns the address of the node that gets the packets, and its port: "" if there is no node. The present one
// stays while it is a candidate.
func (g *Forwarded) target(ctx context.Context, want *Desired, lb *model.LoadBalancer) (string, neutron.Port, error) {
	candidates, _ := nodesOf(want.Followed.Ports)
	for _, f := range forwardingsOn(lb) {
		stays := f.PortID != "" && slices.ContainsFunc(candidates, func(n router.Node) bool { return n.Address == f.Address })
		if stays {
			return f.Address, neutron.Port{ID: f.PortID}, nil
		}
	}
	if len(candidates) == 0 {
		return "", neutron.Port{}, nil
	}
	known := map[string]securitygroup.Node{}
	for _, b := range g.in.serving(want.Followed.Ports, nil) {
		known[b.Node.Name] = groupNode(b.Node, nil, b.Older)
	}
	fit, ports, err := g.Cloud.Forwardings.Targets(ctx, candidates, func(node router.Node, at []neutron.Port) []neutron.Port {
		return known[node.Name].Owned(at)
	})
	if err != nil {
		return "", neutron.Port{}, err
	}
	if len(fit) == 0 {
		return "", neutron.Port{}, &lookup.Error{Message: fmt.Sprintf("node %s (%s), as all others that can serve, %s", candidates[0].Name, candidates[0].Address, unforwardable)}
	}
	chosen := router.Choose(string(g.in.Owner.UID), fit, nil, 1)[0]
	return chosen, ports[chosen], nil
}

// unforwardable completes a sentence about nodes that cannot be the target of port forwardings.
const unforwardable = "gets no port forwardings: its server needs a port that this project sees, without a floating IP of its own"

// floating returns the desired load balancer without its port forwardings.
func (g *Forwarded) floating(ctx context.Context, existing *model.LoadBalancer, port neutron.Port) (*model.LoadBalancer, error) {
	s := g.in.Settings
	if s.Family != v1.IPv4Protocol || s.Internal {
		return nil, g.refused("needs a floating IP, and an internal Service, or one of IPv6, has none")
	}
	if asked, by := s.AskedFloatingIP(); asked.Tag != "" {
		return nil, g.refused("cannot tell which floating IPs with a tag are free: request one by its ID or address, without " + by)
	}
	var inside model.VIP // of the node, for the choice of the external network
	if len(port.FixedIPs) > 0 {
		inside.SubnetID, inside.NetworkID = port.FixedIPs[0].SubnetID, port.NetworkID
	}
	fip, why, err := g.Cloud.Lookup.Floating(ctx, s, existing, inside)
	if err != nil {
		return nil, err
	}
	if fip == nil {
		return nil, g.refused("needs a floating IP: " + why)
	}
	fip.Description = g.in.ID.FloatingIPs().Description()
	return &model.LoadBalancer{Provider: driver.PortForwarding, FloatingIP: fip}, nil
}

// refused returns a refusal because of the provider.
func (g *Forwarded) refused(why string) error {
	return &lookup.Error{Message: fmt.Sprintf("%s: the provider %s %s", g.in.Settings.Origins().Of(annotation.Provider).Name, driver.PortForwarding, why)}
}

// mayForward refuses a cloud without port forwardings, and the ports of others.
func (g *Forwarded) mayForward(ctx context.Context, todo plan.Plan) error {
	if todo.Creates() || slices.ContainsFunc(todo.Steps, addsFirst) {
		has, err := g.Cloud.Forwardings.Neutron.HasForwardings(ctx)
		if err != nil {
			return err
		}
		if !has {
			return g.refused("needs the service plug-in port_forwarding of Neutron, which this cloud lacks: ask the cloud's operator")
		}
	}
	for _, step := range todo.Steps {
		set, is := step.(plan.SetForwardings)
		if !is || !set.FloatingIP.Forwards || !set.Adds() {
			continue
		}
		others, err := g.Cloud.Forwardings.Neutron.Forwardings(ctx, set.FloatingIP.ID)
		if err != nil {
			return err
		}
		for _, other := range others {
			if key := router.KeyOf(other); !g.in.ID.ProvenBy(other.Description) && slices.ContainsFunc(set.To, func(f model.Forwarding) bool { return f.Key == key }) {
				return g.refused(fmt.Sprintf("cannot forward port %s of floating IP %s: another client has forwarded it", key, set.FloatingIP.Address))
			}
		}
	}
	return nil
}

// addsFirst reports whether a step adds the first port forwardings of a floating IP.
func addsFirst(step plan.Step) bool {
	set, is := step.(plan.SetForwardings)
	return is && !set.FloatingIP.Forwards && set.Adds()
}

// Observe reads the floating IPs of the Service and their forwardings. It looks for load balancers of the other
// providers if the Service may have any. The published address is the same before and after a change of provider: the
// load balancer in Octavia is written down on the Service until it is left.
func (g *Forwarded) Observe(ctx context.Context, lock *async.Guard) (Observation, error) {
	have := nothing(g.in.ID)
	var forwarded []model.LoadBalancer
	var err error
	if g.mayHaveForwardings() {
		if forwarded, err = g.routedReader.forwarded(ctx, g.in.ID, g.in.Published, true); err != nil {
			return have, err
		}
	}
	if g.unread == nil {
		if have.Duplicates, err = g.leftVIPs(ctx); err != nil {
			return have, err
		}
		served := g.in.Published.Place == "" && (len(have.Duplicates) > 0 || g.in.Drift.Routed != nil || len(forwarded) > 0)
		if have.Outgoing, err = g.outgoing(ctx, served, lock); err != nil {
			return have, err
		}
	}
	if err := g.observer.readFloatingIPs(ctx, g.in, have.As, g.in.Settings, have.Observed); err != nil {
		return have, err
	}
	asked, _ := g.in.Settings.AskedFloatingIP()
	chooseForwarded(have.Observed, forwarded, asked, g.in.Published.addresses())
	if have.LoadBalancer == nil && g.unread != nil {
		return have, refusal.ErrNothingKept
	}
	return have, nil
}

// leftVIPs returns the VIPs of provider router that the Service leaves. It refuses that unless the annotation
// allow-replace permits it.
func (g *Forwarded) leftVIPs(ctx context.Context) ([]model.LoadBalancer, error) {
	if g.Config.LoadBalancer.RouterVIPNetworkID == "" {
		return nil, nil
	}
	vips, err := g.routedReader.vipsWithFloatingIPs(ctx, g.in.ID)
	if router.Published(vips, g.in.Published.addresses()) >= 0 && g.in.Published.hasStatus() && !g.in.Settings.LoadBalancer.AllowReplace {
		return nil, cannotChange(g.in.Settings, "load balancer of provider router", driver.PortForwarding)
	}
	return vips, err
}

// mayHaveForwardings reports whether the Service may have port forwardings: it is published, this process has begun some,
// or the Service is older than the process.
func (g *Forwarded) mayHaveForwardings() bool {
	store := g.Memory.Store
	return g.in.Published.hasStatus() || store.Get(g.in.Owner.UID).Made.Forwards || store.Creations.Precedes(g.in.Published.Unserved())
}

// chooseForwarded sets the load balancer of a Service: of those with its port forwardings the one with a published address,
// else any, else a floating IP that it can have. Others with port forwardings of the Service are duplicates.
func chooseForwarded(observed *model.Observed, forwarded []model.LoadBalancer, asked model.FloatingIP, published []string) {
	withoutFloatingIPsOf(observed, forwarded)
	found := slices.Clone(forwarded)
	rest := observed.UnattachedFloatingIPs[:0:0]
	for _, fip := range observed.UnattachedFloatingIPs {
		if asked.Fits(fip) && fip.PortID == "" && (asked.Asked() || fip.Owned) {
			found = append(found, *plan.Forwarded(fip, nil))
		} else {
			rest = append(rest, fip)
		}
	}
	observed.UnattachedFloatingIPs = rest
	at := slices.IndexFunc(found, func(lb model.LoadBalancer) bool {
		return len(lb.Forwardings) > 0 && slices.Contains(published, lb.FloatingIP.Address)
	})
	if at < 0 {
		at = slices.IndexFunc(found, func(lb model.LoadBalancer) bool { return len(lb.Forwardings) > 0 })
	}
	if at < 0 && len(found) > 0 {
		at = 0
	}
	for i := range found {
		switch {
		case i == at:
			observed.LoadBalancer = &found[i]
		case len(found[i].Forwardings) > 0:
			observed.Duplicates = append(observed.Duplicates, found[i])
		default:
			observed.UnattachedFloatingIPs = append(observed.UnattachedFloatingIPs, *found[i].FloatingIP)
		}
	}
}

func forwardingsOn(lb *model.LoadBalancer) []model.Forwarding {
	if lb == nil {
		return nil
	}
	return lb.Forwardings
}

// serverOf returns the server of the node to which ports are forwarded, "" if it is not known.
func serverOf(in Inputs, lb *model.LoadBalancer) string {
	for _, f := range forwardingsOn(lb) {
		for _, b := range in.Members.Backends {
			if b.Address == f.Address {
				return cluster.ServerID(b.Node.Spec.ProviderID)
			}
		}
	}
	return ""
}

// rebuilt reports whether the node to which ports are forwarded is on another server than before.
func rebuilt(in Inputs, applied *state.Routed) bool {
	server := serverOf(in, applied.LoadBalancer)
	return server != "" && server != applied.Server
}

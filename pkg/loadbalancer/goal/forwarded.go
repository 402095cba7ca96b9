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
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Provider port-forwarding is a variant of provider router. Its load balancer is a floating IP with port forwardings
// to the NodePorts of one node, of which model.LoadBalancer has no VIP.

// forwards reports whether the goal is one of provider port-forwarding.
func (g *Routed) forwards() bool { return g.provider == driver.PortForwarding }

// desireForwarded returns the desired port forwardings: to the present node, unless it has left.
func (g *Routed) desireForwarded(ctx context.Context, want *Desired, lb *model.LoadBalancer) error {
	target, port, err := g.target(ctx, want, lb)
	if err != nil {
		return err
	}
	if g.unread != nil {
		want.LoadBalancer = lb.Clone()
	} else if want.LoadBalancer, err = g.floating(ctx, lb, port); err != nil {
		return err
	}
	var forwardings []model.Forwarding
	for _, key := range g.keys(lb) {
		if target != "" {
			forwardings = append(forwardings, model.Forwarding{Key: key.ListenerKey, NodePort: key.nodePort, Address: target, PortID: port.ID})
		}
	}
	model.SortForwardings(forwardings)
	want.LoadBalancer.Forwardings, want.LoadBalancer.NextHops = forwardings, model.Targets(forwardings)
	want.digest = digest.Of(want.LoadBalancer, g.in.Settings, g.spec(want))
	return nil
}

// forwarded is a port of a floating IP that is forwarded to a NodePort.
type forwarded struct {
	model.ListenerKey
	nodePort int
}

// keys returns the ports to forward: those of the Service; if it is refused, those that are forwarded.
func (g *Routed) keys(lb *model.LoadBalancer) []forwarded {
	var all []forwarded
	if g.unread != nil {
		for _, f := range lb.Forwardings {
			all = append(all, forwarded{f.Key, f.NodePort})
		}
		return all
	}
	for _, port := range g.in.Settings.Traffic.Ports {
		all = append(all, forwarded{model.ListenerKey{Transport: model.Protocol(port.Protocol), Port: int(port.Port)}, int(port.NodePort)})
	}
	return all
}

// target returns the address of the node that gets the packets, and its port: "" if there is no node. The present one
// stays while it is a candidate.
func (g *Routed) target(ctx context.Context, want *Desired, lb *model.LoadBalancer) (string, neutron.Port, error) {
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
	servers := map[string]string{}
	for _, b := range g.in.Members.Backends {
		servers[b.Node.Name] = cluster.ServerID(b.Node.Spec.ProviderID)
	}
	fit, ports, err := g.Cloud.Forwardings.Targets(ctx, candidates, servers)
	if err != nil {
		return "", neutron.Port{}, err
	}
	if len(fit) == 0 {
		return "", neutron.Port{}, &lookup.Error{Message: fmt.Sprintf("node %s (%s), as all others that can serve, %s", candidates[0].Name, candidates[0].Address, unforwardable)}
	}
	chosen := router.Choose(string(g.in.Owner.UID), fit, nil, 1)[0]
	return chosen, ports[chosen], nil
}

// server returns the server of the node to which ports are forwarded, "" if it is not known.
func (g *Routed) server(lb *model.LoadBalancer) string {
	for _, f := range forwardingsOn(lb) {
		for _, b := range g.in.Members.Backends {
			if b.Address == f.Address {
				return cluster.ServerID(b.Node.Spec.ProviderID)
			}
		}
	}
	return ""
}

// rebuilt reports whether the node to which ports are forwarded is on another server than before.
func (g *Routed) rebuilt(applied *state.Routed) bool {
	server := g.server(applied.LoadBalancer)
	return server != "" && server != applied.Server
}

// unforwardable completes a sentence about nodes that cannot be the target of port forwardings.
const unforwardable = "gets no port forwardings: it needs a port that this project sees, without a floating IP of its own"

func forwardingsOn(lb *model.LoadBalancer) []model.Forwarding {
	if lb == nil {
		return nil
	}
	return lb.Forwardings
}

// floating returns the desired load balancer without its port forwardings.
func (g *Routed) floating(ctx context.Context, existing *model.LoadBalancer, port neutron.Port) (*model.LoadBalancer, error) {
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
	fip.Description = g.in.ID.FloatingIPDescription()
	return &model.LoadBalancer{Provider: driver.PortForwarding, FloatingIP: fip}, nil
}

// refused returns a refusal because of the provider.
func (g *Routed) refused(why string) error {
	return &lookup.Error{Message: fmt.Sprintf("%s: the provider %s %s", g.in.Settings.Origins().Of(annotation.Provider).Name, g.provider, why)}
}

// mayForward refuses a cloud without port forwardings, and the ports of others.
func (g *Routed) mayForward(ctx context.Context, todo plan.Plan) error {
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
			if key := router.KeyOf(other); !g.in.ID.OwnsForwarding(other.Description) && slices.ContainsFunc(set.To, func(f model.Forwarding) bool { return f.Key == key }) {
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

// observeForwards is Observe for provider port-forwarding. The published address is the same before and after a change of
// provider: the load balancer in Octavia is written down on the Service until it is left.
func (g *Routed) observeForwards(ctx context.Context, lock *async.Guard) (Observation, error) {
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
	g.observeForwarded(have.Observed, forwarded, asked)
	if have.LoadBalancer == nil && g.unread != nil {
		return have, refusal.ErrNothingKept
	}
	return have, nil
}

// leftVIPs returns the VIPs of provider router that the Service leaves. It refuses that unless the annotation
// allow-replace permits it.
func (g *Routed) leftVIPs(ctx context.Context) ([]model.LoadBalancer, error) {
	if g.Config.LoadBalancer.RouterVIPNetworkID == "" {
		return nil, nil
	}
	vips, err := g.routedReader.vipsWithFloatingIPs(ctx, g.in.ID)
	if router.Published(vips, g.in.Published.addresses()) >= 0 && g.in.Published.hasStatus() && !g.in.Settings.LoadBalancer.AllowReplace {
		return nil, cannotChange(g.in.Settings, "load balancer of provider router", g.provider)
	}
	return vips, err
}

// leftForwardings returns the port forwardings that the Service leaves for provider router, like leftVIPs.
func (g *Routed) leftForwardings(ctx context.Context) ([]model.LoadBalancer, error) {
	all, err := g.routedReader.forwarded(ctx, g.in.ID, g.in.Published, false)
	if len(all) > 0 && !g.in.Settings.LoadBalancer.AllowReplace {
		return nil, cannotChange(g.in.Settings, "load balancer of provider port-forwarding", g.provider)
	}
	return all, err
}

// mayHaveForwardings reports whether the Service may have port forwardings: it is published, this process has begun some,
// or the Service is older than the process.
func (g *Routed) mayHaveForwardings() bool {
	store := g.Memory.Store
	return g.in.Published.hasStatus() || store.Get(g.in.Owner.UID).Made.Forwards || store.Precedes(g.in.Published.Unserved())
}

// observeForwarded sets the load balancer of a Service: of those with its port forwardings the one that is published,
// else any, else a floating IP that it can have. Others with port forwardings of the Service are duplicates.
func (g *Routed) observeForwarded(observed *model.Observed, forwarded []model.LoadBalancer, asked model.FloatingIP) {
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
		return len(lb.Forwardings) > 0 && slices.Contains(g.in.Published.addresses(), lb.FloatingIP.Address)
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

// recallForwarded is recallFirst for provider port-forwarding.
func (g *Routed) recallForwarded(ctx context.Context) (Known, error) {
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
		return !g.in.ID.OwnsFloatingIP(fip.Description) && !slices.Contains(addresses, fip.Address)
	})
	if len(all) != 1 || len(addresses) > 0 && !slices.Contains(addresses, all[0].Address) {
		return Known{}, nil
	}
	lb := plan.Forwarded(listedIP(g.in.ID, all[0]), router.ListedOf(all[0]))
	return Known{Have: Observation{Observed: &model.Observed{LoadBalancer: lb}, As: g.in.ID, Knowledge: model.Knowledge{Source: model.Lists}}}, nil
}

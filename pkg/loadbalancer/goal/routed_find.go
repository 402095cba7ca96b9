package goal

import (
	"context"
	"fmt"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
)

// Recall returns the last applied state of this process, and its status if that is the desired one. After a
// start, it returns the state in lists that all Services share. It returns nothing if a load balancer in Octavia must
// be read.
func (g *Routed) Recall(ctx context.Context, _ *async.Guard) (Known, error) {
	if g.Memory.enteredOctavia(g.in.Owner.UID) {
		return Known{}, nil
	}
	applied := g.Memory.Store.Get(g.in.Owner.UID).Routed
	switch {
	case applied != nil && applied.LoadBalancer.Provider != g.provider:
		return Known{}, nil
	case applied == nil && g.forwards():
		return g.recallForwarded(ctx)
	case applied == nil:
		return g.recallFirst(ctx)
	case g.rebuilt(applied):
		return Known{}, nil // Neutron may have removed the port forwardings with the node's old port
	}
	have := Observation{Observed: &model.Observed{LoadBalancer: applied.LoadBalancer.Clone()}, As: g.in.ID, Knowledge: model.Knowledge{Confirmed: true}}
	want, err := g.Desire(ctx, Round{Have: have})
	if err != nil {
		return Known{}, err
	}
	if want.digest == applied.Digest {
		g.announceUnused(want)
		return Known{Status: g.status(have.LoadBalancer)}, nil
	}
	if asked, has := want.LoadBalancer.FloatingIP, have.LoadBalancer.FloatingIP; (asked == nil) != (has == nil) || asked != nil && !asked.Fits(*has) {
		return Known{}, nil // others, which are not attached, must be read
	}
	return Known{Have: have, Want: want}, nil
}

// recallFirst returns the state of a served Service in the first lists of this process, if they show that it has
// one VIP and at most a floating IP of its own. Changes are never based on it.
func (g *Routed) recallFirst(ctx context.Context) (Known, error) {
	uid, s := g.in.Owner.UID, g.in.Settings
	asked, _ := s.AskedFloatingIP()
	if !g.in.Published.hasStatus() || asked.Asked() || !g.Memory.Store.Get(uid).Unseen() {
		return Known{}, nil
	}
	all, err := g.Cloud.VIPs.First(ctx, ownership.ClusterTag(g.Cluster.ID), maxSnapshotAge)
	if err != nil || len(all[uid]) != 1 || !g.serves(&all[uid][0]) {
		return Known{}, err
	}
	floating, err := g.Cloud.Project.FirstFloatingIPs(ctx)
	if err != nil {
		return Known{}, err
	}
	lb := all[uid][0].Clone()
	for _, fip := range floating.WithWords(string(uid)) {
		switch {
		case !g.in.ID.OwnsFloatingIP(fip.Description):
		case fip.PortID != lb.VIP.PortID:
			return Known{}, nil // the remains of an incomplete change
		default:
			lb.FloatingIP = &model.FloatingIP{ID: fip.ID, Address: fip.Address, PortID: fip.PortID, Description: fip.Description, Owned: true}
		}
	}
	return Known{Have: Observation{Observed: &model.Observed{LoadBalancer: lb}, As: g.in.ID, Knowledge: model.Knowledge{Source: model.Lists}}}, nil
}

// serves reports whether a VIP, or a floating IP with port forwardings, is published: then the Service has completed
// its change from another provider.
func (g *Routed) serves(lb *model.LoadBalancer) bool {
	address := lb.VIP.Address
	if g.forwards() {
		address = lb.FloatingIP.Address
	}
	return slices.Contains(g.in.Published.addresses(), address)
}

// Observe reads the ports of the Service, the routes to them, the ports of the nodes, and its floating IPs; with
// port-forwarding, its floating IPs and their forwardings. It looks for load balancers of the other providers if the
// Service may have any.
func (g *Routed) Observe(ctx context.Context, lock *async.Guard) (Observation, error) {
	if g.forwards() {
		return g.observeForwards(ctx, lock)
	}
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
		served := len(forwarded) > 0 || slices.ContainsFunc(g.in.Published.addresses(), g.pool.Holds) || lb != nil && g.serves(lb)
		if have.Outgoing, err = g.outgoing(ctx, served, lock); err != nil {
			return have, err
		}
	}
	err = g.observer.readFloatingIPs(ctx, g.in, have.As, g.in.Settings, have.Observed)
	withoutFloatingIPsOf(have.Observed, forwarded)
	return have, err
}

// outgoing returns the load balancer in Octavia that this one replaces; nil for none. Served is set if the published
// address is that of a VIP, or of port forwardings.
//
//	published address      annotation allow-replace    load balancer
//	none                   any                         replaced
//	served                 any                         replaced, if this process has begun it or found it
//	another                true                        replaced
//	another                false                       stays, and the Service is refused; with port-forwarding only if
//	                                                   there is one, because the floating IP may have been deleted
func (g *Routed) outgoing(ctx context.Context, served bool, lock *async.Guard) (*model.LoadBalancer, error) {
	published := g.in.Published
	elsewhere := published.hasStatus() && !served
	mayHave := g.Memory.enteredOctavia(g.in.Owner.UID) || !published.hasStatus() && g.Memory.begunInOctavia(g.in.Owner, published)
	switch {
	case !elsewhere && !mayHave:
		return nil, nil
	case elsewhere && !g.forwards() && !g.in.Settings.LoadBalancer.AllowReplace:
		return nil, cannotChange(g.in.Settings, "load balancer of another provider", g.provider)
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
		return nil, cannotChange(g.in.Settings, "load balancer of another provider", g.provider)
	}
	if !old.Ends() || len(have.Duplicates) > 0 || have.Outgoing != nil {
		return nil, cannotChange(g.in.Settings, "load balancer that others use, or several", g.provider)
	}
	return old, nil
}

// cannotChange refuses the change to another provider.
func cannotChange(asked *settings.Settings, has, to string) error {
	return &lookup.Error{Message: fmt.Sprintf("%s: the Service has a %s, and cannot change to %s: delete it and create it again, or permit the change with the annotation %s: \"true\"",
		asked.Origins().Of(annotation.Provider).Name, has, to, annotation.AllowReplace)}
}

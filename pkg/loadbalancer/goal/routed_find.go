package goal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
)

// ServedBy returns which of the providers router and port-forwarding serves a Service, whatever it requests, "" for
// none: this process has served it there, or Neutron has port forwardings or a port with its UID. VIPs of other
// providers may be in the same network.
func (e *Engine) ServedBy(ctx context.Context, svc *v1.Service) (provider string, err error) {
	entry := e.Memory.Store.Get(svc.UID)
	switch {
	case entry.Applied != nil:
		return "", nil
	case entry.Routed != nil:
		return entry.Routed.LoadBalancer.Provider, nil
	case entry.Drift.Routed != nil:
		return entry.Drift.Routed.LoadBalancer.Provider, nil
	}
	if all, err := e.forwardedBalancers(ctx, svc); err != nil || len(all) > 0 {
		return driver.PortForwarding, err
	}
	if on, err := e.onRouter(ctx, svc, entry); err != nil || !on {
		return "", err
	}
	return driver.Router, nil
}

func (e *Engine) onRouter(ctx context.Context, svc *v1.Service, entry state.Entry) (bool, error) {
	if !e.Settings.Routed(svc) || e.Settings.Forwarded(svc) || !PublishedOf(svc).hasStatus() { // else cloud.conf may name another network by now
		if in, err := e.InPool(ctx, svc); err != nil || !in {
			return false, err
		}
	}
	if !entry.Unseen() {
		found, err := e.Cloud.VIPs.Find(ctx, e.Cluster.Identity(settings.OwnerOf(svc), driver.VersionTags))
		return len(found) > 0, err
	}
	all, err := e.Cloud.VIPs.First(ctx, ownership.ClusterTag(e.Cluster.ID), maxSnapshotAge)
	return len(all[svc.UID]) > 0, err
}

// InPool reports whether a Service has an address in the network of VIPs. It is false if no Service can have a VIP
// there: Services of other providers do not depend on that network.
func (e *Engine) InPool(ctx context.Context, svc *v1.Service) (bool, error) {
	networkID, published := e.Config.LoadBalancer.RouterVIPNetworkID, PublishedOf(svc)
	if networkID == "" || !published.hasStatus() {
		return false, nil
	}
	pool, err := e.Cloud.Lookup.Pool(ctx, networkID, settings.FamilyOf(svc))
	if unusable := new(lookup.Error); errors.As(err, &unusable) {
		return false, nil
	}
	return err == nil && slices.ContainsFunc(published.addresses(), pool.Holds), err
}

// OnlyRouted reports whether a Service that requests the provider router has nothing in Octavia.
//
//	published address    in Octavia
//	in the pool          nothing, unless this process or one before has begun a change there: Commit has published it
//	with forwardings     the same
//	another              perhaps
//	none                 perhaps, if this process has begun a change there, or the Service is older than the process
func (e *Engine) OnlyRouted(ctx context.Context, svc *v1.Service) (bool, error) {
	owner, published := settings.OwnerOf(svc), PublishedOf(svc)
	switch {
	case !e.Settings.Routed(svc) || e.enteredOctavia(owner):
		return false, nil
	case !published.hasStatus():
		return !e.begunInOctavia(owner, published), nil
	}
	in, err := e.InPool(ctx, svc)
	if err == nil && !in {
		var forwarded []model.LoadBalancer
		forwarded, err = e.forwardedBalancers(ctx, svc)
		in = len(forwarded) > 0
	}
	if err != nil || !in {
		return false, err
	}
	left, err := e.leftInOctavia(ctx, owner, published.Created)
	return !left, err
}

// leftInOctavia reports whether an earlier process has left a load balancer of a Service in Octavia. The first snapshot
// of this process shows it.
func (e *Engine) leftInOctavia(ctx context.Context, owner model.Owner, created time.Time) (bool, error) {
	if !e.Memory.Store.Precedes(created) {
		return false, nil
	}
	snap := e.Cloud.Project.Last()
	if snap == nil {
		var err error
		snap, err = e.Cloud.Project.Snapshot(ctx, maxSnapshotAge)
		if auth.IsNoOctavia(err) || apierror.IsForbidden(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	id := e.Cluster.Identity(owner, driver.VersionTags)
	return slices.ContainsFunc(snap.Tagged(id.ServiceTag()), func(lb project.LoadBalancer) bool { return id.Claim(lb.Tags, "") == ownership.Ours }), nil
}

// begunInOctavia reports whether an unserved Service may have a load balancer in Octavia.
func (e *Engine) begunInOctavia(owner model.Owner, published Published) bool {
	return e.enteredOctavia(owner) || len(e.Memory.Previous(owner.UID)) > 0 || e.Memory.Store.Precedes(published.Unserved())
}

// enteredOctavia reports whether this process has begun a load balancer of a Service in Octavia, or found one, since
// the Service has had a complete state.
func (e *Engine) enteredOctavia(owner model.Owner) bool {
	made := e.Memory.Store.Get(owner.UID).Made
	return made.LoadBalancerID != "" || len(made.Entered) > 0
}

// Recall returns the last applied state of this process, and its status if that is the desired one. After a
// start, it returns the state in lists that all Services share. It returns nothing if a load balancer in Octavia must
// be read.
func (g *Routed) Recall(ctx context.Context, _ *async.Guard) (Known, error) {
	if g.enteredOctavia(g.in.Owner) {
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
	have, err := g.findRouted(ctx, g.in)
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
	mayHave := g.enteredOctavia(g.in.Owner) || !published.hasStatus() && g.begunInOctavia(g.in.Owner, published)
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

// leaves returns the load balancers of the providers router and port-forwarding, with their floating IPs, that a Service
// leaves for Octavia. It refuses that unless the annotation allow-replace permits it, or the VIPs have not served the
// Service yet.
func (e *Engine) leaves(ctx context.Context, svc *v1.Service, asked *settings.Settings) ([]model.LoadBalancer, error) {
	by, err := e.ServedBy(ctx, svc)
	switch {
	case err != nil:
		return nil, err
	case by != "" && !asked.LoadBalancer.AllowReplace:
		return nil, cannotChange(asked, "load balancer of provider "+by, "another provider")
	}
	var all []model.LoadBalancer
	if by == driver.PortForwarding {
		if all, err = e.forwardedBalancers(ctx, svc); err != nil {
			return nil, err
		}
	}
	on := by == driver.Router
	if !on {
		if on, err = e.begunOnRouter(ctx, svc); err != nil || !on {
			return all, err
		}
	}
	vips, err := e.vipsWithFloatingIPs(ctx, e.Cluster.Identity(settings.OwnerOf(svc), driver.VersionTags))
	return append(all, vips...), err
}

// vipsWithFloatingIPs reads the VIPs of a Service with their floating IPs.
func (e *Engine) vipsWithFloatingIPs(ctx context.Context, id ownership.Identity) ([]model.LoadBalancer, error) {
	vips, err := e.Cloud.VIPs.Find(ctx, id)
	for i := range vips {
		if err == nil {
			err = e.Finder.Reader.Observer.AttachedFloatingIP(ctx, id, &vips[i])
		}
	}
	return vips, err
}

// begunOnRouter reports whether a Service of another provider may have a VIP, of a change to provider router that was
// begun and taken back: by this process, or by an earlier one, of which all Services share a list.
func (e *Engine) begunOnRouter(ctx context.Context, svc *v1.Service) (bool, error) {
	entry := e.Memory.Store.Get(svc.UID)
	if entry.Made.VIP {
		return true, nil
	}
	older := PublishedOf(svc).hasStatus() || e.Memory.Store.Precedes(svc.CreationTimestamp.Time)
	if e.Config.LoadBalancer.RouterVIPNetworkID == "" || !entry.Unseen() || !older {
		return false, nil
	}
	all, err := e.Cloud.VIPs.First(ctx, ownership.ClusterTag(e.Cluster.ID), maxSnapshotAge)
	if len(all[svc.UID]) == 0 {
		return false, err
	}
	e.Memory.Store.EnterRouter(svc.UID)
	return true, nil
}

// cannotChange refuses the change to another provider.
func cannotChange(asked *settings.Settings, has, to string) error {
	return &lookup.Error{Message: fmt.Sprintf("%s: the Service has a %s, and cannot change to %s: delete it and create it again, or permit the change with the annotation %s: \"true\"",
		asked.Origins().Of(annotation.Provider).Name, has, to, annotation.AllowReplace)}
}

// findRouted reads the ports of a Service. Of several, the published one is its VIP.
func (e *Engine) findRouted(ctx context.Context, in Inputs) (Observation, error) {
	have := nothing(in.ID)
	found, err := e.Cloud.VIPs.Find(ctx, in.ID)
	if err != nil {
		return have, err
	}
	have.Duplicates = found
	if at := router.Published(found, in.Published.addresses()); at >= 0 {
		chosen := found[at]
		have.LoadBalancer, have.Duplicates = &chosen, slices.Delete(found, at, at+1)
	}
	return have, nil
}

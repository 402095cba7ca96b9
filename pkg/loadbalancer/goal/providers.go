package goal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
)

// Providers finds out by which providers a Service is served, or may be: those of Octavia, router and port-forwarding.
type Providers struct {
	config   *config.Config
	cluster  Cluster
	settings *settings.Parser
	memory   Memory
	pools    *lookup.Pools
	project  *project.Reader
	vips     *router.Ports
	reader   *routedReader
}

// ServedBy returns which of the providers router and port-forwarding serves a Service, whatever it requests, "" for
// none: this process has served it there, or Neutron has port forwardings or a port with its UID. VIPs of other
// providers may be in the same network.
func (p *Providers) ServedBy(ctx context.Context, svc *v1.Service) (provider string, err error) {
	entry := p.memory.Store.Get(svc.UID)
	switch {
	case entry.Applied != nil:
		return "", nil
	case entry.Routed != nil:
		return entry.Routed.LoadBalancer.Provider, nil
	case entry.Drift.Routed != nil:
		return entry.Drift.Routed.LoadBalancer.Provider, nil
	}
	if all, err := p.reader.forwardedOf(ctx, svc); err != nil || len(all) > 0 {
		return driver.PortForwarding, err
	}
	if on, err := p.onRouter(ctx, svc, entry); err != nil || !on {
		return "", err
	}
	return driver.Router, nil
}

func (p *Providers) onRouter(ctx context.Context, svc *v1.Service, entry state.Entry) (bool, error) {
	if !p.settings.Routed(svc) || p.settings.Forwarded(svc) || !PublishedOf(svc).hasStatus() { // else cloud.conf may name another network by now
		if in, err := p.InPool(ctx, svc); err != nil || !in {
			return false, err
		}
	}
	if !entry.Unseen() {
		found, err := p.vips.Find(ctx, p.cluster.Identity(settings.OwnerOf(svc), driver.VersionTags))
		return len(found) > 0, err
	}
	all, err := p.vips.First(ctx, ownership.ClusterTag(p.cluster.ID), maxSnapshotAge)
	return len(all[svc.UID]) > 0, err
}

// InPool reports whether a Service has an address in the network of VIPs. It is false if no Service can have a VIP
// there: Services of other providers do not depend on that network.
func (p *Providers) InPool(ctx context.Context, svc *v1.Service) (bool, error) {
	networkID, published := p.config.LoadBalancer.RouterVIPNetworkID, PublishedOf(svc)
	if networkID == "" || !published.hasStatus() {
		return false, nil
	}
	pool, err := p.pools.Of(ctx, networkID, settings.FamilyOf(svc))
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
func (p *Providers) OnlyRouted(ctx context.Context, svc *v1.Service) (bool, error) {
	owner, published := settings.OwnerOf(svc), PublishedOf(svc)
	switch {
	case !p.settings.Routed(svc) || p.memory.enteredOctavia(owner.UID):
		return false, nil
	case !published.hasStatus():
		return !p.memory.begunInOctavia(owner, published), nil
	}
	in, err := p.InPool(ctx, svc)
	if err == nil && !in {
		var forwarded []model.LoadBalancer
		forwarded, err = p.reader.forwardedOf(ctx, svc)
		in = len(forwarded) > 0
	}
	if err != nil || !in {
		return false, err
	}
	left, err := p.leftInOctavia(ctx, owner, published.Created)
	return err == nil && !left, err
}

// leftInOctavia reports whether an earlier process has left a load balancer of a Service in Octavia. The first snapshot
// of this process shows it.
func (p *Providers) leftInOctavia(ctx context.Context, owner model.Owner, created time.Time) (bool, error) {
	if !p.memory.Store.Creations.Precedes(created) {
		return false, nil
	}
	snap := p.project.Last()
	if snap == nil {
		var err error
		snap, err = p.project.Snapshot(ctx, maxSnapshotAge)
		if auth.IsNoOctavia(err) || apierror.IsForbidden(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	id := p.cluster.Identity(owner, driver.VersionTags)
	return slices.ContainsFunc(snap.Tagged(id.ServiceTag()), func(lb project.LoadBalancer) bool { return id.Claim(lb.Tags, "") == ownership.Ours }), nil
}

// leaves returns the load balancers of the providers router and port-forwarding, with their floating IPs, that a Service
// leaves for Octavia. It refuses that unless the annotation allow-replace permits it, or the VIPs have not served the
// Service yet.
func (p *Providers) leaves(ctx context.Context, svc *v1.Service, asked *settings.Settings) ([]model.LoadBalancer, error) {
	by, err := p.ServedBy(ctx, svc)
	switch {
	case err != nil:
		return nil, err
	case by != "" && !asked.LoadBalancer.AllowReplace:
		return nil, cannotChange(asked, "load balancer of provider "+by, "another provider")
	}
	var all []model.LoadBalancer
	if by == driver.PortForwarding {
		if all, err = p.reader.forwardedOf(ctx, svc); err != nil {
			return nil, err
		}
	}
	on := by == driver.Router
	if !on {
		if on, err = p.begunOnRouter(ctx, svc); err != nil || !on {
			return all, err
		}
	}
	vips, err := p.reader.vipsWithFloatingIPs(ctx, p.cluster.Identity(settings.OwnerOf(svc), driver.VersionTags))
	return append(all, vips...), err
}

// begunOnRouter reports whether a Service of another provider may have a VIP, of a change to provider router that was
// begun and taken back: by this process, or by an earlier one, of which all Services share a list.
func (p *Providers) begunOnRouter(ctx context.Context, svc *v1.Service) (bool, error) {
	entry := p.memory.Store.Get(svc.UID)
	if entry.Made.VIP {
		return true, nil
	}
	older := PublishedOf(svc).hasStatus() || p.memory.Store.Creations.Precedes(svc.CreationTimestamp.Time)
	if p.config.LoadBalancer.RouterVIPNetworkID == "" || !entry.Unseen() || !older {
		return false, nil
	}
	all, err := p.vips.First(ctx, ownership.ClusterTag(p.cluster.ID), maxSnapshotAge)
	if len(all[svc.UID]) == 0 {
		return false, err
	}
	p.memory.Store.Update(svc.UID, func(e *state.Entry) { e.Made.VIP = true })
	return true, nil
}

// MayBeRouted reports whether a Service may have objects of provider router or port-forwarding; applied is its last
// applied state in Octavia, nil if unknown. VIPs of one that requests the provider are found in any network.
func (p *Providers) MayBeRouted(ctx context.Context, svc *v1.Service, applied *state.Applied) (bool, error) {
	begun := applied == nil || p.memory.Store.Get(svc.UID).Made.VIP
	switch {
	case p.settings.Routed(svc), begun && p.config.LoadBalancer.RouterVIPNetworkID != "":
		return true, nil
	case applied != nil:
		return false, nil
	}
	forwarded, err := p.reader.forwardedOf(ctx, svc)
	return len(forwarded) > 0, err
}

// cannotChange refuses the change to another provider.
func cannotChange(asked *settings.Settings, has, to string) error {
	return &lookup.Error{Message: fmt.Sprintf("%s: the Service has a %s, and cannot change to %s: delete it and create it again, or permit the change with the annotation %s: \"true\"",
		asked.Origins().Of(annotation.Provider).Name, has, to, annotation.AllowReplace)}
}

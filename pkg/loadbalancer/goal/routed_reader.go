package goal

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// routedReader reads the VIPs of provider router, and the load balancers of provider port-forwarding, that Services
// have.
type routedReader struct {
	cluster     Cluster
	settings    *settings.Parser
	memory      Memory
	observer    *observe.Observer
	project     *project.Reader
	vips        *router.Ports
	forwardings *router.Forwardings
}

// find reads the ports of a Service. Of several, the published one is its VIP.
func (r *routedReader) find(ctx context.Context, in Inputs) (Observation, error) {
	have := nothing(in.ID)
	found, err := r.vips.Find(ctx, in.ID)
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

// vipsWithFloatingIPs reads the VIPs of a Service with their floating IPs.
func (r *routedReader) vipsWithFloatingIPs(ctx context.Context, id ownership.Identity) ([]model.LoadBalancer, error) {
	vips, err := r.vips.Find(ctx, id)
	for i := range vips {
		if err == nil {
			err = r.observer.AttachedFloatingIP(ctx, id, &vips[i])
		}
	}
	return vips, err
}

// forwardedIPs returns the floating IPs that have port forwardings and are a Service's, published by it, or lead to its
// NodePorts, from a list of the project: one that the Service requests is not published before all its ports are
// forwarded. Asks is set if the Service requests the provider. Else no request is sent, unless the floating IPs that this
// process has seen first show any, or it has changed port forwardings of the Service.
func (r *routedReader) forwardedIPs(ctx context.Context, id ownership.Identity, published Published, asks bool) ([]neutron.ForwardedIP, error) {
	entry := r.memory.Store.Get(types.UID(id.ServiceUID))
	if !entry.Made.Forwards && !asks {
		if !published.hasStatus() {
			return nil, nil
		}
		first, err := r.firstFloatingIPs(ctx, types.UID(id.ServiceUID))
		if err != nil {
			return nil, err
		}
		shown := first.WithWords(append(published.addresses(), id.ServiceUID)...)
		if !slices.ContainsFunc(shown, project.FloatingIP.Forwards) {
			return nil, nil
		}
	}
	age := maxSnapshotAge
	if !entry.Unseen() {
		age = 0
	}
	all, err := r.forwardings.First(ctx, age)
	var own []neutron.ForwardedIP
	for _, fip := range all {
		leads := slices.ContainsFunc(fip.Forwardings, func(f neutron.Forwarding) bool { return slices.Contains(published.NodePorts, f.InternalPort) })
		if leads || id.FloatingIPs().Own(fip.Description) || slices.Contains(published.addresses(), fip.Address) {
			own = append(own, fip)
		}
	}
	return own, err
}

// firstFloatingIPs returns the floating IPs that this process has seen first. For a Service with a record, which needs
// a snapshot, it takes them from there.
func (r *routedReader) firstFloatingIPs(ctx context.Context, uid types.UID) (*project.FloatingIPs, error) {
	if r.memory.HasServed(uid) {
		if _, err := r.project.Snapshot(ctx, maxSnapshotAge); err != nil && !auth.IsNoOctavia(err) {
			return nil, err
		}
	}
	return r.project.FirstFloatingIPs(ctx)
}

// forwarded returns the load balancers of provider port-forwarding that a Service has: its port forwardings
// on any floating IPs. Asks is that of forwardedIPs.
func (r *routedReader) forwarded(ctx context.Context, id ownership.Identity, published Published, asks bool) ([]model.LoadBalancer, error) {
	listed, err := r.forwardedIPs(ctx, id, published, asks)
	var all []model.LoadBalancer
	for _, fip := range listed {
		has, err := r.forwardings.Of(ctx, id, fip.ID)
		if err != nil {
			return nil, err
		}
		if len(has) > 0 {
			all = append(all, *plan.Forwarded(listedIP(id, fip), has))
		}
	}
	return all, err
}

// forwardedOf is forwarded for a Service.
func (r *routedReader) forwardedOf(ctx context.Context, svc *v1.Service) ([]model.LoadBalancer, error) {
	id := r.cluster.Identity(settings.OwnerOf(svc), driver.VersionTags)
	return r.forwarded(ctx, id, PublishedOf(svc), r.settings.Forwarded(svc))
}

func listedIP(id ownership.Identity, fip neutron.ForwardedIP) model.FloatingIP {
	return model.FloatingIP{
		ID: fip.ID, NetworkID: fip.NetworkID, Address: fip.Address, Description: fip.Description,
		Owned: id.FloatingIPs().Own(fip.Description), Forwards: true,
	}
}

// withoutFloatingIPsOf removes from the unattached floating IPs those of load balancers of provider port-forwarding.
func withoutFloatingIPsOf(observed *model.Observed, lbs []model.LoadBalancer) {
	observed.UnattachedFloatingIPs = slices.DeleteFunc(slices.Clone(observed.UnattachedFloatingIPs), func(fip model.FloatingIP) bool {
		return slices.ContainsFunc(lbs, func(lb model.LoadBalancer) bool { return lb.FloatingIP != nil && lb.FloatingIP.ID == fip.ID })
	})
}

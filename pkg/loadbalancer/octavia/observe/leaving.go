package observe

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Outline reads the listeners and pools of other owners in a load balancer of the Service's own,
// which decide whether it can be deleted as a whole. This takes no request if all are known to be
// ours; otherwise one for the listeners, and one for the pools if some are used by no listener of
// ours. The model of an Outline has no members and no monitors. With foreign parts, Outline reads
// everything.
func (o *Observer) Outline(ctx context.Context, id ownership.Identity, lb octavia.LoadBalancer, known *model.LoadBalancer) (*model.LoadBalancer, error) {
	parts := Parts{LoadBalancer: lb}
	if knows(known, lb) {
		return parts.Model(id), nil
	}
	var err error
	if parts.Listeners, err = o.Octavia.Listeners(ctx, lb.ID); err != nil {
		return nil, err
	}
	outline := parts.Model(id)
	used := map[string]bool{}
	for _, l := range parts.Listeners {
		used[l.DefaultPoolID] = true
	}
	for _, pool := range lb.Pools {
		if !used[pool.ID] || len(outline.Foreign) > 0 {
			return o.Contents(ctx, id, lb)
		}
	}
	return outline, nil
}

// knows reports whether all listeners and pools of a load balancer are known to be ours.
func knows(known *model.LoadBalancer, lb octavia.LoadBalancer) bool {
	ids := map[string]bool{}
	if known != nil && known.ID == lb.ID && known.Shared == nil && len(known.Foreign) == 0 {
		for _, l := range known.Listeners {
			ids[l.ID], ids[l.Pool.ID] = true, true
		}
	}
	for _, l := range lb.Listeners {
		if !ids[l.ID] {
			return false
		}
	}
	for _, p := range lb.Pools {
		if !ids[p.ID] {
			return false
		}
	}
	return true
}

// LeavingFloatingIPs sets the floating IPs of a Service that is being deleted, including unattached
// ones. This usually takes one request: all with the Service's description.
func (o *Observer) LeavingFloatingIPs(ctx context.Context, id ownership.Identity, observed *model.Observed, hints FloatingIPHints) error {
	own, err := o.Neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{Description: id.FloatingIPs().Description()})
	if err != nil {
		return err
	}
	hints.IDs = slices.DeleteFunc(slices.Clone(hints.IDs), func(known string) bool {
		return slices.ContainsFunc(own, func(fip floatingips.FloatingIP) bool { return fip.ID == known })
	})
	if len(hints.IDs) > 0 {
		more, err := o.Neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{IDs: hints.IDs})
		if err != nil {
			return err
		}
		own = append(own, more...)
	}
	unattached{o.Neutron, id, observed, hints}.add(own)
	for _, lb := range []*model.LoadBalancer{observed.LoadBalancer, observed.Outgoing} {
		if lb == nil {
			continue
		}
		attached := slices.DeleteFunc(slices.Clone(own), func(fip floatingips.FloatingIP) bool { return fip.PortID != lb.VIP.PortID })
		if lb.FloatingIP = attachedFloatingIP(id, lb, attached); lb.FloatingIP != nil && lb.FloatingIP.Owned {
			continue
		}
		if attached, err = o.floatingIPsOn(ctx, lb.VIP.PortID); err != nil {
			return err
		}
		lb.FloatingIP = attachedFloatingIP(id, lb, attached)
	}
	return nil
}

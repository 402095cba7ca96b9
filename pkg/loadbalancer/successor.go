package loadbalancer

import (
	"context"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
)

// replacement builds what takes the place of the load balancer that is there, as for a
// Service that has none: where it cannot become what is desired, or is in ERROR, and
// the Service permits it, or nobody knows its address. It is nil where the one that
// is there stays.
func (p *pass) replacement(ctx context.Context, desired *model.LoadBalancer) (*plan.Replacement, error) {
	lb := p.observed.LoadBalancer
	if lb == nil || lb.Shared != nil || len(lb.Foreign) > 0 {
		return nil, nil
	}
	known := len(p.svc.Status.LoadBalancer.Ingress) > 0
	allowed := p.settings.LoadBalancer.AllowReplace && !p.id.Untagged
	gone := lb.Status.Failed() && (!known || allowed)
	unfit := allowed && plan.Misfits(desired, lb)
	if !gone && !unfit {
		return nil, nil
	}
	place := p.settings
	if place.VIP.PortID == lb.VIP.PortID {
		place.VIP.PortID, place.VIP.SubnetID = "", lb.VIP.SubnetID // the port is in use, but by the one that goes
	}
	next, err := p.build(ctx, place, &model.Observed{})
	if err != nil {
		return nil, err
	}
	switch {
	case place.VIP.PortID != p.settings.VIP.PortID:
		next.VIP = model.VIP{PortID: p.settings.VIP.PortID}
	case place.VIP.PortID == "" && place.VIP.SubnetID == "" && place.VIP.NetworkID == "":
		next.VIP.SubnetID, next.VIP.NetworkID = lb.VIP.SubnetID, ""
	}
	if known {
		next.MadeFor = plan.Wish(desired)
		next.Tags = append(slices.Clone(next.Tags), ownership.ReplacesTag(lb.ID, next.MadeFor))
	}
	return &plan.Replacement{LoadBalancer: next, Driver: p.driver(&model.Observed{})}, nil
}

// provider gives the provider whose abilities count: that of the load balancer that
// exists, as it cannot change, unless another one may take its place.
func (p *pass) provider(settings settings.Settings, observed *model.Observed) string {
	lb := observed.LoadBalancer
	if lb == nil || settings.LoadBalancer.AllowReplace && lb.Shared == nil && len(lb.Foreign) == 0 && !p.id.Untagged {
		return settings.LoadBalancer.Provider
	}
	return lb.Provider
}

// vipAddress gives the address of the VIP that is there.
func (p *pass) vipAddress() string {
	if p.observed == nil || p.observed.LoadBalancer == nil {
		return ""
	}
	return p.observed.LoadBalancer.VIP.Address
}

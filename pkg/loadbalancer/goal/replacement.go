package goal

import (
	"context"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// replacement returns the replacement of the existing load balancer, as for a Service that has
// none: if the existing one cannot become the desired one, or is in ERROR, and the Service permits
// it or its address is not published. It is nil if the existing one stays.
func (p *planner) replacement(ctx context.Context, in Inputs, have Observation, want *Desired) (*plan.Replacement, error) {
	lb, settings := have.LoadBalancer, in.Settings
	if lb == nil || lb.Shared != nil || len(lb.Foreign) > 0 {
		return nil, nil
	}
	published := in.Published.hasStatus()
	allowed := settings.LoadBalancer.AllowReplace && !in.ID.Untagged
	failed := lb.Status.Failed() && (!published || allowed)
	unfit := allowed && plan.NeedsReplacement(want.LoadBalancer, lb)
	if !failed && !unfit {
		return nil, nil
	}
	if settings.VIP.PortID == lb.VIP.PortID {
		beside := *settings
		beside.VIP.PortID, beside.VIP.SubnetID = "", lb.VIP.SubnetID // the port is in use by the existing load balancer
		settings = &beside
	}
	made, err := p.desire(ctx, in, settings, nil, lb.VIP.Addresses())
	if err != nil {
		return nil, err
	}
	next := made.LoadBalancer
	switch {
	case settings.VIP.PortID != in.Settings.VIP.PortID:
		next.VIP = model.VIP{PortID: in.Settings.VIP.PortID}
	case settings.VIP.PortID == "" && settings.VIP.SubnetID == "" && settings.VIP.NetworkID == "":
		next.VIP.SubnetID, next.VIP.NetworkID = lb.VIP.SubnetID, ""
	}
	if published {
		next.ReplacementHash = plan.ReplacementHash(want.LoadBalancer)
		next.Tags = append(slices.Clone(next.Tags), ownership.ReplacesTag(lb.ID, next.ReplacementHash))
	}
	return &plan.Replacement{LoadBalancer: next, Driver: made.Facts.Driver}, nil
}

package observe

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// choose brings several load balancers of a Service into order: the one that it is
// served by, the one whose place that takes, and the rest. Which serves, the floating
// IPs tell: that is a request for each load balancer.
func (o *Observer) choose(ctx context.Context, found Found, hints Hints) (Found, error) {
	found.floatingIPs = map[string][]floatingips.FloatingIP{}
	var candidates []ownership.Candidate
	for _, lb := range found.LoadBalancers {
		attached, err := o.floatingIPsOn(ctx, lb.VipPortID)
		if err != nil {
			return Found{}, err
		}
		found.floatingIPs[lb.ID] = attached
		candidates = append(candidates, candidate(found.As, lb, attached))
	}
	choice := ownership.Choose(candidates, ownership.Known{
		IDs:       []string{hints.LoadBalancerID, hints.Remembered, hints.Written},
		Addresses: hints.Addresses,
	})
	order := []int{choice.Chosen}
	if choice.Replaced >= 0 {
		order, found.Replaces = append(order, choice.Replaced), true
	}
	all := found.LoadBalancers
	found.LoadBalancers = nil
	for _, i := range slices.Concat(order, choice.Duplicates) {
		found.LoadBalancers = append(found.LoadBalancers, all[i])
	}
	return found, nil
}

// candidate is what ownership looks at of a load balancer.
func candidate(id ownership.Identity, lb octavia.LoadBalancer, attached []floatingips.FloatingIP) ownership.Candidate {
	c := ownership.Candidate{ID: lb.ID, VIP: lb.VipAddress, Failed: lb.ProvisioningStatus == octavia.StatusError, CreatedAt: lb.CreatedAt}
	c.Replaces, _ = ownership.Replaces(lb.Tags)
	for _, fip := range attached {
		c.FloatingIPs = append(c.FloatingIPs, fip.FloatingIP)
		c.OwnFloatingIP = c.OwnFloatingIP || id.OwnsFloatingIP(fip.Description)
	}
	return c
}

// Attach fills in the floating IP on the VIP of a load balancer that is one of several.
func (f Found) Attach(lb *model.LoadBalancer) {
	lb.FloatingIP = attachedFloatingIP(f.As, lb, f.floatingIPs[lb.ID])
}

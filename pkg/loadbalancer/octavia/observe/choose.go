package observe

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// choose sorts several load balancers of a Service: the serving one, the one that it replaces, and
// the rest. The floating IPs decide which one serves, with a request for each load balancer.
func (s search) choose(ctx context.Context, found Found) (Found, error) {
	found.floatingIPs = map[string][]floatingips.FloatingIP{}
	var candidates []ownership.Candidate
	for _, lb := range found.LoadBalancers {
		attached, err := s.floatingIPsOn(ctx, lb.VIPPortID)
		if err != nil {
			return Found{}, err
		}
		found.floatingIPs[lb.ID] = attached
		candidates = append(candidates, candidate(found.As, lb, attached))
	}
	choice := ownership.Choose(candidates, ownership.Known{
		IDs:       []string{s.hints.LoadBalancerID, s.hints.Remembered, s.hints.Written},
		Addresses: s.hints.Addresses,
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

// candidate returns the data of a load balancer that ownership needs.
func candidate(id ownership.Identity, lb octavia.LoadBalancer, attached []floatingips.FloatingIP) ownership.Candidate {
	c := ownership.Candidate{ID: lb.ID, VIPs: vips(lb), Failed: lb.ProvisioningStatus == model.StatusError, CreatedAt: lb.CreatedAt.Time}
	c.Replaces, _ = ownership.Replaces(lb.Tags)
	for _, fip := range attached {
		c.FloatingIPs = append(c.FloatingIPs, fip.FloatingIP)
		c.OwnFloatingIP = c.OwnFloatingIP || id.FloatingIPs().Own(fip.Description)
	}
	return c
}

// Attach sets the floating IP on the VIP of a load balancer that is one of several.
func (f Found) Attach(lb *model.LoadBalancer) {
	lb.FloatingIP = attachedFloatingIP(f.As, lb, f.floatingIPs[lb.ID])
}

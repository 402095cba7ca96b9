package apply

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// shrinkLoadBalancer leaves out of a creation what makes it too big for one request: first the
// names of members, then the subnets that say nothing new, then whole pools' members.
// Batches add those later.
func shrinkLoadBalancer(lb *model.LoadBalancer, quirks driver.Quirks) *model.LoadBalancer {
	for _, smaller := range []func(*model.Member){
		func(*model.Member) {},
		func(m *model.Member) { m.Name = "" },
		func(m *model.Member) {
			// A member in the VIP's subnet is reached without naming it.
			if !quirks.AlwaysSendSubnet && m.SubnetID == lb.VIP.SubnetID {
				m.SubnetID = ""
			}
		},
	} {
		lb = withMembers(lb, smaller)
		if size(loadBalancerOpts(lb)) <= plan.BodyLimit {
			return lb
		}
	}
	for i := len(lb.Listeners) - 1; i >= 0 && size(loadBalancerOpts(lb)) > plan.BodyLimit; i-- {
		lb.Listeners[i].Pool.Members = nil
	}
	return lb
}

// withMembers returns a copy of a load balancer with other members.
func withMembers(lb *model.LoadBalancer, change func(*model.Member)) *model.LoadBalancer {
	changed := *lb
	changed.Listeners = slices.Clone(lb.Listeners)
	for i := range changed.Listeners {
		members := slices.Clone(lb.Listeners[i].Pool.Members)
		for j := range members {
			change(&members[j])
		}
		changed.Listeners[i].Pool.Members = members
	}
	return &changed
}

// setMembers sends a batch of members.
func (r *run) setMembers(ctx context.Context, poolID string, packed packedBatch) (err error) {
	late := r.senders.batch(ctx, func() {
		err = r.Octavia.SetMembers(ctx, poolID, r.shrinkMembers(packed.unpack()), packed.Additive)
	})
	if late != nil {
		return late
	}
	return err
}

// shrinkMembers returns the members of a batch, as small as the limit wants them: without
// names, which nothing needs; then without their subnets, where they stay, as Octavia
// keeps them, or are in the VIP's, unless the driver wants it each time. That fits: package
// plan cuts batches by what is left then.
func (r *run) shrinkMembers(s plan.SetMembers) []pools.CreateMemberOpts {
	all := membersOpts(s.Members)
	if size(all) <= plan.BodyLimit {
		return all
	}
	all = withoutNames(all)
	if size(all) <= plan.BodyLimit || driver.QuirksOf(r.state.outline().Provider).AlwaysSendSubnet {
		return all
	}
	added := map[model.MemberKey]bool{}
	for _, m := range s.Added {
		added[m.Key()] = true
	}
	for i, m := range s.Members {
		if !added[m.Key()] || m.SubnetID == r.state.outline().VIP.SubnetID {
			all[i].SubnetID = ""
		}
	}
	return all
}

// withoutNames takes the names off members.
func withoutNames(members []pools.CreateMemberOpts) []pools.CreateMemberOpts {
	for i := range members {
		members[i].Name = ""
	}
	return members
}

package apply

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// bodyLimit is what a request to Octavia from 14.0 on may hold: oslo.middleware's
// default of 114,688 bytes, less what size does not count: the braces around it all.
const bodyLimit = 114_688 - 100

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
		if size(loadBalancerOpts(lb)) <= bodyLimit {
			return lb
		}
	}
	for i := len(lb.Listeners) - 1; i >= 0 && size(loadBalancerOpts(lb)) > bodyLimit; i-- {
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

// setMembers sends all members in one batch. One that would be too big goes
// without what Octavia keeps or can do without; one that still is, is cut: new
// members are added in batches, then those that are gone are removed one by one.
func (r *run) setMembers(ctx context.Context, poolID string, packed packedBatch) error {
	fits, err := r.setAllMembers(ctx, poolID, packed)
	if fits || err != nil {
		return err
	}
	s := packed.unpack()
	for batch := range batches(withoutNames(membersOpts(slices.Concat(s.Added, s.Changed)))) {
		if err := r.settle(ctx); err != nil {
			return err
		}
		if err := r.Octavia.SetMembers(ctx, poolID, batch, true); err != nil {
			return err
		}
		r.working = updating
	}
	for _, m := range s.Removed {
		if err := r.settle(ctx); err != nil {
			return err
		}
		if err := r.Octavia.RemoveMember(ctx, poolID, m.ID); err != nil {
			return err
		}
		r.working = updating
	}
	return nil
}

// setAllMembers sends all members in one batch. It reports false, and sends nothing, when
// that is too big.
func (r *run) setAllMembers(ctx context.Context, poolID string, packed packedBatch) (fits bool, err error) {
	late := r.senders.batch(ctx, func() {
		all := r.shrinkMembers(packed.unpack())
		if fits = size(all) <= bodyLimit; fits {
			err = r.Octavia.SetMembers(ctx, poolID, all, false)
		}
	})
	if late != nil {
		return false, late
	}
	return fits, err
}

// shrinkMembers returns all members of a batch, as small as the limit wants them: without
// names, which nothing needs; then without their subnets, where they stay, as Octavia
// keeps them, or are in the VIP's, unless the driver wants it each time.
func (r *run) shrinkMembers(s plan.SetMembers) []pools.CreateMemberOpts {
	all := membersOpts(s.Members)
	if size(all) <= bodyLimit {
		return all
	}
	all = withoutNames(all)
	if size(all) <= bodyLimit || driver.QuirksOf(r.state.outline().Provider).AlwaysSendSubnet {
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

// batches cuts members into lists that fit a request.
func batches(members []pools.CreateMemberOpts) func(func([]pools.CreateMemberOpts) bool) {
	return func(yield func([]pools.CreateMemberOpts) bool) {
		for len(members) > 0 {
			n := len(members)
			for size(members[:n]) > bodyLimit {
				n = (n + 1) / 2
			}
			if !yield(members[:n]) {
				return
			}
			members = members[n:]
		}
	}
}

package apply

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// fitting leaves out of a creation what makes it too big for one request: first the
// names of members, then the subnets that say nothing new, then whole pools' members.
// Batches add those later.
func fitting(lb *model.LoadBalancer, quirks driver.Quirks) *model.LoadBalancer {
	for _, smaller := range []func(*model.Member){
		func(*model.Member) {},
		func(m *model.Member) { m.Name = "" },
		func(m *model.Member) {
			// A member in the VIP's subnet is reached without being told.
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

// withMembers gives a copy of a load balancer with other members.
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

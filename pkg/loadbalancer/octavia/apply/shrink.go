package apply

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// shrinkLoadBalancer reduces a creation to the size of one request: it omits the names of members,
// then the subnets that are the default, then the members of whole pools. Batches add those later.
func shrinkLoadBalancer(lb *model.LoadBalancer, quirks driver.Quirks) *model.LoadBalancer {
	if fitsAnyway(lb) {
		return lb
	}
	for _, smaller := range []func(*model.Member){
		func(*model.Member) {},
		func(m *model.Member) { m.Name = "" },
		func(m *model.Member) {
			// The VIP's subnet is the default.
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
		lb.Listeners[i].Pool.Members = model.Members{}
	}
	return lb
}

// withMembers returns a copy of a load balancer with other members.
func withMembers(lb *model.LoadBalancer, change func(*model.Member)) *model.LoadBalancer {
	changed := *lb
	changed.Listeners = slices.Clone(lb.Listeners)
	for i := range changed.Listeners {
		changed.Listeners[i].Pool.Members = lb.Listeners[i].Pool.Members.Map(func(_ int, m model.Member) model.Member {
			change(&m)
			return m
		})
	}
	return &changed
}

// shrinkMembers reduces a batch to the size limit: it omits names, which are not needed, then the
// subnets of members that stay, because Octavia keeps them, or are in the VIP's subnet, unless the
// driver needs them each time. That is sufficient: package plan cuts batches by the remaining size.
func shrinkMembers(s plan.SetMembers, lb *model.LoadBalancer) []octavia.Member {
	all := membersOpts(s.Members)
	if atMost(s.Members) <= plan.BodyLimit || size(all) <= plan.BodyLimit {
		return all
	}
	all = withoutNames(all)
	if size(all) <= plan.BodyLimit || driver.QuirksOf(lb.Provider).AlwaysSendSubnet {
		return all
	}
	for i, m := range s.Members.All() {
		if _, added := s.Added.Find(m.Key()); !added || m.SubnetID == lb.VIP.SubnetID {
			all[i].SubnetID = ""
		}
	}
	return all
}

func withoutNames(members []octavia.Member) []octavia.Member {
	for i := range members {
		members[i].Name = ""
	}
	return members
}

// fitsAnyway reports whether a creation certainly fits into one request, by an upper bound of its
// size.
func fitsAnyway(lb *model.LoadBalancer) bool {
	room := plan.BodyLimit
	for _, l := range lb.Listeners {
		room -= atMost(l.Pool.Members)
	}
	if room < 0 {
		return false
	}
	return size(loadBalancerOpts(lb.WithoutMembers())) <= room
}

// atMost returns an upper bound in bytes for members in a request, without marshaling them.
func atMost(members model.Members) int {
	n := len(`"members":[],`)
	for _, m := range members.All() {
		n += len(`{"name":"","address":"","protocol_port":65535},`) + quotedAtMost(m.Name) + quotedAtMost(m.Address)
		if m.SubnetID != "" {
			n += len(`"subnet_id":"",`) + quotedAtMost(m.SubnetID)
		}
		if m.MonitorPort != 0 {
			n += len(`"monitor_port":65535,`)
		}
		if m.Drained || m.AdminDown || m.Weight > 0 {
			n += len(`"weight":255,"admin_state_up":false,`)
		}
	}
	return n
}

// quotedAtMost returns an upper bound in bytes for a text in JSON, without quotes: an escaped
// character takes six.
func quotedAtMost(text string) int {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return 6 * len(text)
		}
	}
	return len(text)
}

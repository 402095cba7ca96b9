package goal

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// A node that comes or goes is, of each Service, a member of each pool, beside a hundred or
// thousands that stay as they are. A round for it goes by the load balancer without most of
// those (model.Rest): one of each kind stands for its like, on both sides of the comparison.
// Whatever the plan is then, it is the one for all members if it adds or removes those on that
// one node, and nothing else: any other is made again, with all.

// followsMembers reports whether a round can go by few members: nobody asks for all of them, and
// none of those that stay is to move to another subnet.
func (a *Asked) followsMembers() bool {
	return !managesGroups(a.in) && a.in.Settings.Members.SubnetID == "" && a.e.Config.LoadBalancer.DriftPolicy != drift.PolicyReport
}

// mostStanding is how many members of a pool stand for others at most: they may be in different
// subnets.
const mostStanding = 8

// excerpt returns what is there and what is desired with few of the members, where that is the same
// but for those of one node; else with all members, and the template.
func excerpt(packed *model.Packed, want *Desired) (*model.Observed, *Desired) {
	if want != nil && want.template != nil && want.LoadBalancer == want.template {
		if nodes, ok := packed.Nodes(); ok {
			if shown, backends, about := differing(nodes, want); about != "" {
				excerpt := *want
				excerpt.LoadBalancer = desire.Fill(want.template, backends, want.Facts)
				lb, rest := nodes.Excerpt(shown, about)
				return &model.Observed{LoadBalancer: lb, Rest: rest}, &excerpt
			}
		}
	}
	return &model.Observed{LoadBalancer: packed.Unpack()}, want
}

// differing returns the nodes of a load balancer, and the backends, that a round is about which is for
// one node: those that are not on both sides, and one of each kind that is. About is the address of
// that node, "" where there is none, or more than one.
func differing(nodes model.Nodes, want *Desired) (shown []int, backends []members.Backend, about string) {
	all := want.members.ByAddress
	var standing []int // those of the shown that stand for others
	i, j, differ := 0, 0, 0
	for i < nodes.Len() || j < len(all) {
		switch {
		case j == len(all) || i < nodes.Len() && nodes.Address(i) < all[j].Address:
			shown, about = append(shown, i), nodes.Address(i)
			differ++
			i++
		case i == nodes.Len() || nodes.Address(i) > all[j].Address:
			backends, about = append(backends, all[j]), all[j].Address
			differ++
			j++
		default:
			subnet := want.Facts.SubnetOf(all[j].Address)
			if !slices.ContainsFunc(standing, func(k int) bool { return nodes.Alike(i, k) && want.Facts.SubnetOf(nodes.Address(k)) == subnet }) {
				standing, shown, backends = append(standing, i), append(shown, i), append(backends, all[j])
			}
			i, j = i+1, j+1
		}
		if differ > 1 || len(standing) > mostStanding || j > 0 && j < len(all) && all[j].Address == all[j-1].Address {
			return nil, nil, ""
		}
	}
	if len(standing) == 0 {
		return nil, nil, ""
	}
	return shown, backends, about
}

// Complete has the round go by all members, where it goes by few.
func (r *Round) Complete() {
	if r.Have.Observed == nil || r.Have.Rest == nil {
		return
	}
	whole := r.Have.Whole()
	r.Have.Observed, r.Want = &whole, r.Want.emptied()
}

// Suffices reports whether a plan of the round is the one for all members.
func (r *Round) Suffices(todo plan.Plan) bool {
	return r.Have.Observed == nil || r.Have.Rest == nil || !slices.ContainsFunc(todo.Steps, func(step plan.Step) bool {
		switch s := step.(type) {
		case plan.AddMember:
			return s.Member.Address != r.Have.Rest.About()
		case plan.RemoveMember:
			return s.Member.Address != r.Have.Rest.About()
		}
		return true
	})
}

package plan

import (
	"cmp"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// KeepMembers returns what is desired, with what its members take over from those that
// exist. A member of the same address has
//
//   - its weight 0 and its administrative state: somebody has taken it out of service;
//   - its subnet, unless members are to move (Options.MoveMembers), or it names none while all
//     others are in their nodes' subnets: it was made when the port of its node was not known.
//
// A new member goes to the subnet that the members of its pool are in, or, for want of
// any, those of the load balancer: a change of where new ones would go, or another
// controller's idea of it, does not spread a pool over subnets. Where each member is in
// its node's subnet, so is the new one.
func KeepMembers(desired, lb *model.LoadBalancer, opts Options) *model.LoadBalancer {
	kept := *desired
	kept.Listeners = slices.Clone(desired.Listeners)
	for i := range kept.Listeners {
		l := &kept.Listeners[i]
		l.Pool.Members = takeOver(l.Pool.Members, membersLike(lb, l.Key()), lb, opts)
	}
	return &kept
}

// membersLike returns the members that those of a listener are to be like: its own or, for
// want of any, those of all others.
func membersLike(lb *model.LoadBalancer, key model.ListenerKey) []model.Member {
	if have := lb.Listener(key); have != nil && len(have.Pool.Members) > 0 {
		return have.Pool.Members
	}
	var all []model.Member
	for _, l := range lb.Listeners {
		all = append(all, l.Pool.Members...)
	}
	return all
}

// takeOver returns the desired members with what they take over from those that exist. One
// that names no subnet is in the VIP's.
func takeOver(desired, there []model.Member, lb *model.LoadBalancer, opts Options) []model.Member {
	at, vipSubnet := model.MembersByAddress(there), lb.VIP.SubnetID
	kept := copyOnWrite{given: desired, members: desired}
	var added []int
	own, strays := opts.NodesSubnets, opts.strays(desired, at, lb)
	for i := range desired {
		want := desired[i]
		old := at.Get(want.Address)
		if old == nil {
			old = &model.Member{SubnetUnknown: true}
		}
		want.Drained, want.AdminDown = old.Drained, old.AdminDown
		if old.SubnetUnknown {
			added = append(added, i)
			kept.set(i, want)
			continue
		}
		if strays && old.SubnetID == "" {
			kept.set(i, want)
			continue
		}
		own = own && cmp.Or(old.SubnetID, vipSubnet) == cmp.Or(want.SubnetID, vipSubnet)
		if !opts.MoveMembers {
			want.SubnetID = sentSubnet(old.SubnetID, want.SubnetID, vipSubnet, opts)
		}
		kept.set(i, want)
	}
	if len(added) == 0 || own || opts.MoveMembers {
		return kept.members
	}
	if subnet, known := usualSubnet(there); known {
		for _, i := range added {
			want := kept.members[i]
			want.SubnetID = sentSubnet(subnet, desired[i].SubnetID, vipSubnet, opts)
			kept.set(i, want)
		}
	}
	return kept.members
}

// strays reports whether the members that name no subnet belong into their nodes': some of those of
// the same addresses name one, which is their node's in each case. Members that another controller
// has made stay where they are.
func (o Options) strays(desired []model.Member, at *model.Index[model.Member, string], lb *model.LoadBalancer) bool {
	if !o.NodesSubnets || o.MoveMembers || lb.Adopted {
		return false
	}
	named := false
	for i := range desired {
		old := at.Get(desired[i].Address)
		if old == nil || old.SubnetUnknown || old.SubnetID == "" {
			continue
		}
		if named = true; old.SubnetID != desired[i].SubnetID {
			return false
		}
	}
	return named
}

// copyOnWrite are members that are copied before the first change: as a rule there is none.
type copyOnWrite struct{ given, members []model.Member }

func (c *copyOnWrite) set(i int, m model.Member) {
	if c.members[i] == m {
		return
	}
	if &c.members[0] == &c.given[0] {
		c.members = slices.Clone(c.given)
	}
	c.members[i] = m
}

// sentSubnet returns the subnet that is sent for a member in one: to a driver that needs
// it each time, the VIP's is sent by its ID.
func sentSubnet(subnet, wanted, vipSubnet string, opts Options) string {
	if subnet == "" && opts.Driver.Quirks.AlwaysSendSubnet {
		return cmp.Or(vipSubnet, wanted)
	}
	return subnet
}

// usualSubnet returns the subnet that most members are in, of several the first by ID. It
// reports whether the subnet of any has been read.
func usualSubnet(members []model.Member) (subnet string, known bool) {
	counts := map[string]int{}
	for _, m := range members {
		if !m.SubnetUnknown {
			counts[m.SubnetID]++
		}
	}
	for of, n := range counts {
		if !known || n > counts[subnet] || n == counts[subnet] && of < subnet {
			subnet, known = of, true
		}
	}
	return subnet, known
}

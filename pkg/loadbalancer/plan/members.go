package plan

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// members gives the steps from the members of one pool to those of another.
//
//	differs              steps
//	nothing              none: Octavia reloads for a batch that changes nothing
//	one member is new    add it: the work does not grow with the pool
//	one member is gone   remove it
//	anything else        one batch with all members
func members(pool PoolRef, from, to model.Pool) []Step {
	have := map[model.MemberKey]model.Member{}
	for _, m := range from.Members {
		have[m.Key()] = m
	}
	set := SetMembers{Pool: pool}
	wanted := map[model.MemberKey]bool{}
	for _, m := range to.Members {
		wanted[m.Key()] = true
		old, there := have[m.Key()]
		// Another subnet for a member that stays would be written to Octavia's
		// database only, and is a new member for ovn.
		if there && old.SubnetID != "" {
			m.SubnetID = old.SubnetID
		}
		switch {
		case !there:
			set.Added = append(set.Added, m)
		case old.MonitorPort != m.MonitorPort || old.Drained || !old.Status.Sound():
			set.Changed = append(set.Changed, m)
		}
		set.Members = append(set.Members, m)
	}
	for _, m := range from.Members {
		if !wanted[m.Key()] {
			set.Removed = append(set.Removed, m)
		}
	}
	return set.smallest()
}

// smallest gives the cheapest step that does the same.
func (s SetMembers) smallest() []Step {
	added, removed, changed := len(s.Added), len(s.Removed), len(s.Changed)
	switch {
	case added+removed+changed == 0:
		return nil
	case added == 1 && removed+changed == 0:
		return []Step{AddMember{s.Pool, s.Added[0]}}
	case removed == 1 && added+changed == 0 && s.Removed[0].ID != "":
		return []Step{RemoveMember{s.Pool, s.Removed[0]}}
	default:
		return []Step{s}
	}
}

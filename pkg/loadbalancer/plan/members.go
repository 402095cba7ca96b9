package plan

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// members returns the steps from the observed members of a pool to the desired ones.
//
//	differs                 steps
//	nothing                 none: Octavia reloads for a batch that changes nothing
//	one member is new       add it: the work does not grow with the pool
//	one member is gone      remove it
//	few of many come or go  with a driver that works member by member, each by itself: see few
//	the subnet of members   they are removed and added again, a part at a time
//	anything else           one batch with all members, or what cut makes of it
//
// A driver without batches gets each change by itself.
func (d *differ) members(pool PoolRef, from, to []model.Member) []Step {
	if !d.opts.Driver.Supports(driver.MemberBatches) {
		return d.oneByOne(pool, from, to)
	}
	var steps []Step
	stages := d.stages(from, to)
	for i, next := range stages {
		set, last := d.changes(pool, from, next), i == len(stages)-1
		if set.nothing() || last && set.single() { // no list of all members is made for most pools
			steps = append(steps, set.smallest()...)
			continue
		}
		if last && d.few(set, len(next)) {
			steps = append(steps, singly(set)...)
			continue
		}
		set.Members = d.inTheirSubnets(from, next)
		steps = append(steps, d.cut(len(from), set)...)
		from = set.Members
	}
	return steps
}

const (
	// fewMembers is how many members change by themselves at most: each is a request, and a time in
	// which the load balancer is PENDING.
	fewMembers = 4
	// fewOf is how many times the work of all of them a batch is at least then.
	fewOf = 10
)

// few reports whether members come and go by themselves, as a batch would have the driver work on ten
// times as many: on all that the pool has then, and on those that go. A member that changes and stays
// is for a batch, which can name its subnet.
func (d *differ) few(s SetMembers, after int) bool {
	n := len(s.Added) + len(s.Removed)
	return d.opts.Driver.Quirks.MemberByMember && n <= fewMembers && fewOf*n <= after+len(s.Removed) && len(s.Changed) == 0 &&
		!slices.ContainsFunc(s.Removed, func(m model.Member) bool { return m.ID == "" })
}

// singly returns the same as a batch in requests for one member each: those that come are there before
// others go.
func singly(s SetMembers) (steps []Step) {
	for _, m := range s.Added {
		steps = append(steps, AddMember{s.Pool, m})
	}
	for _, m := range s.Removed {
		steps = append(steps, RemoveMember{s.Pool, m})
	}
	return steps
}

// moves returns a function that reports whether a member has to go to another subnet: it
// is removed and added again, as a change of the subnet would be written to Octavia's
// database only, and not reach the data path. Members are moved only where
// member-subnet-id names their subnet; otherwise they stay in the one that they were
// created in, by us or by another controller that found it in another way. One whose
// subnet nobody has read is moved with those that are known to be elsewhere: all of a pool
// were sent with the same. One that names no subnet, which is the VIP's, and for which KeepMembers
// names that of its node, moves there.
func (d *differ) moves(from, to []model.Member) func(old, want model.Member) bool {
	if !d.opts.MoveMembers {
		return func(old, want model.Member) bool {
			vip := d.observed.VIP.SubnetID
			return d.opts.NodesSubnets && nowhere(old) && vip != "" && want.SubnetID != "" && want.SubnetID != vip
		}
	}
	elsewhere := func(old, want model.Member) bool {
		return !old.SubnetUnknown && want.SubnetID != "" && old.SubnetID != want.SubnetID
	}
	wanted := model.MembersByKey(to)
	known := slices.ContainsFunc(from, func(old model.Member) bool {
		want := wanted.Get(old.Key())
		if want == nil && len(to) > 0 {
			want = &to[0]
		}
		return want != nil && elsewhere(old, *want)
	})
	return func(old, want model.Member) bool {
		return elsewhere(old, want) || known && old.SubnetUnknown && want.SubnetID != ""
	}
}

// nowhere reports whether a member that exists is known to name no subnet.
func nowhere(m model.Member) bool { return !m.SubnetUnknown && m.SubnetID == "" }

// stages returns the members that a pool has one after the other, the desired ones last.
// Members that move do so in two halves, so that half of them serve at any time; with as
// many others that stay, they move at once.
func (d *differ) stages(from, to []model.Member) [][]model.Member {
	if !d.opts.MoveMembers && (!d.opts.NodesSubnets || !slices.ContainsFunc(from, nowhere)) {
		return [][]model.Member{to}
	}
	have, moves := model.MembersByKey(from), d.moves(from, to)
	var staying, moving []model.Member
	for _, m := range to {
		if old := have.Get(m.Key()); old != nil && moves(*old, m) {
			moving = append(moving, m)
		} else {
			staying = append(staying, m)
		}
	}
	switch {
	case len(moving) == 0:
		return [][]model.Member{to}
	case len(staying) >= len(moving):
		return [][]model.Member{staying, to}
	}
	half := len(moving) / 2
	first, second := staying, staying
	for _, m := range moving[half:] {
		first = append(first[:len(first):len(first)], *have.Get(m.Key()))
	}
	second = append(second[:len(second):len(second)], moving[:half]...)
	return [][]model.Member{first, second, to}
}

// changes returns the step that replaces the members of a pool, without the list of them all.
func (d *differ) changes(pool PoolRef, from, to []model.Member) SetMembers {
	have, set := model.MembersByKey(from), SetMembers{Pool: pool}
	for i := range to {
		old := have.Get(to[i].Key())
		if old == nil {
			set.Added = append(set.Added, to[i])
		} else if m := d.keepSubnet(old, to[i]); differs(old, &m) {
			set.Changed = append(set.Changed, m)
		}
	}
	wanted := model.MembersByKey(to)
	for i := range from {
		if wanted.Get(from[i].Key()) == nil {
			set.Removed = append(set.Removed, from[i])
		}
	}
	return set
}

// inTheirSubnets returns members as a batch sends them. Those that stay keep their subnet: to some
// drivers one in another subnet is another member. Where all are in their subnets, it is the same list.
func (d *differ) inTheirSubnets(from, to []model.Member) []model.Member {
	have, all := model.MembersByKey(from), to
	for i, want := range to {
		old := have.Get(want.Key())
		if old == nil {
			continue
		}
		kept := d.keepSubnet(old, want)
		if kept == want {
			continue
		}
		if &all[0] == &to[0] {
			all = slices.Clone(to)
		}
		all[i] = kept
	}
	return all
}

// without returns those members that are not among others, as a list of its own.
func without(members, others []model.Member) []model.Member {
	are := model.MembersByKey(others)
	return slices.DeleteFunc(slices.Clone(members), func(m model.Member) bool { return are.Get(m.Key()) != nil })
}

// keepSubnet leaves a member in its subnet. Where nobody has read that, none is sent, and
// Octavia keeps it; a driver that needs one gets the wanted one, and recreates the member
// there if that is another.
func (d *differ) keepSubnet(old *model.Member, want model.Member) model.Member {
	switch {
	case old.SubnetUnknown && (!d.opts.Driver.Quirks.AlwaysSendSubnet || want.SubnetID == ""):
		want.SubnetID, want.SubnetUnknown = "", true
	case old.SubnetID != "":
		want.SubnetID = old.SubnetID
	}
	return want
}

// oneByOne returns the same without batches: first members are added and updated, then
// others removed.
func (d *differ) oneByOne(pool PoolRef, from, to []model.Member) []Step {
	have, wanted, moves := model.MembersByKey(from), model.MembersByKey(to), d.moves(from, to)
	var steps []Step
	for _, m := range to {
		old := have.Get(m.Key())
		switch {
		case old == nil:
			steps = append(steps, AddMember{pool, m})
		case moves(*old, m):
			steps = append(steps, RemoveMember{pool, *old}, AddMember{pool, m})
		case differs(old, &m):
			m.SubnetID, m.SubnetUnknown = old.SubnetID, old.SubnetUnknown // which the update of one does not send
			steps = append(steps, UpdateMember{pool, *old, m})
		}
	}
	for _, m := range from {
		if wanted.Get(m.Key()) == nil {
			steps = append(steps, RemoveMember{pool, m})
		}
	}
	return steps
}

// differs reports whether a member that stays has to be updated, or repaired.
func differs(old, want *model.Member) bool {
	return old.MonitorPort != want.MonitorPort || old.Backup != want.Backup || old.Unasked != want.Unasked || !old.Status.Sound() ||
		old.Drained != want.Drained || old.AdminDown != want.AdminDown
}

// smallest returns the cheapest step that does the same.
func (s SetMembers) smallest() []Step {
	switch {
	case !s.single():
		return []Step{s}
	case len(s.Added) == 1:
		return []Step{AddMember{s.Pool, s.Added[0]}}
	case len(s.Removed) == 1:
		return []Step{RemoveMember{s.Pool, s.Removed[0]}}
	default:
		return nil
	}
}

// nothing reports whether a batch changes nothing.
func (s SetMembers) nothing() bool { return len(s.Added)+len(s.Removed)+len(s.Changed) == 0 }

// single reports whether a batch does nothing, or no more than a request for one member.
func (s SetMembers) single() bool {
	added, removed, changed := len(s.Added), len(s.Removed), len(s.Changed)
	return changed == 0 && added+removed <= 1 && (removed == 0 || s.Removed[0].ID != "")
}

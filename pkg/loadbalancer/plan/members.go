package plan

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// memberDiffer returns the steps that change the members of the pools of a load balancer.
type memberDiffer struct {
	opts Options
	// vipSubnet is the subnet of the VIP, which is that of members without one.
	vipSubnet string
}

// change returns the steps from the observed members of a pool to the desired ones.
//
//	differs                 steps
//	nothing                 none: Octavia reloads even for a batch without changes
//	one member is new       add it: the work does not grow with the pool
//	one member is gone      remove it
//	few of many come or go  with a driver that works member by member, each by itself: see few
//	the subnet of members   they are removed and added again, a part at a time
//	anything else           one batch with all members, or what cut makes of it
//
// A driver without batches gets each change by itself.
func (d *memberDiffer) change(pool PoolRef, from, to model.Members) []Step {
	if !d.opts.Driver.Supports(driver.MemberBatches) {
		return d.oneByOne(pool, from, to)
	}
	var steps []Step
	stages := d.stages(from, to)
	for i, next := range stages {
		set, last := d.changes(pool, from, next), i == len(stages)-1
		if set.nothing() || last && set.single() { // avoids the list of all members for most pools
			steps = append(steps, set.smallest()...)
			continue
		}
		if last && d.few(set, next.Len()) {
			steps = append(steps, singly(set)...)
			continue
		}
		set.Members = d.inTheirSubnets(from, next)
		steps = append(steps, d.cut(from.Len(), set)...)
		from = set.Members
	}
	return steps
}

const (
	// fewMembers is the maximum number of members that are changed individually: each is a request,
	// and a PENDING cycle of the load balancer.
	fewMembers = 16
	// fewOf is the minimum ratio between the work of a batch and of the individual changes. Octavia
	// 16 with ovn was measured: 1.5 s for an individual change, 1.1 s for each member of a batch.
	fewOf = 3
)

// few reports whether members are added and removed individually, because a batch would make the
// driver process three times as many: all that the pool has afterwards, and those that are removed. A
// member that changes and stays needs a batch, which can contain its subnet.
func (d *memberDiffer) few(s SetMembers, after int) bool {
	n := s.Added.Len() + s.Removed.Len()
	if !d.opts.Driver.Quirks.MemberByMember || d.opts.Batches || n > fewMembers || fewOf*n > after+s.Removed.Len() || s.Changed.Len() > 0 {
		return false
	}
	for i := range s.Removed.Len() {
		if s.Removed.IsID(i, "") {
			return false
		}
	}
	return true
}

// singly returns the equivalent of a batch in requests for one member each; members are added
// before others are removed.
func singly(s SetMembers) (steps []Step) {
	for _, m := range s.Added.All() {
		steps = append(steps, AddMember{s.Pool, m})
	}
	for _, m := range s.Removed.All() {
		steps = append(steps, RemoveMember{s.Pool, m})
	}
	return steps
}

// moves returns a function that reports whether a member must move to another subnet: it is removed
// and added again, because Octavia would only write a change of the subnet to its database, and not
// to the data path. Members only move to a subnet of member-subnet-id; otherwise they keep the one
// of their creation, even by another controller. One with an unread subnet moves together with
// those that are known to be elsewhere: all of a pool were sent with the same. One without a
// subnet, which means the VIP's, moves to its node's if KeepMembers sets that.
func (d *memberDiffer) moves(from, to model.Members) func(old, want model.Member) bool {
	if !d.opts.MoveMembers {
		return func(old, want model.Member) bool {
			return d.opts.NodesSubnets && nowhere(old) && d.vipSubnet != "" && want.SubnetID != "" && want.SubnetID != d.vipSubnet
		}
	}
	elsewhere := func(old, want model.Member) bool {
		return !old.SubnetUnknown && want.SubnetID != "" && old.SubnetID != want.SubnetID
	}
	known := false
	for i, j := range model.Pairs(from, to) {
		if i >= 0 && to.Len() > 0 {
			known = known || elsewhere(from.Kind(i), to.Kind(max(j, 0)))
		}
	}
	return func(old, want model.Member) bool {
		return elsewhere(old, want) || known && old.SubnetUnknown && want.SubnetID != ""
	}
}

// nowhere reports whether an existing member is known to have no subnet.
func nowhere(m model.Member) bool { return !m.SubnetUnknown && m.SubnetID == "" }

// stages returns the successive members of a pool, the desired ones last. Members that move do so
// in two halves, so that half of them serve at any time; with as many others that stay, they move
// at once.
func (d *memberDiffer) stages(from, to model.Members) []model.Members {
	if !d.opts.MoveMembers && (!d.opts.NodesSubnets || !anyKind(from, nowhere)) {
		return []model.Members{to}
	}
	have, moves := placesIn(from, to), d.moves(from, to)
	moving := to.Filter(func(i int) bool { return have[i] >= 0 && moves(from.Kind(have[i]), to.Kind(i)) })
	staying := to.Without(moving)
	switch {
	case moving.Len() == 0:
		return []model.Members{to}
	case staying.Len() >= moving.Len():
		return []model.Members{staying, to}
	}
	half := moving.Len() / 2
	late := moving.Slice(half, moving.Len())
	unmoved := from.Filter(func(i int) bool { _, is := late.Find(from.Key(i)); return is })
	return []model.Members{staying.With(unmoved), staying.With(moving.Slice(0, half)), to}
}

func anyKind(members model.Members, is func(kind model.Member) bool) bool {
	for kind := range members.Kinds() {
		if is(kind) {
			return true
		}
	}
	return false
}

// placesIn returns the index in from of each member of to, by its key, and -1 for those that from does not have.
func placesIn(from, to model.Members) []int {
	places := make([]int, to.Len())
	for i, j := range model.Pairs(from, to) {
		if j >= 0 {
			places[j] = i
		}
	}
	return places
}

// changes returns the step that replaces the members of a pool, without the list of them all.
func (d *memberDiffer) changes(pool PoolRef, from, to model.Members) SetMembers {
	var added, removed, changed []model.Member
	for i, j := range model.Pairs(from, to) {
		switch {
		case i < 0:
			added = append(added, to.At(j))
		case j < 0:
			removed = append(removed, from.At(i))
		default:
			if old := from.Kind(i); differs(old, to.Kind(j)) {
				changed = append(changed, d.keepSubnet(old, to.At(j)))
			}
		}
	}
	return SetMembers{Pool: pool, Added: model.MembersOf(added...), Removed: model.MembersOf(removed...), Changed: model.MembersOf(changed...)}
}

// inTheirSubnets returns members as a batch sends them. Those that stay keep their subnet: for some
// drivers one in another subnet is another member.
func (d *memberDiffer) inTheirSubnets(from, to model.Members) model.Members {
	have := placesIn(from, to)
	return to.Map(func(i int, want model.Member) model.Member {
		if have[i] < 0 {
			return want
		}
		return d.keepSubnet(from.Kind(have[i]), want)
	})
}

// keepSubnet keeps a member in its subnet. If that was not read, none is sent, and Octavia keeps
// it; a driver that needs one gets the wanted one, and recreates the member there if it differs.
func (d *memberDiffer) keepSubnet(old, want model.Member) model.Member {
	switch {
	case old.SubnetUnknown && (!d.opts.Driver.Quirks.AlwaysSendSubnet || want.SubnetID == ""):
		want.SubnetID, want.SubnetUnknown = "", true
	case old.SubnetID != "":
		want.SubnetID = old.SubnetID
	}
	return want
}

// oneByOne returns the equivalent without batches: first members are added and updated, then others
// removed.
func (d *memberDiffer) oneByOne(pool PoolRef, from, to model.Members) []Step {
	moves := d.moves(from, to)
	var steps, removals []Step
	for i, j := range model.Pairs(from, to) {
		switch {
		case i < 0:
			steps = append(steps, AddMember{pool, to.At(j)})
		case j < 0:
			removals = append(removals, RemoveMember{pool, from.At(i)})
		case moves(from.Kind(i), to.Kind(j)):
			steps = append(steps, RemoveMember{pool, from.At(i)}, AddMember{pool, to.At(j)})
		case differs(from.Kind(i), to.Kind(j)):
			old, m := from.At(i), to.At(j)
			m.SubnetID, m.SubnetUnknown = old.SubnetID, old.SubnetUnknown // which the update of one does not send
			steps = append(steps, UpdateMember{pool, old, m})
		}
	}
	return append(steps, removals...)
}

// differs reports whether a member that stays must be updated, or repaired.
func differs(old, want model.Member) bool {
	return old.MonitorPort != want.MonitorPort || old.Backup != want.Backup || old.Unasked != want.Unasked || !old.Status.Sound() ||
		old.EffectiveWeight() != want.EffectiveWeight() || old.AdminDown != want.AdminDown
}

// smallest returns the cheapest equivalent step.
func (s SetMembers) smallest() []Step {
	switch {
	case !s.single():
		return []Step{s}
	case s.Added.Len() == 1:
		return []Step{AddMember{s.Pool, s.Added.At(0)}}
	case s.Removed.Len() == 1:
		return []Step{RemoveMember{s.Pool, s.Removed.At(0)}}
	default:
		return nil
	}
}

func (s SetMembers) nothing() bool { return s.Added.Len()+s.Removed.Len()+s.Changed.Len() == 0 }

// single reports whether a batch is equivalent to at most one request for one member.
func (s SetMembers) single() bool {
	added, removed, changed := s.Added.Len(), s.Removed.Len(), s.Changed.Len()
	return changed == 0 && added+removed <= 1 && (removed == 0 || !s.Removed.IsID(0, ""))
}

package plan

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// BodyLimit is the maximum size of a list of members, or of a load balancer, in a request in bytes:
// oslo.middleware's default of 114,688 bytes, which applies to Octavia from 14.0 on, less the
// enclosing braces.
const BodyLimit = 114_688 - 100

// A batch is a full replacement: members that stay must be in the same request as those that leave,
// except in a batch that only adds (additive_only). If a pool has more members than a request can
// hold:
//
//	members leave   those that stay   steps
//	none            any               batches that add
//	some            fit a request     one batch with them and as many new ones as fit, then batches that add
//	few             do not fit        batches that add, then each that leaves by itself
//	many            do not fit        another pool in place of this one: see rebuilds
//
// Meanwhile, no member that stays is missing, and there are never fewer members than before or
// after: if the second row would leave fewer, the others are used.

// cut returns the steps for a batch of a pool with before members.
func (d *memberDiffer) cut(before int, s SetMembers) []Step {
	if s.single() || d.fits(s) {
		return s.smallest()
	}
	steps := d.additions(s.Pool, s.Changed, s.Added)
	for _, m := range s.Removed.All() {
		steps = append(steps, RemoveMember{s.Pool, m})
	}
	if replacing := d.replacing(before, s); replacing != nil && len(replacing) < len(steps) {
		return replacing
	}
	return steps
}

// fits reports whether a batch fits into one request.
func (d *memberDiffer) fits(s SetMembers) bool {
	if n, _ := d.fit(s.Members, true, BodyLimit); n == s.Members.Len() {
		return true // none takes more than one that is added
	}
	a, room := d.fit(s.Added, true, BodyLimit)
	if a < s.Added.Len() {
		return false
	}
	n, _ := d.fit(s.staying(), false, room)
	return a+n == s.Members.Len()
}

// staying returns the members that are there before the batch and after it.
func (s SetMembers) staying() model.Members {
	if s.Added.Len() == 0 {
		return s.Members
	}
	return s.Members.Without(s.Added)
}

// fill returns the steps that bring members to a new pool.
func (d *memberDiffer) fill(pool PoolRef, members model.Members) []Step {
	if !d.opts.Driver.Supports(driver.MemberBatches) {
		return d.oneByOne(pool, model.Members{}, members)
	}
	if all := (SetMembers{Pool: pool, Members: members, Added: members}); d.fits(all) {
		return []Step{all}
	}
	return d.additions(pool, model.Members{}, members)
}

// additions returns the batches that change and add members, and leave the others alone.
func (d *memberDiffer) additions(pool PoolRef, changed, added model.Members) (steps []Step) {
	for changed.Len()+added.Len() > 0 {
		c, room := d.fit(changed, false, BodyLimit)
		a, _ := d.fit(added, true, room)
		steps = append(steps, SetMembers{
			Pool: pool, Members: changed.Slice(0, c).With(added.Slice(0, a)), Changed: changed.Slice(0, c), Added: added.Slice(0, a), Additive: true,
		})
		changed, added = changed.Slice(c, changed.Len()), added.Slice(a, added.Len())
	}
	return steps
}

// replacing returns a batch that replaces the members that leave by as many of the new ones as fit,
// and batches that add the others. It returns none if that would omit a member that stays, or leave
// fewer members than before and after.
func (d *memberDiffer) replacing(before int, s SetMembers) []Step {
	staying := s.staying()
	n, room := d.fit(staying, false, BodyLimit)
	a, _ := d.fit(s.Added, true, room)
	if n < staying.Len() || n+a < min(before, s.Members.Len()) {
		return nil
	}
	first := SetMembers{Pool: s.Pool, Members: staying.With(s.Added.Slice(0, a)), Added: s.Added.Slice(0, a), Removed: s.Removed, Changed: s.Changed}
	return append([]Step{first}, d.additions(s.Pool, model.Members{}, s.Added.Slice(a, s.Added.Len()))...)
}

// rebuilds reports whether a new pool takes fewer steps than the change of the existing pool's
// members. In addition to its members, the new pool is created with its monitor, the listener is
// switched to it, and the old one is deleted.
func (p *pair) rebuilds(want, have *model.Listener) bool {
	from, to := have.Pool, want.Pool
	all := SetMembers{Members: to.Members, Added: to.Members}
	if from.ID == "" || from.Protocol != to.Protocol || have.Protocol != want.Protocol || p.staleMonitors ||
		!p.members.opts.Driver.Supports(driver.MemberBatches) || p.members.fits(all) {
		return false
	}
	anew := 3 + len(p.members.additions(PoolRef{}, model.Members{}, to.Members))
	if to.Monitor != nil {
		anew++
	}
	return len(p.members.change(PoolRef{}, from.Members, to.Members)) > anew
}

// poolsToRebuild returns the IDs of the pools that are replaced by new ones.
func (p *pair) poolsToRebuild() map[string]bool {
	rebuilt := map[string]bool{}
	for i := range p.desired.Listeners {
		want := &p.desired.Listeners[i]
		if have := p.observed.Listener(want.Key()); have != nil && p.rebuilds(want, have) {
			rebuilt[have.Pool.ID] = true
		}
	}
	return rebuilt
}

// fit returns how many of some members fit into the remaining room of a request, and the room left
// after them.
func (d *memberDiffer) fit(members model.Members, added bool, room int) (n, left int) {
	for i := range members.Len() {
		size := len(members.Key(i).Address) + d.bytes(members.Kind(i), added)
		if size > room {
			break
		}
		n, room = n+1, room-size
	}
	return n, room
}

// bytes returns the minimum size of a member of a kind in a request, without its address: its name
// is optional, and only some drivers need the subnet of an existing one, or of one in the VIP's.
func (d *memberDiffer) bytes(m model.Member, added bool) int {
	n := len(`{"address":"","protocol_port":65535},`)
	if m.SubnetID != "" && (d.opts.Driver.Quirks.AlwaysSendSubnet || added && m.SubnetID != d.vipSubnet) {
		n += len(`"subnet_id":"",`) + len(m.SubnetID)
	}
	if m.MonitorPort != 0 {
		n += len(`"monitor_port":65535,`)
	}
	if m.Drained || m.Weight > 0 {
		n += len(`"weight":255,`)
	}
	if m.AdminDown {
		n += len(`"admin_state_up":false,`)
	}
	return n
}

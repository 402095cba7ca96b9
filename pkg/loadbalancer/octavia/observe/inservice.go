package observe

import (
	"context"
	"maps"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// MembersChanged reads the settings of the members of a load balancer again, records which have the
// weight 0 or are disabled, and reports whether others differ from lb; with weighed, also whether others have the
// weight 0. In large pools, Octavia before 16.0 shows one that differs. Depth is that of lb: at model.Settings it has
// the ports of health checks only for pools with a monitor.
func (o *Observer) MembersChanged(ctx context.Context, lb *model.LoadBalancer, depth model.Depth, weighed bool) (changed bool, err error) {
	version, err := o.Version(ctx)
	if err != nil {
		return false, err
	}
	lists := func(pool *model.Pool) bool {
		return version.AtLeast(driver.VersionLinearMembers) || pool.Members.Len() <= smallPool
	}
	var statuses map[string][]octavia.MemberStatus
	if slices.ContainsFunc(lb.Listeners, func(l model.Listener) bool { return !lists(&l.Pool) }) {
		tree, err := o.Octavia.StatusTree(ctx, lb.ID)
		if err != nil {
			return false, err
		}
		statuses = membersByPool(tree)
	}
	for i := range lb.Listeners {
		pool := &lb.Listeners[i].Pool
		var read map[model.MemberKey]octavia.Member
		switch {
		case pool.Members.Len() == 0:
			continue
		case lists(pool):
			read, err = byKey(o.Octavia.Members(ctx, pool.ID))
		default:
			read, err = memberReader{o.Octavia}.changed(ctx, pool.ID, statuses[pool.ID])
		}
		if err != nil {
			return false, err
		}
		if noteMembers(pool, read, depth == model.Settings && pool.Monitor == nil, weighed) {
			changed = true
		}
	}
	return changed, nil
}

// noteMembers records which of the read members of a pool are out of service, and reports whether
// other settings have changed. Members that were not read have no weight of their own: see memberReader.changed.
func noteMembers(pool *model.Pool, read map[model.MemberKey]octavia.Member, anyMonitorPort, weighed bool) (changed bool) {
	pool.Members = pool.Members.Map(func(_ int, m model.Member) model.Member {
		found, ok := read[m.Key()]
		if !ok {
			changed = changed || m.Weight > 0 || weighed && m.Drained
			m.Drained, m.AdminDown = false, false
			return m
		}
		now := Member(found)
		changed = changed || weighed && now.Drained != m.Drained
		m.Drained, m.AdminDown = now.Drained, now.AdminDown
		if now.Backup != m.Backup || now.Weight != m.Weight || now.Unasked != m.Unasked || now.MonitorPort != m.MonitorPort && !anyMonitorPort {
			changed = true
		}
		return m
	})
	return changed
}

func byKey(members []octavia.Member, err error) (map[model.MemberKey]octavia.Member, error) {
	found := make(map[model.MemberKey]octavia.Member, len(members))
	for _, m := range members {
		found[Member(m).Key()] = m
	}
	return found, err
}

// changed returns the members of a pool that differ from most others, as far as a few short
// requests find them: all with the weight 0, disabled ones and backups, unless their statuses
// exclude that (one that answers a health monitor has a weight, and a disabled one is OFFLINE); and
// those at either end of the order by another setting. If some were changed, one of them is
// included. If one has a weight above 1, all members are read, because others may have one, too.
func (r memberReader) changed(ctx context.Context, poolID string, statuses []octavia.MemberStatus) (map[model.MemberKey]octavia.Member, error) {
	found := map[model.MemberKey]octavia.Member{}
	always := func(octavia.MemberStatus) bool { return true }
	for _, ask := range []struct {
		setting, value string
		perhaps        func(octavia.MemberStatus) bool
	}{
		{"backup", "1", always}, // which Octavia compares as a number
		{"weight", "0", func(s octavia.MemberStatus) bool { return s.OperatingStatus != "ONLINE" }},
		{"admin_state_up", "false", func(s octavia.MemberStatus) bool { return s.OperatingStatus == "OFFLINE" }},
	} {
		if !slices.ContainsFunc(statuses, ask.perhaps) {
			continue
		}
		members, err := byKey(r.octavia.MembersWith(ctx, poolID, ask.setting, ask.value))
		if err != nil {
			return nil, err
		}
		maps.Copy(found, members)
	}
	for _, order := range []string{"weight:desc", "monitor_address:desc", "monitor_port:desc", "monitor_port:asc"} {
		members, err := byKey(r.octavia.FirstMember(ctx, poolID, order))
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			if Member(m).Weight > 0 {
				return byKey(r.octavia.Members(ctx, poolID))
			}
		}
		maps.Copy(found, members)
	}
	return found, nil
}

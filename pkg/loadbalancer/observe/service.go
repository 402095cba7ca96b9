package observe

import (
	"context"
	"maps"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// OutOfService reads anew which members of a load balancer have the weight 0 or are
// switched off, and notes it: with the status tree, and a request for each pool with
// members of which the tree does not rule it out.
func (o *Observer) OutOfService(ctx context.Context, lb *model.LoadBalancer) error {
	tree, err := o.Octavia.StatusTree(ctx, lb.ID)
	if err != nil {
		return err
	}
	statuses := membersByPool(tree)
	for i := range lb.Listeners {
		pool := &lb.Listeners[i].Pool
		out, err := o.outOfService(ctx, pool.ID, statuses[pool.ID])
		if err != nil {
			return err
		}
		for j := range pool.Members {
			m := &pool.Members[j]
			found, ok := out[m.Key()]
			m.Drained, m.AdminDown = ok && found.Weight == 0, ok && !found.AdminStateUp
		}
	}
	return nil
}

func byKey(members []pools.Member, err error) (map[model.MemberKey]pools.Member, error) {
	found := make(map[model.MemberKey]pools.Member, len(members))
	for _, m := range members {
		found[Member(m).Key()] = m
	}
	return found, err
}

// outOfService gives the members of a pool whose weight is 0 or that are
// switched off, where their statuses do not rule it out: one that answers a health
// monitor has a weight, and one that is switched off is OFFLINE.
func (o *Observer) outOfService(ctx context.Context, poolID string, statuses []octavia.MemberStatus) (map[model.MemberKey]pools.Member, error) {
	found := map[model.MemberKey]pools.Member{}
	for _, ask := range []struct {
		setting, value string
		perhaps        func(octavia.MemberStatus) bool
	}{
		{"weight", "0", func(s octavia.MemberStatus) bool { return s.OperatingStatus != "ONLINE" }},
		{"admin_state_up", "false", func(s octavia.MemberStatus) bool { return s.OperatingStatus == "OFFLINE" }},
	} {
		if !slices.ContainsFunc(statuses, ask.perhaps) {
			continue
		}
		members, err := byKey(o.Octavia.MembersWith(ctx, poolID, ask.setting, ask.value))
		if err != nil {
			return nil, err
		}
		maps.Copy(found, members)
	}
	return found, nil
}

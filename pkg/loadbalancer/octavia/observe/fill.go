package observe

import (
	"context"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Fill sets the IDs, members and statuses of a load balancer that is known to have its desired
// settings, with one request. It is false if the load balancer is gone, or has other listeners or
// pools.
func (o *Observer) Fill(ctx context.Context, lb *model.LoadBalancer) (bool, error) {
	tree, err := o.Octavia.StatusTree(ctx, lb.ID)
	if apierror.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !fill(lb, tree) {
		klog.FromContext(ctx).V(2).Info("The load balancer has other parts than were written down, reading it")
		return false, nil
	}
	Statuses(lb, tree)
	return true, nil
}

// fill sets the IDs and members of a load balancer that is known to be as desired. It is false if
// the tree has other listeners or pools.
func fill(lb *model.LoadBalancer, tree *octavia.StatusTree) bool {
	if len(tree.Listeners) != len(lb.Listeners) {
		return false
	}
	for i := range lb.Listeners {
		listener := &lb.Listeners[i]
		at := slices.IndexFunc(tree.Listeners, func(l octavia.ListenerStatus) bool { return l.Name == listener.Name })
		if at < 0 {
			return false
		}
		listener.ID = strings.Clone(tree.Listeners[at].ID) // which shares memory with the whole answer
		if !listener.Protocol.HasPool() {
			if len(tree.Listeners[at].Pools) > 0 {
				return false
			}
			continue
		}
		if len(tree.Listeners[at].Pools) != 1 || tree.Listeners[at].Pools[0].Name != listener.Pool.Name {
			return false
		}
		found := tree.Listeners[at].Pools[0]
		listener.Pool.ID = strings.Clone(found.ID)
		if m := listener.Pool.Monitor; (m == nil) != (found.Monitor.ID == "") {
			return false
		} else if m != nil {
			monitor := *m
			monitor.ID = strings.Clone(found.Monitor.ID)
			listener.Pool.Monitor = &monitor
		}
		if !fillMembers(&listener.Pool, found.Members) {
			return false
		}
	}
	return true
}

// fillMembers sets the members of a pool. It is false if one has another port than desired.
func fillMembers(pool *model.Pool, members []octavia.MemberStatus) bool {
	like, _ := pool.Members.Common()
	there := make([]model.Member, 0, len(members))
	for _, m := range members {
		if m.Port != like.Port {
			return false
		}
		member := like
		member.Name, member.Address, member.SubnetUnknown = m.Name, m.Address, true
		there = append(there, member)
	}
	pool.Members = model.MembersOf(there...)
	return true
}

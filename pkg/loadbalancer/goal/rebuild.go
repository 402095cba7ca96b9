package goal

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/digest"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// After a restart nothing is known of a load balancer but what was written down. When the
// Service asks for the same as then, but for nodes, all that is missing are IDs and the
// members that there are: the status tree has both. That is one request in place of one for
// each pool and some more.

// anyAge takes the last snapshot, however old: what was written down was compared with it, or
// with an earlier one.
const anyAge = 1 << 62 * time.Nanosecond

// rebuild returns the load balancer of a Service of which nothing but a fingerprint is
// known, if that is enough and still so: else nil, and all of it has to be read.
func (a *Asked) rebuild(ctx context.Context, applied *state.Applied, want *Desired) (*model.Observed, error) {
	if applied.Digests.Nodeless == "" || managesGroups(a.in) || applied.Digests.Nodeless != digest.Nodeless(want.LoadBalancer, a.in.Settings) {
		return nil, nil
	}
	snap, err := a.e.Cloud.Snapshots.Snapshot(ctx, anyAge)
	if err != nil {
		return nil, err
	}
	known := applied.LoadBalancer
	listed, there := snap.LoadBalancers[known.ID]
	if !there || applied.FloatingIPDriftIn(snap) != "" {
		return nil, nil // the last snapshot is a later one than the fingerprint was compared with
	}
	if !a.provenOwn(listed) {
		return nil, nil // what is written down proves nothing
	}
	fip, ok := a.rebuildFloatingIP(snap, known.FloatingIPID)
	if !ok {
		return nil, nil
	}
	lb := want.LoadBalancer.Clone()
	lb.ID, lb.Provider, lb.UpdatedAt = known.ID, known.Provider, applied.Seen.UpdatedAt
	lb.VIP.PortID, lb.VIP.Address, lb.Adopted = listed.VIPPortID, listed.VIPAddress, known.Unmonitored
	if same, err := a.e.unchanged(ctx, lb.ID, lb.Provider, lb.UpdatedAt); err != nil || !same {
		return nil, err
	}
	tree, err := a.e.Cloud.Octavia.StatusTree(ctx, known.ID)
	if apierror.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !fill(lb, tree) {
		klog.FromContext(ctx).V(2).Info("The load balancer has other parts than were written down, reading it")
		return nil, nil
	}
	observe.Statuses(lb, tree)
	lb.FloatingIP = fip
	return &model.Observed{LoadBalancer: lb}, nil
}

// provenOwn reports whether a load balancer of a snapshot is surely the Service's own: by its
// tags or, where cloud-provider-openstack made it, by its name and the annotation.
func (a *Asked) provenOwn(lb snapshot.LoadBalancer) bool {
	switch a.in.ID.Claim(lb.Tags, "") {
	case ownership.Ours:
		return true
	case ownership.Unclaimed:
		return lb.ID == a.in.Settings.LoadBalancer.ID && slices.Contains(a.in.ID.Names(), lb.Name)
	default:
		return false
	}
}

// rebuildFloatingIP returns the floating IP that was written down, nil for none. It is
// false when whose that is depends on who made the load balancer, which a snapshot does not
// tell.
func (a *Asked) rebuildFloatingIP(snap *snapshot.Snapshot, id string) (*model.FloatingIP, bool) {
	if id == "" {
		return nil, true
	}
	seen := snap.FloatingIPs[id]
	owned := a.in.ID.OwnsFloatingIPOnVIP(seen.Description, false)
	if owned != a.in.ID.OwnsFloatingIPOnVIP(seen.Description, true) {
		return nil, false
	}
	fip := fittingFloatingIP(a.in.Settings)
	fip.ID, fip.Address, fip.PortID, fip.Description, fip.Owned = seen.ID, seen.Address, seen.PortID, seen.Description, owned
	return fip, true
}

// fill gives a load balancer, known to be what was asked for, the IDs and members that it
// has. It is false when the tree has other listeners or pools.
func fill(lb *model.LoadBalancer, tree *octavia.StatusTree) bool {
	if len(tree.Listeners) != len(lb.Listeners) {
		return false
	}
	for i := range lb.Listeners {
		listener := &lb.Listeners[i]
		at := slices.IndexFunc(tree.Listeners, func(l octavia.ListenerStatus) bool { return l.Name == listener.Name })
		if at < 0 || len(tree.Listeners[at].Pools) != 1 || tree.Listeners[at].Pools[0].Name != listener.Pool.Name {
			return false
		}
		found := tree.Listeners[at].Pools[0]
		listener.ID, listener.Pool.ID = strings.Clone(tree.Listeners[at].ID), strings.Clone(found.ID) // parts of the texts of an answer
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

// fillMembers gives a pool the members that it has. It is false where one has another port
// than those that were asked for.
func fillMembers(pool *model.Pool, members []octavia.MemberStatus) bool {
	like, _ := digest.Like(pool.Members)
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

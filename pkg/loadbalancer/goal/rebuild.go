package goal

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/digest"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// After a restart only the record of a load balancer is known. If the desired state is the same
// except for nodes, only IDs and current members are missing. The status tree has both: one request
// replaces one for each pool and some more.

// anyAge accepts the last snapshot at any age: the record was compared with it, or with an earlier
// one.
const anyAge = 1 << 62 * time.Nanosecond

// rebuild returns a load balancer from its record alone, if that is sufficient and still true: else
// nil, and the load balancer must be read.
func (a *Asked) rebuild(ctx context.Context, applied *state.Applied, want *Desired) (*model.Observed, error) {
	if applied.Digests.Nodeless == "" || managesGroups(a.in) || applied.Digests.Nodeless != digest.Nodeless(want.LoadBalancer, a.in.Settings) {
		return nil, nil
	}
	snap, err := a.e.Cloud.Project.Snapshot(ctx, anyAge)
	if err != nil {
		return nil, err
	}
	known := applied.LoadBalancer
	listed, there := snap.LoadBalancers[known.ID]
	if !there || applied.FloatingIPDriftIn(snap) != "" {
		return nil, nil // the record was compared with an earlier snapshot
	}
	if !a.provenOwn(listed) {
		return nil, nil // a record proves nothing
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

// provenOwn reports whether a load balancer of a snapshot is certainly the Service's own: by its
// tags or, if cloud-provider-openstack created it, by its name and the annotation.
func (a *Asked) provenOwn(lb project.LoadBalancer) bool {
	switch a.in.ID.Claim(lb.Tags, "") {
	case ownership.Ours:
		return true
	case ownership.Unclaimed:
		return lb.ID == a.in.Settings.LoadBalancer.ID && slices.Contains(a.in.ID.Names(), lb.Name)
	default:
		return false
	}
}

// rebuildFloatingIP returns the recorded floating IP, nil for none. It is false if its owner
// depends on the creator of the load balancer, which a snapshot does not show.
func (a *Asked) rebuildFloatingIP(snap *project.Snapshot, id string) (*model.FloatingIP, bool) {
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

// fill sets the IDs and members of a load balancer that is known to be as desired. It is false if
// the tree has other listeners or pools.
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
		listener.ID, listener.Pool.ID = strings.Clone(tree.Listeners[at].ID), strings.Clone(found.ID) // which share memory with the whole answer
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

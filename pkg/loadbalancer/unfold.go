package loadbalancer

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/snapshot"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// After a restart nothing is known of a load balancer but what was written down. When
// the Service asks for the same as then, but for nodes, all that is missing are IDs
// and the members that there are: the status tree has both. That is one request in
// place of one for each pool and some more.

// frame condenses what a Service asks for beside which nodes are members. It is ""
// where the status tree does not tell the rest: members differ in more than their
// node, what is there has other names than it would get today, or the nodes' security
// groups are ours too.
func (p *pass) frame(desired, observed *model.LoadBalancer) string {
	if p.settings.Access.SecurityGroupMode != "" || observed.Shared != nil || len(observed.Foreign) > 0 || len(observed.Orphans) > 0 {
		return ""
	}
	for _, want := range desired.Listeners {
		have := observed.Listener(want.Key())
		if have == nil || have.Name != want.Name || have.Pool.Name != want.Pool.Name || strays(want.Pool, have.Pool, observed.VIP.SubnetID) {
			return ""
		}
	}
	frame, ok := withoutNodes(desired)
	if !ok {
		return ""
	}
	return digestOf(frame, p.settings, nil)
}

// strays tells whether a pool has members that are not as they would be made today, and
// stay so: out of service, or in another subnet. None names the VIP's.
func strays(want, have model.Pool, vipSubnet string) bool {
	wanted := make(map[string]string, len(want.Members))
	for _, m := range want.Members {
		wanted[m.Address] = cmp.Or(m.SubnetID, vipSubnet)
	}
	return slices.ContainsFunc(have.Members, func(m model.Member) bool {
		return m.Drained || m.AdminDown || !m.SubnetUnknown && cmp.Or(m.SubnetID, vipSubnet) != wanted[m.Address]
	})
}

// withoutNodes leaves one member in each pool, which stands for all.
func withoutNodes(lb *model.LoadBalancer) (*model.LoadBalancer, bool) {
	frame := *lb
	frame.Listeners = slices.Clone(lb.Listeners)
	for i := range frame.Listeners {
		pool := &frame.Listeners[i].Pool
		if len(pool.Members) == 0 {
			return nil, false
		}
		like := anyNode(pool.Members[0])
		for _, m := range pool.Members {
			if anyNode(m) != like {
				return nil, false
			}
		}
		pool.Members = []model.Member{like}
	}
	return &frame, true
}

// anyNode is a member without what its node decides.
func anyNode(m model.Member) model.Member {
	m.ID, m.Name, m.Address, m.SubnetID, m.Status.Operating = "", "", "", "", ""
	return m
}

// unfold gives the load balancer of a Service of which nothing but a fingerprint is
// known, if that is enough: else nil, and all of it has to be read.
func (p *pass) unfold(ctx context.Context, known *state.Applied) (*model.Observed, error) {
	frame, ok := withoutNodes(p.wanted)
	if known.Contents != nil || known.Digests.Nodeless == "" || !ok || p.settings.Access.SecurityGroupMode != "" || known.Digests.Nodeless != digestOf(frame, p.settings, nil) {
		return nil, nil
	}
	look, err := p.inventory.Look(ctx, anyAge)
	if err != nil {
		return nil, err
	}
	listed, there := look.LoadBalancers[known.LoadBalancer.ID]
	if !there || known.FloatingIPDriftIn(look) != "" {
		return nil, nil // the last look is a later one than the fingerprint was compared with
	}
	if !p.provenOwn(listed) {
		return nil, nil // what is written down proves nothing
	}
	fip, ok := p.unfoldFloatingIP(look, known.LoadBalancer.FloatingIPID)
	if !ok {
		return nil, nil
	}
	tree, err := p.octavia.StatusTree(ctx, known.LoadBalancer.ID)
	if apierror.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lb := *frame
	lb.ID, lb.Provider, lb.UpdatedAt = known.LoadBalancer.ID, known.LoadBalancer.Provider, known.Seen.UpdatedAt
	lb.VIP.PortID, lb.VIP.Address, lb.Adopted = listed.VIPPortID, listed.VIPAddress, known.LoadBalancer.Unmonitored
	if !fillIn(&lb, tree) {
		klog.FromContext(ctx).V(2).Info("The load balancer has other parts than were written down, reading it")
		return nil, nil
	}
	observe.Statuses(&lb, tree)
	lb.FloatingIP = fip
	return &model.Observed{LoadBalancer: &lb}, nil
}

// unfoldFloatingIP gives the floating IP that was written down. It is false when whose
// that is depends on who made the load balancer, which a look does not tell.
func (p *pass) unfoldFloatingIP(look *snapshot.Look, id string) (*model.FloatingIP, bool) {
	if id == "" {
		return nil, true
	}
	seen := look.FloatingIPs[id]
	owned := p.id.OwnsFloatingIPOnVIP(seen.Description, false)
	if owned != p.id.OwnsFloatingIPOnVIP(seen.Description, true) {
		return nil, false
	}
	fip := fittingFloatingIP(p.settings)
	fip.ID, fip.Address, fip.PortID, fip.Description, fip.Owned = seen.ID, seen.Address, seen.PortID, seen.Description, owned
	return fip, true
}

// anyAge takes the last look, however old: the fingerprint was compared with it, or
// with an earlier one.
const anyAge = 1 << 62 * time.Nanosecond

// fillIn gives a load balancer, known to be what was asked for, the IDs and members
// that it has. It is false when the tree has other listeners or pools.
func fillIn(lb *model.LoadBalancer, tree *octavia.StatusTree) bool {
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
		listener.ID, listener.Pool.ID = tree.Listeners[at].ID, found.ID
		if m := listener.Pool.Monitor; (m == nil) != (found.Monitor.ID == "") {
			return false
		} else if m != nil {
			monitor := *m
			monitor.ID = found.Monitor.ID
			listener.Pool.Monitor = &monitor
		}
		like := listener.Pool.Members[0]
		listener.Pool.Members = nil
		for _, m := range found.Members {
			if m.Port != like.Port {
				return false
			}
			member := like
			member.Name, member.Address, member.SubnetUnknown = m.Name, m.Address, true
			listener.Pool.Members = append(listener.Pool.Members, member)
		}
	}
	return true
}

package observe

import (
	"fmt"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Compare describes a difference between the parts in a status tree and those of a model of the
// same load balancer, "" for none: the listeners, pools, monitors and members, by ID if the model
// has one. The tree has no settings, and no pools without listener. Parts that are being deleted do
// not count, except members that the model has as leaving: those exist until the tree omits them.
func Compare(lb *model.LoadBalancer, tree *octavia.StatusTree) string {
	others := map[string]bool{}
	for _, foreign := range lb.Foreign {
		others[foreign.ID] = true
	}
	there := map[string]bool{}
	for _, listener := range tree.Listeners {
		if leaving(listener.NodeStatus) {
			continue
		}
		there[listener.ID] = true
		ours := slices.IndexFunc(lb.Listeners, func(l model.Listener) bool { return l.ID == listener.ID })
		switch {
		case ours >= 0:
			if how := comparePools(lb.Listeners[ours], listener, others); how != "" {
				return how
			}
		case !others[listener.ID]:
			return fmt.Sprintf("listener %s is new", listener.Name)
		}
	}
	for _, l := range lb.Listeners {
		if !there[l.ID] {
			return fmt.Sprintf("listener %s is gone", l.Key())
		}
	}
	for _, foreign := range lb.Foreign {
		if foreign.Kind == "listener" && !there[foreign.ID] {
			return fmt.Sprintf("listener %s is gone", foreign.Name)
		}
	}
	return ""
}

func leaving(n octavia.NodeStatus) bool { return status(n).Leaving() }

// Removed returns the members in a status tree that the model does not have: the cloud is removing
// them. A provider that handles members one by one reports the load balancer ACTIVE before that
// ends.
func Removed(lb *model.LoadBalancer, tree *octavia.StatusTree) (members []model.Child) {
	for _, listener := range tree.Listeners {
		ours := slices.IndexFunc(lb.Listeners, func(l model.Listener) bool { return l.ID == listener.ID })
		if ours < 0 {
			continue
		}
		for _, pool := range listener.Pools {
			if pool.ID != lb.Listeners[ours].Pool.ID {
				continue
			}
			known := leavingMembers(lb.Listeners[ours].Pool)
			for _, m := range pool.Members {
				if m.ProvisioningStatus == model.StatusPendingDelete && !known[m.ID] {
					members = append(members, model.Child{Kind: model.KindMember, Name: m.Name, ID: m.ID, Status: status(m.NodeStatus)})
				}
			}
		}
	}
	return members
}

// RemovedMember is a member of a pool with an accepted removal. Without an ID, which the cloud does
// not return for members of a batch, its key identifies it.
type RemovedMember struct {
	Pool, ID string
	Key      model.MemberKey
}

func (r RemovedMember) is(pool string, m *octavia.MemberStatus) bool {
	return r.Pool == pool && (r.ID == m.ID || r.ID == "" && r.Key == keyOf(m))
}

// TakeRemoved deletes the members with an accepted removal from a status tree, and returns them: a
// driver that handles members one by one can report them ACTIVE until they are removed. One in
// ERROR stays in the tree, because its removal has failed.
func TakeRemoved(tree *octavia.StatusTree, removed []RemovedMember) (members []model.Child) {
	if len(removed) == 0 {
		return nil
	}
	seen := map[string]bool{} // listeners can share a pool
	for i := range tree.Listeners {
		for j := range tree.Listeners[i].Pools {
			pool := &tree.Listeners[i].Pools[j]
			pool.Members = slices.DeleteFunc(pool.Members, func(m octavia.MemberStatus) bool {
				if m.ProvisioningStatus == model.StatusError || !slices.ContainsFunc(removed, func(r RemovedMember) bool { return r.is(pool.ID, &m) }) {
					return false
				}
				if !seen[m.ID] {
					seen[m.ID] = true
					members = append(members, model.Child{Kind: model.KindMember, Name: m.Name, ID: m.ID, Status: model.Status{Provisioning: model.StatusPendingDelete}})
				}
				return true
			})
		}
	}
	return members
}

// leavingMembers returns the IDs of the members that a model has as leaving, nil for none.
func leavingMembers(pool model.Pool) (ids map[string]bool) {
	for kind := range pool.Members.Kinds() {
		if !kind.Status.Leaving() {
			continue
		}
		ids = map[string]bool{}
		for _, m := range pool.Members.All() {
			ids[m.ID] = ids[m.ID] || m.Status.Leaving()
		}
		return ids
	}
	return nil
}

// comparePools is Compare for the pools below a listener of ours: its own, and those of other
// owners that L7 policies redirect to.
func comparePools(l model.Listener, tree octavia.ListenerStatus, others map[string]bool) string {
	found := l.Pool.ID == ""
	for _, pool := range tree.Pools {
		switch {
		case leaving(pool.NodeStatus) || others[pool.ID]:
		case pool.ID == l.Pool.ID:
			found = true
			if how := comparePool(l, pool); how != "" {
				return how
			}
		default:
			return fmt.Sprintf("pool %s of listener %s is new", pool.Name, l.Key())
		}
	}
	if !found {
		return fmt.Sprintf("pool %s of listener %s is gone", l.Pool.Name, l.Key())
	}
	return ""
}

func comparePool(l model.Listener, tree octavia.PoolStatus) string {
	m, monitored := l.Pool.Monitor, tree.Monitor.ID != "" && !leaving(tree.Monitor.NodeStatus)
	if (m != nil) != monitored || m != nil && m.ID != "" && m.ID != tree.Monitor.ID {
		return fmt.Sprintf("health monitor of listener %s is another", l.Key())
	}
	known := leavingMembers(l.Pool)
	inTree := membersInTree(tree, func(m *octavia.MemberStatus) bool { return !leaving(m.NodeStatus) || known[m.ID] })
	for i := range l.Pool.Members.Len() {
		found := inTree.find(l.Pool.Members.Key(i))
		if found == nil || !l.Pool.Members.IsID(i, "") && !l.Pool.Members.IsID(i, found.ID) {
			m := l.Pool.Members.At(i)
			return fmt.Sprintf("member %s:%d of listener %s is gone, or another", m.Address, m.Port, l.Key())
		}
	}
	if more := len(inTree.members) - l.Pool.Members.Len(); more > 0 {
		return fmt.Sprintf("%d members of listener %s are new", more, l.Key())
	}
	return ""
}

// treeMembers are members of a pool in a status tree, sorted by key, one of each key.
type treeMembers struct {
	members []*octavia.MemberStatus
	next    int
}

// membersInTree returns the members of a pool that satisfy a predicate.
func membersInTree(pool octavia.PoolStatus, is func(*octavia.MemberStatus) bool) *treeMembers {
	sorted := make([]*octavia.MemberStatus, 0, len(pool.Members))
	for i := range pool.Members {
		if m := &pool.Members[i]; is(m) {
			sorted = append(sorted, m)
		}
	}
	slices.SortFunc(sorted, func(a, b *octavia.MemberStatus) int { return keyOf(a).Compare(keyOf(b)) })
	return &treeMembers{members: slices.CompactFunc(sorted, func(a, b *octavia.MemberStatus) bool { return keyOf(a) == keyOf(b) })}
}

// find returns the member with a key, nil for none. Calls must have ascending keys.
func (t *treeMembers) find(key model.MemberKey) *octavia.MemberStatus {
	for ; t.next < len(t.members); t.next++ {
		switch order := keyOf(t.members[t.next]).Compare(key); {
		case order == 0:
			return t.members[t.next]
		case order > 0:
			return nil
		}
	}
	return nil
}

func keyOf(m *octavia.MemberStatus) model.MemberKey {
	return model.MemberKey{Address: m.Address, Port: m.Port}
}

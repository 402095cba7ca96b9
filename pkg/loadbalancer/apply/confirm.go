package apply

import (
	"context"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// A status tree has 170 bytes of each member. Where a node comes to, or leaves, a load
// balancer of thousands of members, one request for the IDs of all parts, at 48 bytes, and a
// small one for what became of each member that was written say the same. They can only
// confirm: whatever is not as it was written, the status tree explains.

// written are the members that a run has written.
type written struct {
	members []writtenMember
	// removed are those of them that are to be there no more.
	removed []observe.RemovedMember
	// batch is set from a batch to the end of all that it does.
	batch bool
	// more is set where it has changed anything else, or too many.
	more bool
}

type writtenMember struct {
	pool plan.PoolRef
	key  model.MemberKey
}

const (
	// mostWritten is how many new members of a pool are asked for one by one: the IDs of those
	// that a batch adds are not known.
	mostWritten = 4
	// worthARequest is how many members, read in short, make up for a request more.
	worthARequest = 300
)

// note adds what a step has written, in the pool with this ID. A change that fails leaves all members in ERROR that it
// was about: one of them shows it, and of a removed one that its ID is still there.
func (w *written) note(step plan.Step, poolID string) {
	switch s := step.(type) {
	case plan.AddMember:
		w.add(s.Pool, poolID, s.Member)
	case plan.UpdateMember:
		w.add(s.Pool, poolID, s.To)
	case plan.RemoveMember:
		w.remove(poolID, s.Member)
	case plan.SetMembers:
		w.batch = true
		w.remove(poolID, s.Removed...)
		shown := s.Added
		if len(shown) == 0 {
			shown = s.Members[:min(1, len(s.Members))]
		}
		w.more = w.more || len(shown) > mostWritten
		w.add(s.Pool, poolID, shown[:min(len(shown), mostWritten)]...)
		w.comeBack(poolID, s.Added...)
	case plan.CreateFloatingIP, plan.AssociateFloatingIP, plan.DisassociateFloatingIP, plan.ClaimFloatingIP, plan.DeleteFloatingIP:
	default:
		w.more = true
	}
}

func (w *written) add(pool plan.PoolRef, poolID string, members ...model.Member) {
	for _, m := range members {
		w.members = append(w.members, writtenMember{pool, m.Key()})
	}
	w.comeBack(poolID, members...)
}

// comeBack notes that members are there again, or still: what has their key is not on its way out.
func (w *written) comeBack(poolID string, members ...model.Member) {
	if len(w.removed) == 0 {
		return
	}
	back := model.MembersByKey(members)
	w.removed = slices.DeleteFunc(w.removed, func(r observe.RemovedMember) bool { return r.ID == "" && r.Pool == poolID && back.Get(r.Key) != nil })
}

func (w *written) remove(poolID string, members ...model.Member) {
	for _, m := range members {
		w.removed = append(w.removed, observe.RemovedMember{Pool: poolID, ID: m.ID, Key: m.Key()})
	}
}

// settled notes that nothing is left of what was removed.
func (w *written) settled() { w.removed, w.batch = nil, false }

// confirmMembers reports whether the load balancer surely has the parts that it is to have,
// all of them ACTIVE, after a change of few of its members.
func (r *run) confirmMembers(ctx context.Context) bool {
	r.state.pack()
	packed := r.state.loadBalancer
	if r.written.more || driver.QuirksOf(r.state.outline().Provider).ActiveBeforeChildren ||
		packed.Members()+r.state.observed.Rest.Members() < worthARequest*(1+len(r.written.members)) {
		return false
	}
	lb := r.state.known()
	for _, m := range r.written.members {
		if !r.confirmMember(ctx, lb, m) {
			return false
		}
	}
	pools, err := r.Octavia.PoolOutlines(ctx, lb.ID)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Reading the status tree instead", "err", err)
		return false
	}
	if !confirms(lb, r.state.observed.Rest, pools) {
		return false
	}
	r.state.replace(lb)
	return true
}

// confirmMember reports whether a member was written, and notes its ID.
func (r *run) confirmMember(ctx context.Context, lb *model.LoadBalancer, m writtenMember) bool {
	pool := m.pool.Find(lb)
	if pool == nil {
		return false
	}
	at := slices.IndexFunc(pool.Members, func(member model.Member) bool { return member.Key() == m.key })
	found, err := r.Octavia.MemberStateAt(ctx, pool.ID, m.key.Address, m.key.Port)
	if err != nil || len(found) != 1 || found[0].ProvisioningStatus != octavia.StatusActive || at < 0 {
		return false
	}
	member := &pool.Members[at]
	if member.ID != "" && member.ID != found[0].ID {
		return false
	}
	member.ID = found[0].ID
	return true
}

// confirms reports whether the pools of a load balancer show that it has all its parts and the
// rest of its members, and that nobody has added any that send clients anywhere. Pools of others are theirs.
func confirms(lb *model.LoadBalancer, rest *model.Rest, pools []octavia.PoolOutline) bool {
	others := map[string]bool{}
	for _, foreign := range lb.Foreign {
		others[foreign.ID] = true
	}
	seen := 0
	for _, found := range pools {
		at := slices.IndexFunc(lb.Listeners, func(l model.Listener) bool { return l.Pool.ID == found.ID })
		if at < 0 {
			if slices.ContainsFunc(found.Listeners, func(l octavia.ObjectID) bool { return !others[l.ID] }) {
				return false
			}
			continue
		}
		if !confirmsListener(&lb.Listeners[at], found, rest.Len(at), others) || !rest.IDs(at, func(id []byte) bool { return hasMember(found, id) }) {
			return false
		}
		seen++
	}
	return seen == len(lb.Listeners)
}

// confirmsListener reports whether a pool has all that a listener has, and so many members more. It
// sorts the members of the pool.
func confirmsListener(l *model.Listener, found octavia.PoolOutline, more int, others map[string]bool) bool {
	monitor := ""
	if l.Pool.Monitor != nil {
		monitor = l.Pool.Monitor.ID
	}
	if found.ProvisioningStatus != octavia.StatusActive || found.MonitorID != monitor || len(found.Members) != len(l.Pool.Members)+more {
		return false
	}
	if !slices.ContainsFunc(found.Listeners, func(other octavia.ObjectID) bool { return other.ID == l.ID }) ||
		slices.ContainsFunc(found.Listeners, func(other octavia.ObjectID) bool { return other.ID != l.ID && !others[other.ID] }) {
		return false
	}
	// It is the answer's own list: a map would be most of the memory of this.
	slices.SortFunc(found.Members, func(a, b octavia.ObjectID) int { return strings.Compare(a.ID, b.ID) })
	for i := range l.Pool.Members {
		if m := &l.Pool.Members[i]; m.ID == "" || !m.Status.Sound() || !hasMember(found, []byte(m.ID)) {
			return false
		}
	}
	l.Pool.Status = model.Status{Provisioning: found.ProvisioningStatus, Operating: found.OperatingStatus}
	return l.Status.Sound() && (l.Pool.Monitor == nil || l.Pool.Monitor.Status.Sound())
}

// hasMember reports whether a pool, whose members are sorted, has one with an ID.
func hasMember(pool octavia.PoolOutline, id []byte) bool {
	_, ok := slices.BinarySearchFunc(pool.Members, id, func(m octavia.ObjectID, id []byte) int {
		switch {
		case m.ID < string(id):
			return -1
		case m.ID > string(id):
			return 1
		}
		return 0
	})
	return ok
}

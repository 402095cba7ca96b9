package state

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// Applied is the state of a Service's load balancer at the end of the last successful round. It
// never changes once it is in a Store: its address is the token for compare-and-swap.
type Applied struct {
	// Service is the name, for callers with only the UID; Identity is the Service's on the load
	// balancer.
	Service  types.NamespacedName
	Identity ownership.Identity
	// Digests are of the desired load balancer: while they are equal, there is nothing to do.
	Digests Digests
	// Address is the published one, in the form that the Service requests. MoreAddresses are those of
	// further VIPs.
	Address       string
	MoreAddresses []string
	LoadBalancer  LoadBalancer
	// Contents are the parts of the load balancer, as far as they are known. After a restart they
	// are Listed until a change is necessary; Contents are nil then, except to confirm an
	// unconfirmed record. They never change: a change starts with Clone.
	model.Knowledge
	Contents *model.LoadBalancer
	// Parts is a hash of the existing parts, which confirms an unconfirmed record: see package
	// drift. It is "" if nothing can.
	Parts     string
	Seen      Seen
	Persisted Persisted
	// Reported are the formatted steps that would repair changes of other clients, and are only
	// reported (drift-policy=report).
	Reported map[string]bool
}

// Digests are hashes of a Service's desired load balancer.
type Digests struct {
	Full string
	// Nodeless is the hash without the nodes; "" if that proves nothing.
	Nodeless string
}

// LoadBalancer identifies the load balancer of a Service and its related objects.
type LoadBalancer struct {
	ID, Provider string
	VIPSubnetID  string // known only after a restart
	// VIPs are the VIPs if there are several; known only after a restart.
	VIPs         model.VIP
	FloatingIPID string // "" for none
	// Named is the load balancer that the Service named at that time.
	Named string
	// Share is the name by which the Service shared it at that time, "" for none.
	Share string
	// Shared is set if the load balancer is another owner's.
	Shared *model.Shared
	// Adopted is the field of model.LoadBalancer, Unmonitored the result of its method.
	Adopted, Unmonitored bool
	// AllNodes is set if all nodes are members only because this process may not watch endpoints.
	AllNodes bool
	// Pods is set if pods are the members, and not nodes. Weighed is set if members have weights of the Service's own.
	Pods, Weighed bool
	// Duplicates are further load balancers of the Service, which are not changed.
	Duplicates []string
}

// Seen is the state of the load balancer in the last read.
type Seen struct {
	UpdatedAt       time.Time
	OperatingStatus string
	// Since is the last time at which the cloud was known to have this state.
	Since time.Time
	// ChangedByOthers is set if another client has changed something since the last confirmation.
	ChangedByOthers bool
}

// Persisted reports which knowledge is stored outside of this process.
type Persisted struct {
	// Record is set if the record for the next process is stored.
	Record bool
	// Address is set if ID and address of the load balancer are in the annotations of the Service.
	Address bool
}

// Addresses returns all published addresses.
func (a *Applied) Addresses() []string { return append([]string{a.Address}, a.MoreAddresses...) }

// SetApplied records the applied state of the Service, and that it has a load balancer, and no VIP of provider
// router.
func (e *Entry) SetApplied(applied *Applied) {
	e.Applied, e.Namespace, e.Routed, e.Access = applied, applied.Service.Namespace, nil, nil
	e.Made.Address = applied.Address
}

// DropApplied makes the next round of the Service read the cloud.
func (e *Entry) DropApplied() { e.Applied, e.Routed = nil, nil }

// DropAppliedIf drops the applied state, unless a newer one was applied.
func (e *Entry) DropAppliedIf(applied *Applied) {
	if e.Applied == applied {
		e.Applied = nil
	}
}

// MarkDrifted records that another client has changed the applied state, unless a newer one was
// applied. It reports whether it has recorded that.
func (e *Entry) MarkDrifted(applied *Applied, reason string) (marked bool) {
	if e.Applied != applied {
		return false
	}
	e.Applied, e.Drift = nil, Drift{Reason: reason, Before: applied}
	return true
}

// ReplaceApplied replaces the knowledge of the same state, unless a newer one was applied. It keeps
// the records that others have made meanwhile: that the state is confirmed, or persisted, or that its
// annotations must be written again.
func (e *Entry) ReplaceApplied(before, now *Applied) {
	have := e.Applied
	if have == before {
		e.Applied = now
		return
	}
	if have == nil || have.Depth != before.Depth || !have.Seen.UpdatedAt.Equal(before.Seen.UpdatedAt) ||
		have.Contents != before.Contents && have.Depth != model.Listed {
		return
	}
	merged := *now
	merged.LoadBalancer.Share = have.LoadBalancer.Share
	if now.Persisted.Address == before.Persisted.Address || have.LoadBalancer.Share != before.LoadBalancer.Share {
		merged.Persisted.Address = have.Persisted.Address
	}
	if now.Seen.UpdatedAt.Equal(before.Seen.UpdatedAt) {
		merged.Confirmed = now.Confirmed || have.Confirmed
		merged.Persisted.Record = now.Persisted.Record || have.Persisted.Record
	}
	e.Applied = &merged
}

// AllApplied returns the current applied state of each Service.
func (s *Store) AllApplied() map[types.UID]*Applied {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[types.UID]*Applied, len(s.entries))
	for uid, e := range s.entries {
		if e.Applied != nil {
			all[uid] = e.Applied
		}
	}
	return all
}

// Unpersisted is AllApplied for the Services with something to persist: usually none. A record
// waits until it is confirmed.
func (s *Store) Unpersisted() map[types.UID]*Applied {
	s.mu.Lock()
	defer s.mu.Unlock()
	some := make(map[types.UID]*Applied, len(s.index.unpersisted))
	for uid, e := range s.index.unpersisted {
		some[uid] = e.Applied
	}
	return some
}

// Serves reports whether a load balancer is known to be a Service's.
func (s *Store) Serves(loadBalancerID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.index.on[loadBalancerID]) > 0
}

// HasGuests reports whether a Service other than the one with a UID is on a load balancer, or has begun a change there.
func (s *Store) HasGuests(loadBalancerID string, of types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid := range s.index.on[loadBalancerID] {
		if uid != of {
			return true
		}
	}
	for uid, e := range s.entries {
		if uid != of && slices.Contains(e.Made.Entered, loadBalancerID) {
			return true
		}
	}
	return false
}

func (a *Applied) unpersisted() bool {
	return a != nil && (!a.Persisted.Address || a.RecordDue())
}

// RecordDue reports whether the record is confirmed, and not persisted yet.
func (a *Applied) RecordDue() bool { return a.Confirmed && !a.Persisted.Record }

// Version identifies a state of a load balancer. A round keeps that of its beginning, and not the whole state,
// because thousands of rounds may wait at the same time.
type Version struct {
	id           string // "" without load balancer
	updatedAt    time.Time
	floatingIPID string
	// children are the IDs of the listeners and pools of a Service.
	children string
}

// VersionOf returns the version of a load balancer, which may be nil.
func VersionOf(lb *model.LoadBalancer) *Version {
	if lb == nil {
		return &Version{}
	}
	v := &Version{id: lb.ID, updatedAt: lb.UpdatedAt}
	if lb.FloatingIP != nil {
		v.floatingIPID = lb.FloatingIP.ID
	}
	var children []string
	for _, l := range lb.Listeners {
		children = append(children, l.ID, l.Pool.ID)
	}
	for _, pool := range lb.Orphans {
		children = append(children, pool.ID)
	}
	v.children = strings.Join(children, " ")
	return v
}

// RebaseOthers records, for the other Services on a load balancer, that its updated_at has moved
// because of a change for the Service of this UID, from the state before its first step to the load
// balancer after the last. The parts of the others are assumed to be unchanged until the next read;
// those of the Service are known. If another client has changed something before that was not read
// yet, updated_at must still show it.
func (s *Store) RebaseOthers(uid types.UID, from *Version, now *model.LoadBalancer, at time.Time) {
	to := VersionOf(now)
	if from == nil || from.id != to.id || from.updatedAt.Equal(to.updatedAt) || from.floatingIPID != to.floatingIPID {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, e := range s.index.on[to.id] {
		if other != uid && e.Applied.Seen.UpdatedAt.Equal(from.updatedAt) && !e.Applied.Seen.ChangedByOthers {
			e.Applied = e.Applied.rebased(from, to, uid, now, at)
			s.index.listUnpersisted(other, e)
		}
	}
}

// rebased returns the knowledge of a load balancer after a change for another Service, by its UID. Contents and Parts
// of a record are dropped if the listeners or pools have changed.
func (a *Applied) rebased(from, to *Version, by types.UID, now *model.LoadBalancer, at time.Time) *Applied {
	moved := *a
	moved.Seen.UpdatedAt, moved.Seen.Since, moved.Confirmed = to.updatedAt, at, false
	moved.Persisted.Record = false
	if a.Depth == model.Listed {
		moved.Digests.Nodeless = ""
		if from.children != to.children {
			moved.Contents, moved.Parts = nil, ""
		}
		return &moved
	}
	moved.Contents = a.Contents.Clone()
	moved.Contents.UpdatedAt = to.updatedAt
	if from.children != to.children {
		moved.Contents.Foreign = othersIn(a.Contents.Foreign, from.children, by, now)
	}
	return &moved
}

// othersIn returns the foreign parts of a load balancer from the view of one Service, after a
// change of another Service's parts, by its UID: children are their IDs before, now has the new ones.
func othersIn(before []model.Foreign, children string, by types.UID, now *model.LoadBalancer) []model.Foreign {
	was := strings.Fields(children)
	all := slices.DeleteFunc(slices.Clone(before), func(f model.Foreign) bool { return slices.Contains(was, f.ID) })
	for _, l := range now.Listeners {
		all = append(all, model.Foreign{
			Kind: "listener", ID: l.ID, Name: l.Name, Key: l.Key(), Service: ownership.SharerOf(l.Name, l.Tags), ServiceUID: string(by), Monitored: l.Pool.Monitored(),
		})
	}
	for _, pool := range now.Orphans {
		all = append(all, model.Foreign{Kind: "pool", ID: pool.ID, Name: pool.Name, ServiceUID: string(by), Monitored: pool.Monitored()})
	}
	return all
}

package state

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// Applied is what was applied for a Service and seen of it last, when a round ended well.
// It is never changed once it is in a Store: its address is the token by which a Store
// compares and swaps.
type Applied struct {
	// Service is the name, for who has the UID only; Identity is who the Service is on the
	// load balancer.
	Service  types.NamespacedName
	Identity ownership.Identity
	// Digests are of the load balancer that the Service asked for: as long as it asks for
	// the same, there is nothing to do.
	Digests Digests
	// Address is what is published, in whatever form the Service asks for.
	Address      string
	LoadBalancer LoadBalancer
	// Contents is all that is in the load balancer. It is nil after a restart, until
	// something has to change. It is never changed: a change begins with Clone.
	Contents *model.LoadBalancer
	// Restored is what confirms a state without contents that nobody has confirmed; nil: nothing does.
	Restored *Restored
	// Brief is set where of the members in it no more was read than
	// observe.Observer.Brief has.
	Brief     bool
	Seen      Seen
	Persisted Persisted
	// Reported are the steps, as they print, that would repair what another client has
	// changed, and that are only reported (drift-policy=report).
	Reported map[string]bool
}

// Restored is what a state is to be compared with that the process before this one has
// recorded before it was confirmed: of its contents this process knows nothing else.
type Restored struct {
	// Outline is what the Service asks for, without members and IDs.
	Outline *model.LoadBalancer
	// Parts condenses which parts were there: see package drift.
	Parts string
}

// Digests condense what a Service asks for.
type Digests struct {
	Full string
	// Nodeless is of the same without the nodes; "" where that proves nothing.
	Nodeless string
}

// LoadBalancer names the load balancer of a Service and what belongs to it.
type LoadBalancer struct {
	ID, Provider string
	VIPPortID    string
	VIPSubnetID  string // known after a restart only
	FloatingIPID string // "" for none
	// Named is the load balancer that the Service named then.
	Named string
	// Shared is set when the load balancer is another's.
	Shared      *model.Shared
	Unmonitored bool // model.LoadBalancer.Unmonitored
	// Duplicates are further load balancers of the Service that are left alone.
	Duplicates []string
}

// Seen is how the load balancer was when it was seen last.
type Seen struct {
	UpdatedAt       time.Time
	OperatingStatus string
	// Since is when the cloud was last known to be like this.
	Since time.Time
	// Confirmed is set when the contents are surely those of UpdatedAt.
	Confirmed bool
	// ChangedByOthers is set when another client has changed something since it was
	// confirmed last.
	ChangedByOthers bool
}

// Persisted is what of it is written down.
type Persisted struct {
	// Fingerprint is set when it is recorded for the next process.
	Fingerprint bool
	// Address is set when ID and address of the load balancer stand in the annotations of
	// the Service.
	Address bool
}

// SetApplied records what was applied for a Service, and that it has a load balancer.
func (s *Store) SetApplied(uid types.UID, applied *Applied) {
	s.update(uid, func(e *Entry) { e.Applied, e.Namespace = applied, applied.Service.Namespace })
}

// DropApplied has the cloud read anew for a Service.
func (s *Store) DropApplied(uid types.UID) {
	s.update(uid, func(e *Entry) { e.Applied = nil })
}

// DropAppliedIf is DropApplied, unless something newer was applied since. It reports
// whether it has dropped it.
func (s *Store) DropAppliedIf(uid types.UID, applied *Applied) (dropped bool) {
	s.update(uid, func(e *Entry) {
		if dropped = e.Applied == applied; dropped {
			e.Applied = nil
		}
	})
	return dropped
}

// MarkDrifted records that another client has changed what was applied, unless something
// newer was applied since. It reports whether it has.
func (s *Store) MarkDrifted(uid types.UID, applied *Applied, reason string) (marked bool) {
	s.update(uid, func(e *Entry) {
		if marked = e.Applied == applied; marked {
			e.Applied, e.Drift = nil, Drift{Reason: reason, Before: applied}
		}
	})
	return marked
}

// DropDrift records that the drift of a Service is repaired, or that what was applied
// before it counts no more.
func (s *Store) DropDrift(uid types.UID) {
	s.update(uid, func(e *Entry) { e.Drift = Drift{} })
}

// ReplaceApplied records what is known of the same state by now, unless something newer
// was applied since. What others have recorded of that state meanwhile stays: that it is
// confirmed, or persisted.
func (s *Store) ReplaceApplied(uid types.UID, before, now *Applied) {
	s.update(uid, func(e *Entry) {
		have := e.Applied
		if have == before {
			e.Applied = now
			return
		}
		if have == nil || have.Contents != before.Contents || !have.Seen.UpdatedAt.Equal(before.Seen.UpdatedAt) {
			return
		}
		merged := *now
		if now.Seen.UpdatedAt.Equal(before.Seen.UpdatedAt) {
			merged.Seen.Confirmed = now.Seen.Confirmed || have.Seen.Confirmed
			merged.Persisted.Address = now.Persisted.Address || have.Persisted.Address
			merged.Persisted.Fingerprint = now.Persisted.Fingerprint || have.Persisted.Fingerprint
		}
		e.Applied = &merged
	})
}

// AllApplied returns what was applied for each Service, as of now.
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

// Unpersisted is AllApplied for the Services of which something can be persisted that is not: mostly
// none. A fingerprint waits until it is confirmed.
func (s *Store) Unpersisted() map[types.UID]*Applied {
	s.mu.Lock()
	defer s.mu.Unlock()
	some := make(map[types.UID]*Applied, len(s.unpersisted))
	for uid, e := range s.unpersisted {
		some[uid] = e.Applied
	}
	return some
}

// unpersisted reports whether something can be persisted that is not.
func (a *Applied) unpersisted() bool {
	return a != nil && (!a.Persisted.Address || a.FingerprintDue())
}

// FingerprintDue reports whether the fingerprint is confirmed, and not persisted yet.
func (a *Applied) FingerprintDue() bool { return a.Seen.Confirmed && !a.Persisted.Fingerprint }

// Version tells one state of a load balancer from another. It is what a round keeps of the
// state that it began with: thousands may wait at the same time.
type Version struct {
	id           string // "" where there is no load balancer
	updatedAt    time.Time
	floatingIPID string
	// children are the IDs of the listeners of a Service and of its pools.
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

// RebaseOthers records, for the other Services on a load balancer, that its updated_at has
// moved because of a change for the Service of this UID, from the state before its first
// step to the load balancer after the last. What the others have there is taken to be as it was, until
// it is read once more; what the Service has there is known anew. Where another client had
// changed something before, and nobody has looked what yet, updated_at still has to tell.
func (s *Store) RebaseOthers(uid types.UID, from *Version, now *model.LoadBalancer, at time.Time) {
	to := VersionOf(now)
	if from == nil || from.id != to.id || from.updatedAt.Equal(to.updatedAt) || from.floatingIPID != to.floatingIPID {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, e := range s.on[to.id] {
		if other != uid && e.Applied.Seen.UpdatedAt.Equal(from.updatedAt) && !e.Applied.Seen.ChangedByOthers {
			e.Applied = e.Applied.rebased(from, to, now, at)
			s.listUnpersisted(other, e)
		}
	}
}

// rebased returns what is known of a load balancer after a change for another Service. Of one of which
// no more is known than which parts there were, that is nothing where those have changed.
func (a *Applied) rebased(from, to *Version, now *model.LoadBalancer, at time.Time) *Applied {
	moved := *a
	moved.Seen.UpdatedAt, moved.Seen.Since, moved.Seen.Confirmed = to.updatedAt, at, false
	moved.Persisted.Fingerprint = false
	if a.Contents == nil {
		moved.Digests.Nodeless = ""
		if from.children != to.children {
			moved.Restored = nil
		}
		return &moved
	}
	moved.Contents = a.Contents.Clone()
	moved.Contents.UpdatedAt = to.updatedAt
	if from.children != to.children {
		moved.Contents.Foreign = othersIn(a.Contents.Foreign, from.children, now)
	}
	return &moved
}

// othersIn returns what is another's in a load balancer to one Service, after a change of what another
// Service has there: which that was before, by ID, and is now.
func othersIn(before []model.Foreign, children string, now *model.LoadBalancer) []model.Foreign {
	was := strings.Fields(children)
	all := slices.DeleteFunc(slices.Clone(before), func(f model.Foreign) bool { return slices.Contains(was, f.ID) })
	for _, l := range now.Listeners {
		all = append(all, model.Foreign{
			Kind: "listener", ID: l.ID, Name: l.Name, Key: l.Key(), Service: ownership.SharerOf(l.Name, l.Tags), Monitored: l.Pool.Monitored(),
		})
	}
	for _, pool := range now.Orphans {
		all = append(all, model.Foreign{Kind: "pool", ID: pool.ID, Name: pool.Name, Monitored: pool.Monitored()})
	}
	return all
}

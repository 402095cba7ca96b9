package state

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
)

// Entry is the knowledge of one Service. The zero Entry is empty.
type Entry struct {
	// Applied is the last applied state; nil if the cloud must be read.
	Applied *Applied
	// Routed is that of a Service with provider router. Access are the ports that are opened for it; nil if
	// this process has not opened or seen them.
	Routed *Routed
	Access *Access
	// Drift is an unrepaired change by another client.
	Drift Drift
	// Accepted is the Service in the last state that was completely applied; nil for none.
	Accepted *v1.Service
	// Served is the resource version of the newest state that was served.
	Served string
	// Unsettled is set while the Service does not have its desired state.
	Unsettled Unsettled
	// Refusal is set while the Service is refused.
	Refusal Refusal
	// Trouble is the last obstacle in the cloud.
	Trouble Trouble
	// Namespace is the one in which the Service counts for max-services-per-namespace, "" if it has
	// no load balancer, and none is about to be created.
	Namespace string
	// Grace is that of the Service's pods.
	Grace Grace
	// Stay is how long a member stays after its endpoints began to terminate, 0 if until they have ended.
	Stay time.Duration
	// memberChanges are the times that the last changes of the members of a pool took, the newest last.
	memberChanges []time.Duration
	// Made are the objects that this process created for the Service.
	Made Made
	// SecurityGroups is the knowledge of package securitygroup of the Service.
	SecurityGroups securitygroup.Entry
	// warnings are hashes of the last warning about each subject; recalled is set if they include
	// those of the last process.
	warnings map[string]uint64
	recalled bool
	// announced are hashes of the last announced change of each subject; nil once all are done.
	announced map[string]uint64
}

// loadBalancerID returns the last applied load balancer, "" for none.
func (e *Entry) loadBalancerID() string {
	if e.Applied == nil {
		return ""
	}
	return e.Applied.LoadBalancer.ID
}

// LoadBalancerID returns the known load balancer of a Service, "" for none.
func (s *Store) LoadBalancerID(uid types.UID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[uid]
	switch {
	case e == nil:
		return ""
	case e.Applied != nil:
		return e.Applied.LoadBalancer.ID
	case e.Routed != nil:
		return e.Routed.LoadBalancer.ID
	case e.Drift.Before != nil:
		return e.Drift.Before.LoadBalancer.ID
	case e.Drift.Routed != nil:
		return e.Drift.Routed.LoadBalancer.ID
	}
	return e.Made.LoadBalancerID
}

// Unseen reports whether this process knows nothing about the state of a Service in the cloud, and has changed
// nothing there.
func (e Entry) Unseen() bool {
	return e.Applied == nil && e.Routed == nil && e.Accepted == nil && e.Drift == (Drift{}) && e.Refusal == (Refusal{}) && !e.Made.Touched
}

// Drift is a noticed change by another client that is neither repaired nor reported yet. The zero
// value is none.
type Drift struct {
	Reason string
	// Before is the applied state before the change, Routed that of a Service with provider router.
	Before *Applied
	Routed *Routed
}

// Refusal is the reason of a Service's refusal. The zero value is none.
type Refusal struct {
	Reason string
	// Reported is set if a call of the service controller has returned it.
	Reported bool
}

// Made are the objects that this process has created for a Service, or found.
type Made struct {
	// Touched is set when this process has begun a change: records and reads of an earlier process
	// are then incomplete.
	Touched bool
	// Forwards is set when this process has begun a change of port forwardings.
	Forwards bool
	// LoadBalancerID is the load balancer that this process has created for the Service, or has
	// found to be its own. An error does not clear it: a list of load balancers may come from a
	// replica without the last creation, which a read by ID finds.
	LoadBalancerID string
	// ServedOn is the load balancer of another owner on which this process has found the Service by
	// its published address. The owner may change the address.
	ServedOn string
	// Entered are the load balancers where this process has begun a change for the Service, which
	// was on another one, or on none. They are kept until the Service has its desired state and has
	// left the others. One is "" while its ID is unknown.
	Entered []string
	// VIP is set if this process has begun a VIP of provider router, or found one, until another provider serves the
	// Service.
	VIP bool
	// UnattachedFloatingIP is set if a floating IP of the Service was left on no port: a snapshot
	// of the project has shown it, or a change has failed after it was reserved.
	UnattachedFloatingIP bool
	// CreateEmpty is set if Octavia has refused to create the load balancer together with its
	// listeners, and leaked the port of its VIP: it is created empty, and filled later.
	CreateEmpty bool
	// Creation is an unanswered creation.
	Creation Creation
}

// Grace is how long the pods of a Service serve after their deletion, if that is Known. It is valid until
// a time.
type Grace struct {
	Grace time.Duration
	Known bool
	Until time.Time
}

// SetGrace records how long the pods of a Service serve after their deletion.
func (s *Store) SetGrace(uid types.UID, grace Grace) {
	s.update(uid, func(e *Entry) { e.Grace = grace })
}

// SetStay records how long members of a Service stay after their endpoints began to terminate.
func (s *Store) SetStay(uid types.UID, stay time.Duration) {
	if s.Get(uid).Stay != stay {
		s.update(uid, func(e *Entry) { e.Stay = stay })
	}
}

// A Service keeps the times of so many changes of members at most, and MemberChange needs so many.
const mostMemberChanges, enoughMemberChanges = 9, 3

// RecordMemberChange records how long a change of the members of a pool of a Service took.
func (s *Store) RecordMemberChange(uid types.UID, took time.Duration) {
	s.update(uid, func(e *Entry) {
		last := e.memberChanges[max(0, len(e.memberChanges)+1-mostMemberChanges):]
		e.memberChanges = append(slices.Clone(last), took)
	})
}

// MemberChange returns the median time of the Service's changes of the members of a pool; false if too few are known.
func (e Entry) MemberChange() (time.Duration, bool) {
	all := slices.Sorted(slices.Values(e.memberChanges))
	if len(all) < enoughMemberChanges {
		return 0, false
	}
	return all[len(all)/2], true
}

// MarkTouched records that a change was begun for the Service.
func (s *Store) MarkTouched(uid types.UID) {
	s.update(uid, func(e *Entry) { e.Made.Touched = true })
}

// SetLoadBalancerID records the load balancer that is the Service's own.
func (s *Store) SetLoadBalancerID(uid types.UID, id string) {
	s.update(uid, func(e *Entry) { e.Made.LoadBalancerID = id })
}

// Enter records the beginning of a change on a load balancer that is new to the Service. The ID is
// "" for one that is being created.
func (s *Store) Enter(uid types.UID, id string) {
	s.update(uid, func(e *Entry) {
		if !slices.Contains(e.Made.Entered, id) {
			e.Made.Entered = append(slices.Clip(e.Made.Entered), id)
		}
	})
}

// Entered returns the load balancers on which Services have begun changes, and do not have their desired state.
func (s *Store) Entered() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]bool{}
	for _, e := range s.entries {
		for _, id := range e.Made.Entered {
			if id != e.loadBalancerID() {
				all[id] = true
			}
		}
	}
	return all
}

// LeaveOthers records that the Service has no objects outside its desired load balancer.
func (s *Store) LeaveOthers(uid types.UID) {
	s.update(uid, func(e *Entry) { e.Made.Entered = nil })
}

// SetServedOn records the load balancer of another owner that serves the Service.
func (s *Store) SetServedOn(uid types.UID, id string) {
	s.update(uid, func(e *Entry) { e.Made.ServedOn = id })
}

// SetUnattachedFloatingIP records whether the project has a floating IP of the Service on no
// port.
func (s *Store) SetUnattachedFloatingIP(uid types.UID, unattached bool) {
	s.update(uid, func(e *Entry) { e.Made.UnattachedFloatingIP = unattached })
}

// MarkCreateEmpty records that the load balancer cannot be created together with its
// listeners.
func (s *Store) MarkCreateEmpty(uid types.UID) {
	s.update(uid, func(e *Entry) { e.Made.CreateEmpty = true })
}

// MarkRemoved records that all objects of the Service are removed, except a floating IP that it
// retains.
func (s *Store) MarkRemoved(uid types.UID, retainsFloatingIP bool) {
	s.update(uid, func(e *Entry) {
		e.Made.LoadBalancerID, e.Made.Entered, e.Made.VIP, e.Made.Forwards, e.Made.UnattachedFloatingIP, e.announced = "", nil, false, false, false, nil
		e.Made.Touched = e.Made.Touched && retainsFloatingIP
	})
}

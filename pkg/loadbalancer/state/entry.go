package state

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
)

// Entry is what is known of one Service. The zero Entry knows nothing.
type Entry struct {
	// Applied is what was applied and seen last; nil when the cloud has to be read.
	Applied *Applied
	// Drift is what another client has changed since, as long as it is not repaired.
	Drift Drift
	// Accepted is the Service as it was when all that it asked for was done; nil when
	// that never was.
	Accepted *v1.Service
	// Served is the resource version of the newest state that was served.
	Served string
	// Unsettled is set while the Service does not have what it asks for.
	Unsettled Unsettled
	// Refusal is set while the Service is refused.
	Refusal Refusal
	// Trouble is what the cloud keeps the Service from.
	Trouble Trouble
	// Namespace is where the Service counts for max-services-per-namespace, "" where it
	// does not: it has no load balancer, nor is it about to.
	Namespace string
	// Made is what was made for the Service.
	Made Made
	// SecurityGroups is what package securitygroup knows of the Service.
	SecurityGroups securitygroup.Entry
	// warnings are hashes of the last warning about each subject; recalled is set when those
	// that the last process has sent are among them.
	warnings map[string]uint64
	recalled bool
	// announced are hashes of the last change of each subject that was announced; nil once all is
	// done.
	announced map[string]uint64
}

// loadBalancerID returns the load balancer of what was applied last, "" for none.
func (e *Entry) loadBalancerID() string {
	if e.Applied == nil {
		return ""
	}
	return e.Applied.LoadBalancer.ID
}

// LoadBalancerID returns the load balancer of a Service, as far as this process knows it; ""
// where it does not.
func (s *Store) LoadBalancerID(uid types.UID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[uid]
	switch {
	case e == nil:
		return ""
	case e.Applied != nil:
		return e.Applied.LoadBalancer.ID
	case e.Drift.Before != nil:
		return e.Drift.Before.LoadBalancer.ID
	}
	return e.Made.LoadBalancerID
}

// Drift is a change by another client that was noticed, and is neither repaired nor
// reported yet. The zero value is none.
type Drift struct {
	Reason string
	// Before is what was applied and seen last before the change.
	Before *Applied
}

// Refusal is why a Service is refused. The zero value is none.
type Refusal struct {
	Reason string
	// Reported is set when a call of the service controller has returned it.
	Reported bool
}

// Made is what this process has made for a Service, or found to be made.
type Made struct {
	// Touched is set when this process has begun a change: what an earlier one wrote down
	// or saw is not the whole truth any more.
	Touched bool
	// LoadBalancerID is the load balancer that this process has created for the Service, or
	// has found to be its own. An error does not clear it: a list of load balancers may come
	// from a replica that does not have the last creation yet, where the ID finds it.
	LoadBalancerID string
	// ServedOn is the load balancer of another owner on which this process has found the
	// Service served, by the address that it had published. The owner may change the address.
	ServedOn string
	// Entered are the load balancers where this process has begun a change for the Service, which
	// was on another one, or on none. They stay here until the Service has all that it asks for and
	// has left the others. One is "" while its ID is not known.
	Entered []string
	// UnattachedFloatingIP is set when a floating IP of the Service was left on no port: a snapshot of the
	// project has shown it, or a change has failed after it was reserved.
	UnattachedFloatingIP bool
	// CreateEmpty is set when Octavia has refused to create the load balancer together with
	// its listeners, and lost the port of its VIP: it is created empty, and filled later.
	CreateEmpty bool
	// Creation is a creation without an answer.
	Creation Creation
}

// MarkTouched records that a change was begun for the Service.
func (s *Store) MarkTouched(uid types.UID) {
	s.update(uid, func(e *Entry) { e.Made.Touched = true })
}

// SetLoadBalancerID records the load balancer that is the Service's own.
func (s *Store) SetLoadBalancerID(uid types.UID, id string) {
	s.update(uid, func(e *Entry) { e.Made.LoadBalancerID = id })
}

// Enter records that a change was begun on a load balancer where the Service was not before. The ID
// is "" for one that is being created.
func (s *Store) Enter(uid types.UID, id string) {
	s.update(uid, func(e *Entry) {
		if !slices.Contains(e.Made.Entered, id) {
			e.Made.Entered = append(slices.Clip(e.Made.Entered), id)
		}
	})
}

// LeaveOthers records that the Service has nothing but where it asks to be.
func (s *Store) LeaveOthers(uid types.UID) {
	s.update(uid, func(e *Entry) { e.Made.Entered = nil })
}

// SetServedOn records the load balancer of another owner on which the Service is served.
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

// MarkRemoved records that all that was made for the Service is removed; a floating IP is
// left in the project where it retains one.
func (s *Store) MarkRemoved(uid types.UID, retainsFloatingIP bool) {
	s.update(uid, func(e *Entry) {
		e.Made.LoadBalancerID, e.Made.Entered, e.Made.UnattachedFloatingIP, e.announced = "", nil, false, nil
		e.Made.Touched = e.Made.Touched && retainsFloatingIP
	})
}

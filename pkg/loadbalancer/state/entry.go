package state

import (
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
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
	// Stay is how long members stay after their endpoints began to terminate.
	Stay model.Stay
	// MemberChanges are those of the pools of the Service.
	MemberChanges MemberChanges
	// Made are the objects that this process created for the Service.
	Made Made
	// SecurityGroups is the knowledge of package securitygroup of the Service.
	SecurityGroups securitygroup.Entry
	// Warnings are the last ones that were sent.
	Warnings Warnings
	// announced are hashes of the last announced change of each subject; nil once all are done.
	announced hashes
}

// appliedID returns the last applied load balancer, "" for none.
func (e *Entry) appliedID() string {
	if e.Applied == nil {
		return ""
	}
	return e.Applied.LoadBalancer.ID
}

// LoadBalancerID returns the known load balancer of the Service, "" for none.
func (e Entry) LoadBalancerID() string {
	switch {
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

// Grace is how long the pods of a Service serve after their deletion, if that is Known. It is valid until
// a time.
type Grace struct {
	Grace time.Duration
	Known bool
	Until time.Time
}

// mostMemberChanges is how many times of changes a Service keeps, enoughMemberChanges how many Median needs.
const mostMemberChanges, enoughMemberChanges = 9, 3

// MemberChanges are the times that the last changes of the members of a pool took, the newest last. They never change
// once they are in a Store.
type MemberChanges []time.Duration

// Add records how long a change took.
func (c *MemberChanges) Add(took time.Duration) {
	last := (*c)[max(0, len(*c)+1-mostMemberChanges):]
	*c = append(slices.Clone(last), took)
}

// Median returns the median time of the changes; false if too few are known.
func (c MemberChanges) Median() (time.Duration, bool) {
	all := slices.Sorted(slices.Values(c))
	if len(all) < enoughMemberChanges {
		return 0, false
	}
	return all[len(all)/2], true
}

func (e *Entry) empty() bool { return reflect.ValueOf(e).Elem().IsZero() }

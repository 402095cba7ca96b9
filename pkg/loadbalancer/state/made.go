package state

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

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
	// Address is the last one at which the Service was served: its status may have a host name instead, and the load
	// balancer may be gone.
	Address string
	// Weighed is set from the beginning of a change that may give members weights of the Service's own, until the
	// Service has its desired state.
	Weighed bool
}

// Enter records the beginning of a change on a load balancer that is new to the Service. The ID is
// "" for one that is being created.
func (m *Made) Enter(id string) {
	if !slices.Contains(m.Entered, id) {
		m.Entered = append(slices.Clip(m.Entered), id)
	}
}

// EnteredBy returns the load balancers on which Services have begun changes, and do not have their desired state.
func EnteredBy(services iter.Seq2[types.UID, Entry]) map[string]bool {
	all := map[string]bool{}
	for _, e := range services {
		for _, id := range e.Made.Entered {
			if id != e.appliedID() {
				all[id] = true
			}
		}
	}
	return all
}

// MarkRemoved records that all objects of the Service are removed, except a floating IP that it
// retains.
func (e *Entry) MarkRemoved(retainsFloatingIP bool) {
	kept := Made{ServedOn: e.Made.ServedOn, CreateEmpty: e.Made.CreateEmpty, Touched: e.Made.Touched && retainsFloatingIP}
	e.Made, e.announced = kept, nil
}

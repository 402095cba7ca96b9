package apply

import (
	"errors"
	"fmt"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// LoadBalancerError reports that a load balancer went into ERROR, or was deleted, while it
// was being changed.
type LoadBalancerError struct {
	ID, Name, Status string
}

// Error implements error.
func (e *LoadBalancerError) Error() string {
	return fmt.Sprintf("load balancer %s (%s) is %s", e.Name, e.ID, e.Status)
}

// ChildrenError reports that a load balancer is ACTIVE, but parts of it did not
// become what they were asked to be.
type ChildrenError struct {
	ID       string
	Children []model.Child
}

// Error implements error.
func (e *ChildrenError) Error() string {
	const most = 3
	var parts []string
	for _, c := range e.Children[:min(most, len(e.Children))] {
		parts = append(parts, fmt.Sprintf("%s %s is %s", c.Kind, c.Name, c.Status.Provisioning))
	}
	if more := len(e.Children) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("load balancer %s is ACTIVE, but %s", e.ID, strings.Join(parts, ", "))
}

// Pending reports whether one of the parts is still being worked on.
func (e *ChildrenError) Pending() bool { return model.AnyPending(e.Children) }

// ChangedError reports that a load balancer has other parts, after a change of ours, than
// that change has left: another client was at it too, or its driver has lost a part of the change.
// It must be read anew.
type ChangedError struct {
	ID, How string
	// ByDriver is set where the driver itself may have done that: it works on members one by one,
	// and members have just been changed.
	ByDriver bool
}

// Error implements error.
func (e *ChangedError) Error() string {
	if e.ByDriver {
		return fmt.Sprintf("load balancer %s is not as the last change has left it: %s", e.ID, e.How)
	}
	return fmt.Sprintf("load balancer %s was changed by somebody else at the same time: %s", e.ID, e.How)
}

// RefusedError reports that the provider does not have what a step asks for (501), that the
// user may not fail a load balancer over (403), or that what single requests could do was refused in
// a way that may be about the kind of the request.
type RefusedError struct {
	Step plan.Step
	Err  error
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the answer of the cloud.
func (e *RefusedError) Unwrap() error { return e.Err }

// UnsureCreationError reports that it is not known whether a load balancer is being made:
// its creation had no answer, and it is not there so far.
type UnsureCreationError struct{ Err error }

// Error implements error.
func (e *UnsureCreationError) Error() string { return e.Err.Error() }

// Unwrap returns what there was in place of an answer.
func (e *UnsureCreationError) Unwrap() error { return e.Err }

// FullCreateError reports that a load balancer with contents was refused, for what is
// in it as it seems, after the port of its VIP was made: Octavia leaves that behind,
// at each try. One that is made empty has a port that goes with it.
type FullCreateError struct {
	Step plan.CreateLoadBalancer
	Err  error
}

// Error implements error.
func (e *FullCreateError) Error() string { return e.Err.Error() }

// Unwrap returns the answer of the cloud.
func (e *FullCreateError) Unwrap() error { return e.Err }

// errNotFoundYet reports that a creation without an answer has left nothing so far.
var errNotFoundYet = errors.New("OpenStack gave no answer, and what was to be created is not there so far: it is looked for again before the next attempt")

// errNoPool reports that another client has deleted the pool that a step needs.
func errNoPool(name string) error {
	return fmt.Errorf("pool %q not found; what is missing is created in the next attempt", name)
}

// errUnsupportedStep reports a step of plan that this package does not know.
func errUnsupportedStep(step plan.Step) error {
	return fmt.Errorf("unsupported step %T: this is a bug of the controller, ask the cluster's operator to report it", step)
}

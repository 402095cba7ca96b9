package apply

import (
	"errors"
	"fmt"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// LoadBalancerError reports that a load balancer went into ERROR, or was deleted, during its
// change.
type LoadBalancerError struct {
	ID, Name, Status string
}

// Error implements error.
func (e *LoadBalancerError) Error() string {
	return fmt.Sprintf("load balancer %s (%s) is %s", e.Name, e.ID, e.Status)
}

// ChildrenError reports that a load balancer is ACTIVE, but parts of it did not reach their state.
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

// Pending reports whether one of the parts is PENDING.
func (e *ChildrenError) Pending() bool { return model.AnyPending(e.Children) }

// ChangedError reports that a load balancer has other parts than the last change has left: another
// client has changed it at the same time, or its driver has lost a part of the change. It must be
// read again.
type ChangedError struct {
	ID, How string
	// ByDriver is set if the driver may be the cause: it changes members one by one, and members
	// were just changed.
	ByDriver bool
}

// Error implements error.
func (e *ChangedError) Error() string {
	if e.ByDriver {
		return fmt.Sprintf("load balancer %s is not as the last change has left it: %s", e.ID, e.How)
	}
	return fmt.Sprintf("load balancer %s was changed by another client at the same time: %s", e.ID, e.How)
}

// RefusedError reports a refusal that another plan may avoid: the provider does not support a step
// (501), the user may not fail a load balancer over (403), the kind of a request may be the
// cause, and single requests can replace it, or a batch of members may stay within a quota.
type RefusedError struct {
	Step plan.Step
	Err  error
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the answer of the cloud.
func (e *RefusedError) Unwrap() error { return e.Err }

// UnsureCreationError reports a creation that got no answer, and no load balancer was found yet.
type UnsureCreationError struct{ Err error }

// Error implements error.
func (e *UnsureCreationError) Error() string { return e.Err.Error() }

// Unwrap returns the cause of the lost answer.
func (e *UnsureCreationError) Unwrap() error { return e.Err }

// FullCreateError reports a refusal of a full creation, probably because of its parts, after
// Octavia has created the VIP's port: each attempt leaves a port behind. A load balancer that is
// created empty is deleted together with its port.
type FullCreateError struct{ Err error }

// Error implements error.
func (e *FullCreateError) Error() string { return e.Err.Error() }

// Unwrap returns the answer of the cloud.
func (e *FullCreateError) Unwrap() error { return e.Err }

// errNotFoundYet reports that a creation without an answer has no result yet.
var errNotFoundYet = errors.New("OpenStack did not answer, and the object does not exist yet: the controller looks for it again before the next attempt")

// errNoPool reports that another client has deleted the pool that a step needs.
func errNoPool(name string) error {
	return fmt.Errorf("pool %q not found; what is missing is created in the next attempt", name)
}

// errUnsupportedStep reports a step that this package does not know.
func errUnsupportedStep(step plan.Step) error {
	return fmt.Errorf("unsupported step %T: this is a bug of the controller, ask the cluster's operator to report it", step)
}

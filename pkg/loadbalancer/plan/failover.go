package plan

import (
	"fmt"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// A load balancer in ERROR accepts no changes. If its address is published, the first of these
// remedies applies:
//
//	it can be failed over now                     the provider rebuilds what it runs on; all that is in it stays
//	the Service permits a replacement             another one takes its place: see startReplacement
//	neither                                       it is left alone, and the message has the remedy of the cloud's operator

// Failover is the handling of a load balancer in ERROR.
type Failover struct {
	// Now is set if it is failed over. Otherwise WhyNot is the reason, "" if it is unknown.
	Now    bool
	WhyNot string
}

// FailOver makes the provider rebuild the basis of a load balancer. Only one in ERROR is failed
// over, because that interrupts its connections.
type FailOver struct{ ID, Name string }

func (FailOver) step() {}

// String implements Step.
func (s FailOver) String() string {
	return fmt.Sprintf("load balancer %s (%s): fail over, as it is in ERROR", s.Name, s.ID)
}

// replacesFailed reports whether a load balancer in ERROR with a published address is replaced.
func replacesFailed(lb *model.LoadBalancer, opts Options) bool {
	return lb.Status.Failed() && opts.Published && !opts.Failover.Now && opts.Replacement != nil && replaceable(lb)
}

// recoverFailed returns the plan for a load balancer in ERROR with a published address that is not
// replaced.
func recoverFailed(lb *model.LoadBalancer, opts Options) Plan {
	if opts.Failover.Now {
		return Plan{Steps: []Step{FailOver{ID: lb.ID, Name: lb.Name}}}
	}
	return Plan{Blocked: inError(lb, opts.Failover.WhyNot)}
}

// inError returns the Blocked text of a load balancer in ERROR, with the remedy of others. The text
// does not change while the status lasts.
func inError(lb *model.LoadBalancer, whyNot string) string {
	text := fmt.Sprintf("load balancer %s (%s) is in ERROR", lb.Name, lb.ID)
	if !lb.UpdatedAt.IsZero() {
		text += " since " + lb.UpdatedAt.UTC().Format(time.RFC3339)
	}
	if lb.Status.Operating != "" {
		text += fmt.Sprintf(" (operating status %s)", lb.Status.Operating)
	}
	text += "; it may still serve traffic, so it is left alone"
	if whyNot != "" {
		text += "; " + whyNot
	}
	if lb.Shared != nil { // it cannot be replaced
		return fmt.Sprintf("%s: ask the cloud's operator to fail it over (openstack loadbalancer failover %s)", text, lb.ID)
	}
	return fmt.Sprintf("%s: ask the cloud's operator to fail it over (openstack loadbalancer failover %s), "+
		"let a new one take its place with the annotation %s, or delete the Service to start anew", text, lb.ID, allowReplace)
}

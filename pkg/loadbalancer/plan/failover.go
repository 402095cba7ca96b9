package plan

import (
	"fmt"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// A load balancer in ERROR takes no change. What leads one out of it whose address is
// published, the cheapest move first:
//
//	it can be failed over now                     the provider rebuilds what it runs on; all that is in it stays
//	the Service permits a replacement             another one takes its place: see startReplacement
//	neither                                       it is left alone, and what the cloud's operator can do is told

// Failover says what is to become of a load balancer in ERROR.
type Failover struct {
	// Now is set where it is to be failed over. Otherwise WhyNot says why it is not, "" where
	// nobody knows.
	Now    bool
	WhyNot string
}

// FailOver has the provider rebuild what a load balancer in ERROR runs on. Only one that is in
// ERROR is failed over, as that interrupts its connections.
type FailOver struct{ ID, Name string }

func (FailOver) step() {}

// String implements Step.
func (s FailOver) String() string {
	return fmt.Sprintf("load balancer %s (%s): fail over, as it is in ERROR", s.Name, s.ID)
}

// replacesFailed reports whether another load balancer takes the place of one in ERROR whose
// address is published.
func replacesFailed(lb *model.LoadBalancer, opts Options) bool {
	return lb.Status.Failed() && opts.Published && !opts.Failover.Now && opts.Replacement != nil && replaceable(lb)
}

// recoverFailed returns the plan for a load balancer in ERROR that is not replaced, whose
// address is published.
func recoverFailed(lb *model.LoadBalancer, opts Options) Plan {
	if opts.Failover.Now {
		return Plan{Steps: []Step{FailOver{ID: lb.ID, Name: lb.Name}}}
	}
	return Plan{Blocked: inError(lb, opts.Failover.WhyNot)}
}

// inError returns what blocks a load balancer in ERROR, and what others can do. It is the
// same text as long as the load balancer is.
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
	if lb.Shared != nil { // no other can take its place
		return fmt.Sprintf("%s: ask the cloud's operator to fail it over (openstack loadbalancer failover %s)", text, lb.ID)
	}
	return fmt.Sprintf("%s: ask the cloud's operator to fail it over (openstack loadbalancer failover %s), "+
		"let a new one take its place with the annotation %s, or delete the Service to start anew", text, lb.ID, allowReplace)
}

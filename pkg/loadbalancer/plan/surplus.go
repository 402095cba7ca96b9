package plan

import (
	"fmt"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// dropSurplus deletes load balancers of a Service that has another one, unless
// somebody else has put something into them.
func dropSurplus(observed model.Observed) []Step {
	var steps []Step
	for _, lb := range observed.Surplus {
		if len(lb.Foreign) == 0 {
			steps = append(steps, DeleteLoadBalancer{ID: lb.ID, Name: lb.Name, Cascade: true, Why: "the Service has another one"})
		}
	}
	return steps
}

// keptSurplus tells of those that stay.
func keptSurplus(observed model.Observed) []Notice {
	var notices []Notice
	for _, lb := range observed.Surplus {
		if len(lb.Foreign) > 0 {
			notices = append(notices, Notice{"load balancer", fmt.Sprintf(
				"load balancer %s (%s) was made for the Service beside another one and is not needed; it is left alone, as it holds %s %s, which is not ours: delete it by hand",
				lb.Name, lb.ID, lb.Foreign[0].Kind, lb.Foreign[0].Name)})
		}
	}
	return notices
}

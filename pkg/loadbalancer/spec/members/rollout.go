package members

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Pod returns the name of a pod among the endpoints, in the namespace of their Service; "" for none.
func (e Endpoints) Pod() string {
	for _, s := range e {
		if s.Pod != "" {
			return s.Pod
		}
	}
	return ""
}

// Grace returns how long a pod certainly or possibly serves after its deletion: as long as the longest
// preStop hook of its containers. A hook of unknown duration takes the whole grace period.
func Grace(pod *v1.Pod) time.Duration {
	most := time.Duration(ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, v1.DefaultTerminationGracePeriodSeconds)) * time.Second
	longest := time.Duration(0)
	for _, c := range pod.Spec.Containers {
		switch {
		case c.Lifecycle == nil || c.Lifecycle.PreStop == nil:
		case c.Lifecycle.PreStop.Sleep != nil:
			longest = max(longest, time.Duration(c.Lifecycle.PreStop.Sleep.Seconds)*time.Second)
		default:
			longest = most
		}
	}
	return min(longest, most)
}

// Rollout is the removal of a member after the deletion of its pods.
type Rollout struct {
	// Removal is how long it takes, Grace how long the pods certainly serve after their deletion.
	Removal, Grace time.Duration
	// Cuts is set if the driver cuts the established connections of a removed member: it is removed as
	// late as possible.
	Cuts bool
	// Unread is set if the pods could not be read, so that Grace is unknown.
	Unread bool
	// Pods is set if pods are the members. Family is their IP family, "" for both.
	Pods   bool
	Family string
}

// changeUnderWay is the minimum time that is reserved for another change of the load balancer, for which a removal may
// have to wait. It may be a change of members as well.
const changeUnderWay = 5 * time.Second

// lead is how long before the pods stop the removal begins: some take twice as long as usual.
func (r Rollout) lead() time.Duration { return 2*r.Removal + max(changeUnderWay, r.Removal) }

// Stay returns how long members stay after their pods began to terminate, if the driver cuts connections: until
// these have stopped if they do so too early. Members that are nodes count as leaving alone.
func (r Rollout) Stay() model.Stay {
	alone := r.Grace - r.lead()
	switch {
	case !r.Cuts || alone <= 0:
		return model.Stay{}
	case r.Pods:
		return model.Stay{For: alone, Each: r.Removal, Family: r.Family}
	}
	return model.Stay{For: alone}
}

// Problem returns why connections fail during a rollout of a Service; "" if none does.
func (r Rollout) Problem(service string) string {
	removal := max(time.Second, r.Removal.Round(time.Second))
	remedy := "externalTrafficPolicy Cluster with trafficDistribution PreferSameNode loses none"
	if r.Pods {
		remedy = "members: endpoint-nodes with " + remedy
	}
	switch {
	case r.Cuts && r.Stay().For == 0:
		why, permit := "", ""
		if r.Unread {
			why, permit = ", because the controller cannot read their preStop hooks", "permit it to get pods (docs/members.md#rollouts), and "
		}
		return fmt.Sprintf("Removing a member takes about %s, and begins when the pods at it have stopped%s: connections fail during a rollout; "+
			"%sgive them a preStop hook that sleeps longer than %s; %s", removal, why, permit, r.lead().Round(time.Second), remedy)
	case !r.Cuts && r.Grace < r.Removal:
		return fmt.Sprintf("Removing a member takes about %s; pods of %s stop after %s: connections fail during a rollout; give them a preStop hook that sleeps longer; %s",
			removal, service, r.Grace, remedy)
	}
	return ""
}

package gates

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// patience is how long a gate waits for load balancers.
const patience = 5 * time.Minute

// verdict returns the condition that opens the gate of a pod, which has waited for some time; false
// while it waits for one of the Services that hold it. Served has those with a round that has
// followed the pod, false for one that has failed.
func verdict(holding []types.NamespacedName, served map[types.NamespacedName]bool, waited time.Duration) (v1.PodCondition, bool) {
	unserved := slices.DeleteFunc(slices.Clone(holding), func(key types.NamespacedName) bool { _, is := served[key]; return is })
	failed := slices.DeleteFunc(slices.Clone(holding), func(key types.NamespacedName) bool { return served[key] })
	switch {
	case len(holding) == 0:
		return opened("NotAwaited", "No load balancer has to follow the pod"), true
	case len(unserved) > 0 && waited < patience:
		return v1.PodCondition{}, false
	case len(unserved) > 0:
		return opened("TimedOut", fmt.Sprintf("The load balancer of Service %s has not followed the pod within %s", unserved[0], patience)), true
	case len(failed) > 0:
		return opened("Failed", fmt.Sprintf("The load balancer of Service %s cannot follow the pod: see its events", failed[0])), true
	}
	return opened("Followed", "The load balancers of all Services of the pod have followed it"), true
}

func opened(reason, message string) v1.PodCondition {
	return v1.PodCondition{Type: Condition, Status: v1.ConditionTrue, Reason: reason, Message: message}
}

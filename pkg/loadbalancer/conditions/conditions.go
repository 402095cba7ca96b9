// Package conditions reports the state of a Service of type LoadBalancer in its conditions. They
// are derived from the result of a round (Round) and from the health in the cloud (Health); a
// Writer writes them if they have changed.
package conditions

import (
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// Condition is a condition with its contents.
type Condition struct {
	Type    reason.Condition
	Is      bool
	Reason  reason.Reason
	Message string
}

func (s Condition) status() metav1.ConditionStatus {
	if s.Is {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// Changes returns the part of a strategic merge patch that sets these conditions; nil if they are
// set. It keeps conditions of other types, since conditions are merged by type, and the transition
// time of a condition with the same status.
func Changes(have []metav1.Condition, wanted []Condition, now metav1.Time) []any {
	var changes []any
	for _, s := range wanted {
		before := meta.FindStatusCondition(have, string(s.Type))
		if before != nil && before.Status == s.status() && before.Reason == string(s.Reason) && alike(before.Message, s.Message) {
			continue
		}
		change := map[string]any{"type": s.Type, "status": s.status(), "reason": s.Reason, "message": s.Message}
		if before == nil || before.Status != s.status() {
			change["lastTransitionTime"] = now
		}
		changes = append(changes, change)
	}
	return changes
}

// Removal returns the part of a strategic merge patch that removes our conditions; nil if there are
// none.
func Removal(have []metav1.Condition) []any {
	var changes []any
	for _, condition := range reason.Conditions() {
		if meta.FindStatusCondition(have, string(condition)) != nil {
			changes = append(changes, map[string]any{"$patch": "delete", "type": condition})
		}
	}
	return changes
}

// noise matches the parts of a message that differ between attempts with the same result: IDs of
// requests, and times.
var noise = regexp.MustCompile(`req-[0-9a-f-]+|\d{4}-\d\d-\d\d[T ][0-9:.]+(Z|[+-]\d\d:?\d\d)?|\b(\d+h)?(\d+m)?\d+(\.\d+)?s\b`)

// alike reports whether messages are equal except for noise.
func alike(a, b string) bool {
	return a == b || noise.ReplaceAllString(a, "") == noise.ReplaceAllString(b, "")
}

// has reports whether a condition already has this status and reason, with any message.
func has(have []metav1.Condition, condition reason.Condition, is bool, why reason.Reason) bool {
	return slices.ContainsFunc(have, func(c metav1.Condition) bool {
		return c.Type == string(condition) && c.Status == Condition{Is: is}.status() && c.Reason == string(why)
	})
}

// Package conditions says in the status of a Service of type LoadBalancer how it is served. What
// is said is derived from how a round has ended (Round) and from what the cloud says of its
// health (Health); a Writer writes it where that differs from what is said already.
package conditions

import (
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// Said is what a condition says.
type Said struct {
	Condition reason.Condition
	Is        bool
	Reason    reason.Reason
	Message   string
}

func (s Said) status() metav1.ConditionStatus {
	if s.Is {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// Changes returns the part of a strategic merge patch of conditions that makes them say this;
// nil where they do. Conditions of other types stay, as they are merged by type, and so does
// the time of a condition whose status does.
func Changes(have []metav1.Condition, said []Said, now metav1.Time) []any {
	var changes []any
	for _, s := range said {
		before := meta.FindStatusCondition(have, string(s.Condition))
		if before != nil && before.Status == s.status() && before.Reason == string(s.Reason) && alike(before.Message, s.Message) {
			continue
		}
		change := map[string]any{"type": s.Condition, "status": s.status(), "reason": s.Reason, "message": s.Message}
		if before == nil || before.Status != s.status() {
			change["lastTransitionTime"] = now
		}
		changes = append(changes, change)
	}
	return changes
}

// Removal returns the part of a strategic merge patch of conditions that removes ours; nil where
// there are none.
func Removal(have []metav1.Condition) []any {
	var changes []any
	for _, condition := range reason.Conditions() {
		if meta.FindStatusCondition(have, string(condition)) != nil {
			changes = append(changes, map[string]any{"$patch": "delete", "type": condition})
		}
	}
	return changes
}

// noise is what of a message differs from one attempt to the next while nothing else does: IDs
// of requests, and times.
var noise = regexp.MustCompile(`req-[0-9a-f-]+|\d{4}-\d\d-\d\d[T ][0-9:.]+(Z|[+-]\d\d:?\d\d)?|\b(\d+h)?(\d+m)?\d+(\.\d+)?s\b`)

// alike reports whether messages are the same but for what is noise in them.
func alike(a, b string) bool {
	return a == b || noise.ReplaceAllString(a, "") == noise.ReplaceAllString(b, "")
}

// has reports whether a condition says this already, whatever its message.
func has(have []metav1.Condition, condition reason.Condition, is bool, why reason.Reason) bool {
	return slices.ContainsFunc(have, func(c metav1.Condition) bool {
		return c.Type == string(condition) && c.Status == Said{Is: is}.status() && c.Reason == string(why)
	})
}

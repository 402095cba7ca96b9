package status

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// Condition is one of the controller in the status of a Service.
type Condition struct {
	metav1.Condition
	// ServiceChanged is the time of the last change of the Service after the controller's last
	// write to its status, nil for none: then the condition may be about an earlier state of the
	// Service.
	ServiceChanged *time.Time `json:"serviceChanged,omitempty"`
	// Over is set if the condition is obsolete: the Service was served since, by a controller that
	// writes no conditions.
	Over bool `json:"over,omitempty"`
}

// conditionsOf returns our conditions of a Service, given the time when it was last served.
func conditionsOf(svc *v1.Service, served time.Time) []Condition {
	var found []Condition
	for _, kind := range reason.Conditions() {
		said := meta.FindStatusCondition(svc.Status.Conditions, string(kind))
		if said == nil {
			continue
		}
		found = append(found, Condition{
			Condition: *said, ServiceChanged: changedAfter(svc, kind),
			// Our own controller ends a refusal in the same round as it emits the event.
			Over: kind == reason.IsRefused && said.Status == metav1.ConditionTrue && served.After(said.LastTransitionTime.Time),
		})
	}
	return found
}

// changedAfter returns the time of the last change of the Service after the last write to its
// status by the writer of a condition; nil for none or unknown. Services have no generation for
// conditions.
func changedAfter(svc *v1.Service, kind reason.Condition) *time.Time {
	var writer string
	var written, changed time.Time
	for _, entry := range svc.ManagedFields {
		if entry.Subresource == "status" && entry.Time != nil && entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), string(kind)) {
			writer, written = entry.Manager, entry.Time.Time
		}
	}
	for _, entry := range svc.ManagedFields {
		if entry.Subresource == "" && entry.Time != nil && entry.Manager != writer {
			changed = later(changed, entry.Time.Time)
		}
	}
	if written.IsZero() || !changed.After(written) {
		return nil
	}
	changed = changed.UTC()
	return &changed
}

// stating returns the condition of a kind if it is true and not over; else nil.
func stating(all []Condition, kind reason.Condition) *Condition {
	for i := range all {
		if c := &all[i]; c.Type == string(kind) && c.Status == metav1.ConditionTrue && !c.Over {
			return c
		}
	}
	return nil
}

// startsWith reports whether the message has a prefix, which may itself be truncated.
func (c *Condition) startsWith(text string) bool {
	beginning, _, _ := strings.Cut(c.Message, "…")
	return strings.HasPrefix(c.Message, text) || strings.HasPrefix(text, beginning)
}

func (c *Condition) problem(state State) Problem {
	since := c.LastTransitionTime.UTC()
	text, kept := refusal.Parts(c.Message)
	return Problem{State: state, Reason: reason.Reason(c.Reason), Text: text, Kept: kept, Since: &since, ServiceChanged: c.ServiceChanged}
}

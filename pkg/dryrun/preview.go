package dryrun

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
)

// ServiceOf returns the entry of a Service from its preview, or from an error.
func ServiceOf(service *v1.Service, found loadbalancer.Preview, err error) Service {
	s := Service{Namespace: service.Namespace, Name: service.Name}
	if err != nil {
		s.Outcome, s.Text = Unknown, err.Error()
		return s
	}
	for _, step := range found.Steps {
		text := step.Text
		if step.Pauses != "" {
			text += " (interrupts " + step.Pauses + ")"
		}
		s.Steps = append(s.Steps, text)
	}
	for _, note := range found.Notes {
		s.Notes = append(s.Notes, string(note.Reason)+": "+note.Text)
	}
	switch {
	case found.Refusal != nil:
		s.Outcome, s.Reason, s.Text = Refused, found.Refusal.Reason, found.Refusal.Text
	case found.Deletes:
		s.Outcome = Deleted
	case len(found.Steps) > 0:
		s.Outcome = Changed
	default:
		s.Outcome = Unchanged
	}
	switch found.Address {
	case loadbalancer.AddressNew:
		s.Address = strings.TrimSpace("new: " + found.After)
	case loadbalancer.AddressChanges:
		s.Address = strings.TrimSpace("changes: " + found.Before + " → " + found.After)
	case loadbalancer.AddressGoes:
		s.Address = "goes: " + found.Before
	case loadbalancer.AddressNone, loadbalancer.AddressKept:
	}
	return s
}

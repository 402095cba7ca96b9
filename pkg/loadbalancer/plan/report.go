package plan

import (
	"maps"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Report selects the steps of a plan that are only reported: with drift-policy=report, changes of
// other clients are reported and kept, and changes of the Service or its nodes are applied. The
// zero Report reports nothing.
//
// A step is one request: if a change of nodes affects a pool in which another client has changed
// members, the pool gets all the members that it should have.
type Report struct {
	enabled, all bool
	steps        map[string]bool
}

// Applied is the knowledge about the last reconciliation of a Service. The zero value means none.
type Applied struct {
	// Same is set if the Service's request has not changed since.
	Same bool
	// Reported are the steps that were reported then, in the format of Lines.
	Reported map[string]bool
	// Revert is the plan that would revert the changes of other clients since.
	Revert Plan
}

// NewReport returns which steps of the plans for a Service are only reported. differs is set if
// there are any steps.
//
//	the request                 steps
//	equal to the last applied   all are reported: they revert changes of another client
//	changed since               those that would also revert changes of other clients are
//	                            reported, the others executed
//	unknown                     all are executed
func NewReport(last Applied, differs bool) Report {
	if last.Same {
		return Report{enabled: true, all: differs}
	}
	steps := maps.Clone(last.Reported)
	if steps == nil {
		steps = map[string]bool{}
	}
	maps.Copy(steps, last.Revert.Lines())
	return Report{enabled: true, steps: steps}
}

// Enabled reports whether drift is only reported.
func (r Report) Enabled() bool { return r.enabled }

// All reports whether all steps are only reported.
func (r Report) All() bool { return r.all }

// Drifted reports whether any step is only reported.
func (r Report) Drifted() bool { return r.all || len(r.steps) > 0 }

// Split returns the steps of a plan that are executed, and those that are only reported, including
// the members of a pool if its creation is only reported.
func (r Report) Split(todo Plan) (ours, reported Plan) {
	if !r.enabled {
		return todo, Plan{}
	}
	ours, ours.Steps = todo, nil
	unmade := map[model.ListenerKey]bool{} // pools that are reported and not created
	for _, step := range todo.Steps {
		only := r.all || r.steps[step.String()]
		switch s := step.(type) {
		case CreatePool:
			unmade[s.Key] = only
		case SetMembers:
			only = only || unmade[s.Pool.Key]
		case AddMember:
			only = only || unmade[s.Pool.Key]
		}
		if only {
			reported.Steps = append(reported.Steps, step)
		} else {
			ours.Steps = append(ours.Steps, step)
		}
	}
	return ours, reported
}

// WithoutMembers returns the plan without the steps that change members.
func (p Plan) WithoutMembers() Plan {
	rest := p
	rest.Steps = nil
	for _, step := range p.Steps {
		switch step.(type) {
		case SetMembers, AddMember, UpdateMember, RemoveMember:
		default:
			rest.Steps = append(rest.Steps, step)
		}
	}
	return rest
}

// Lines returns the steps in printed form.
func (p Plan) Lines() map[string]bool {
	lines := map[string]bool{}
	for _, step := range p.Steps {
		lines[step.String()] = true
	}
	return lines
}

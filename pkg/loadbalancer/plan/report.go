package plan

import (
	"maps"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Report says which steps of a plan are only reported: with drift-policy=report, what
// another client has changed is reported and stays, and what the Service or its nodes ask
// for is done all the same. The zero Report reports nothing.
//
// A step is what one request does: where a change of nodes touches a pool whose members
// another client has changed, the pool gets all the members that it should have.
type Report struct {
	enabled, all bool
	steps        map[string]bool
}

// Applied is what is known of the last time that a Service was reconciled. The zero value
// knows nothing.
type Applied struct {
	// Same is set when the Service asked for the same as it does now.
	Same bool
	// Reported are the steps that were reported then, as Lines returns them.
	Reported map[string]bool
	// Revert is the plan that would revert what other clients have changed since.
	Revert Plan
}

// NewReport returns which steps of the plans for a Service are only reported. Differs is
// set when there is something to do at all.
//
//	what is asked for            what differs
//	as when it was applied last  was changed by another client: all steps are reported
//	changed since                the steps that would also revert what other clients have
//	                             changed are reported, the others carried out
//	not known                    all steps are carried out
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

// All reports whether all steps are only reported, whatever they are.
func (r Report) All() bool { return r.all }

// Drifted reports whether any step is only reported.
func (r Report) Drifted() bool { return r.all || len(r.steps) > 0 }

// Split returns the steps of a plan that are carried out, and those that are only
// reported: also members of a pool that is not created.
func (r Report) Split(todo Plan) (ours, reported Plan) {
	if !r.enabled {
		return todo, Plan{}
	}
	ours, ours.Steps = todo, nil
	unmade := map[model.ListenerKey]bool{} // pools that are only reported, not created
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

// Lines returns the steps as they print.
func (p Plan) Lines() map[string]bool {
	lines := map[string]bool{}
	for _, step := range p.Steps {
		lines[step.String()] = true
	}
	return lines
}

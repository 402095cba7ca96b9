package loadbalancer

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// With drift-policy=report, what somebody else has changed is told and stays. What the
// Service or its nodes ask for is done all the same, so each step of a plan has an
// origin:
//
//	what is asked for            what differs
//	as when it was applied last  was changed by somebody else: all steps are told
//	changed since                the steps that would also bring back what was there
//	                             are told, the others carried out
//	nobody knows                 all steps are carried out
//
// A step is what one request does. Where a change of nodes touches a pool whose members
// somebody else has changed, the pool gets all the members that it is to have.

// reports says which steps are only told.
type reports struct {
	on, all bool
	steps   map[string]bool
}

// toReport gives what of a first plan is only told.
func (p *pass) toReport(todo plan.Plan) reports {
	if p.options.Config.LoadBalancer.DriftPolicy != driftReport || p.observed.LoadBalancer == nil && p.drift.Before == nil {
		return reports{}
	}
	before := p.drift.Before
	if before == nil {
		before = p.knew
	}
	if p.appliedLast(before) {
		return reports{on: true, all: !todo.Empty() || !p.groups.Empty()}
	}
	drifted := map[string]bool{}
	if before == nil {
		return reports{on: true, steps: drifted}
	}
	for step := range before.Reported {
		drifted[step] = true
	}
	if p.drift.Before != nil && before.Contents != nil && p.observed.LoadBalancer != nil {
		was := before.Contents.Unpack()
		back := plan.Diff(was, *p.observed, p.planOptions(p.svc, p.settings, p.capabilities(p.observed)))
		for step := range steps(back) {
			drifted[step] = true
		}
	}
	return reports{on: true, steps: drifted}
}

// appliedLast reports whether the Service asks for what was applied last, by this
// process or, as long as this one has begun nothing, by the one before.
func (p *pass) appliedLast(before *state.Applied) bool {
	if before != nil {
		return before.Digests.Full == p.digest(p.wanted)
	}
	written, ok := state.ParseFingerprint(p.svc.Annotations[annotation.Fingerprint])
	return ok && written.Service == p.svc.UID && written.Digests.Full != "" && written.Digests.Full == p.digest(p.wanted) && !p.store.Get(p.svc.UID).Made.Touched
}

// split gives the steps that are carried out, and those that are told.
func (r reports) split(todo plan.Plan) (ours, reported plan.Plan) {
	if !r.on {
		return todo, plan.Plan{}
	}
	ours, reported = todo, plan.Plan{}
	ours.Steps = nil
	for _, step := range todo.Steps {
		if r.all || r.steps[step.String()] {
			reported.Steps = append(reported.Steps, step)
		} else {
			ours.Steps = append(ours.Steps, step)
		}
	}
	return ours, reported
}

// steps gives the steps of a plan as they print.
func steps(of plan.Plan) map[string]bool {
	printed := map[string]bool{}
	for _, step := range of.Steps {
		printed[step.String()] = true
	}
	return printed
}

// reason says what somebody else has changed; "" where nobody has, as far as is known.
func (p *pass) reason() string {
	if p.drift.Reason == "" && p.reports.on && (p.reports.all || len(p.reports.steps) > 0) {
		return state.ReasonChanged
	}
	return p.drift.Reason
}

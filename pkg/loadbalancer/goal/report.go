package goal

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/digest"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// reporter compares the desired state with the one applied last, to find which changes of another
// client are only reported.
type reporter struct {
	config  *config.Config
	memory  Memory
	planner *planner
	events  *events.Recorder
}

// report returns which steps of a round are only reported.
func (p *reporter) report(in Inputs, r Round, first plan.Plan, groups SecurityGroups) plan.Report {
	before := r.lastApplied(in.Drift)
	if p.config.LoadBalancer.DriftPolicy != drift.PolicyReport || r.Have.LoadBalancer == nil && in.Drift.Before == nil {
		return plan.Report{}
	}
	last := plan.Applied{Same: p.appliedLast(in, r)}
	if before != nil {
		last.Reported = before.Reported
		if in.Drift.Before != nil && before.Depth != model.Listed && r.Have.LoadBalancer != nil {
			last.Revert = plan.Diff(before.Contents, *r.Have.Observed, p.planner.options(in, r.Have.LoadBalancer, r.Serial))
		}
	}
	if before == nil && (p.appliedButNodes(in, r) || p.takesOver(in, r)) {
		last.Revert = first.WithoutMembers()
	}
	return plan.NewReport(last, !first.Empty() || groups.Task != nil && !groups.Empty())
}

// appliedLast reports whether the desired state was applied last, by this process or, until this
// one has begun a change, by the one before.
func (p *reporter) appliedLast(in Inputs, r Round) bool {
	if before := r.lastApplied(in.Drift); before != nil {
		return before.Digests.Full == r.Want.digestFor(in)
	}
	written, ok := p.memory.record(in.Owner.UID)
	return ok && written.Digests.Full != "" && written.Digests.Full == r.Want.digestFor(in) && !p.memory.Store.Get(in.Owner.UID).Made.Touched
}

// appliedButNodes reports whether the process before has applied the desired state, perhaps with
// other nodes: then all differences except for members are changes of another client.
func (p *reporter) appliedButNodes(in Inputs, r Round) bool {
	written, ok := p.memory.record(in.Owner.UID)
	if !ok || written.Digests.Nodeless == "" || managesGroups(in) || p.memory.Store.Get(in.Owner.UID).Made.Touched {
		return false
	}
	return written.Digests.Nodeless == digest.Nodeless(r.Want.LoadBalancer, in.Settings)
}

// takesOver reports whether another controller created the Service's load balancer, and this one
// has never served it: then differences except for members may be manual changes.
func (p *reporter) takesOver(in Inputs, r Round) bool {
	lb := r.Have.LoadBalancer
	return lb != nil && lb.Adopted && in.Published.hasStatus() && in.Published.Place == "" && !p.memory.HasServed(in.Owner.UID)
}

// announce emits the changes of load balancer and security groups, and which of them revert changes
// of another client, or would.
func (p *reporter) announce(in Inputs, r Round, todo, reported plan.Plan) {
	object, drift := in.Object(), in.Drift.Reason
	switch {
	case drift == "" && r.Report.Drifted():
		drift = state.ReasonChanged
	case drift == state.ReasonFailed && !r.Report.Drifted():
		drift = ""
	}
	p.events.Warn(object, events.PortsNotFound(r.Groups.Unfound, r.Groups.Strayed, r.Groups.Taken, in.Members.Backends))
	if groups := events.Summary(r.Groups.Steps()); r.Report.All() {
		p.events.DriftReported(object, drift, groups)
	} else {
		p.events.DriftReverted(object, drift, groups)
		p.events.GroupsChanging(object, groups)
	}
	p.events.Planned(object, todo)
	if r.Report.Enabled() {
		p.events.DriftReported(object, drift, events.Summary(reported.Steps))
	} else {
		p.events.DriftReverted(object, drift, events.Summary(todo.Steps))
	}
}

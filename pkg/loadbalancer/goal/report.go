package goal

import (
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/digest"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// report returns which steps of a round are only reported.
func (e *Engine) report(in Inputs, r Round, first plan.Plan, groups SecurityGroups) plan.Report {
	before := r.lastApplied(in.Drift)
	if e.Config.LoadBalancer.DriftPolicy != drift.PolicyReport || r.Have.LoadBalancer == nil && in.Drift.Before == nil {
		return plan.Report{}
	}
	last := plan.Applied{Same: e.appliedLast(in, r)}
	if before != nil {
		last.Reported = before.Reported
		if in.Drift.Before != nil && before.Depth != model.Listed && r.Have.LoadBalancer != nil {
			last.Revert = plan.Diff(before.Contents, *r.Have.Observed, e.planOptions(in, r.Have.LoadBalancer, r.Serial))
		}
	}
	if before == nil && (e.appliedButNodes(in, r) || e.takesOver(in, r)) {
		last.Revert = first.WithoutMembers()
	}
	return plan.NewReport(last, !first.Empty() || groups.Task != nil && !groups.Empty())
}

// appliedLast reports whether the desired state was applied last, by this process or, until this
// one has begun a change, by the one before.
func (e *Engine) appliedLast(in Inputs, r Round) bool {
	if before := r.lastApplied(in.Drift); before != nil {
		return before.Digests.Full == e.digest(in, r.Want)
	}
	written, ok := e.record(in.Owner.UID)
	return ok && written.Digests.Full != "" && written.Digests.Full == e.digest(in, r.Want) && !e.Store.Get(in.Owner.UID).Made.Touched
}

// appliedButNodes reports whether the process before has applied the desired state, perhaps with
// other nodes: then all differences except for members are changes of another client.
func (e *Engine) appliedButNodes(in Inputs, r Round) bool {
	written, ok := e.record(in.Owner.UID)
	if !ok || written.Digests.Nodeless == "" || managesGroups(in) || e.Store.Get(in.Owner.UID).Made.Touched {
		return false
	}
	return written.Digests.Nodeless == digest.Nodeless(r.Want.LoadBalancer, in.Settings)
}

// takesOver reports whether another controller created the Service's load balancer, and this one
// has never served it: then differences except for members may be manual changes.
func (e *Engine) takesOver(in Inputs, r Round) bool {
	written, published := annotation.PlaceOf(in.Service)
	lb := r.Have.LoadBalancer
	return lb != nil && lb.Adopted && published != "" && written == "" && !e.HasServed(in.Owner.UID)
}

// announce emits the changes of load balancer and security groups, and which of them revert changes
// of another client, or would.
func (e *Engine) announce(in Inputs, r Round, todo, reported plan.Plan) {
	svc, drift := in.Service, in.Drift.Reason
	switch {
	case drift == "" && r.Report.Drifted():
		drift = state.ReasonChanged
	case drift == state.ReasonFailed && !r.Report.Drifted():
		drift = ""
	}
	e.Events.PortsNotFound(svc, r.Groups.Unfound, r.Groups.Strayed, r.Groups.Taken, in.Members.Backends)
	if groups := events.Summary(r.Groups.Steps()); r.Report.All() {
		e.Events.DriftReported(svc, drift, groups)
	} else {
		e.Events.DriftReverted(svc, drift, groups)
		e.Events.GroupsChanging(svc, groups)
	}
	e.Events.Planned(svc, todo)
	if r.Report.Enabled() {
		e.Events.DriftReported(svc, drift, events.Summary(reported.Steps))
	} else {
		e.Events.DriftReverted(svc, drift, events.Summary(todo.Steps))
	}
}

// commitReported stores the steps that were only reported. The published status stays.
func (e *Engine) commitReported(in Inputs, r Round, reported plan.Plan) *v1.LoadBalancerStatus {
	if r.Have.LoadBalancer == nil { // it is gone
		e.Store.DropApplied(in.Owner.UID)
	} else {
		e.remember(in, r, addressOf(r.Have.LoadBalancer, in.Settings), in.Settings.LoadBalancer.ID, reported.Lines())
	}
	return &in.Service.Status.LoadBalancer
}

package loadbalancer

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
)

// reportFor returns what of a first plan is only reported.
func (p *pass) reportFor(todo plan.Plan) plan.Report {
	if p.options.Config.LoadBalancer.DriftPolicy != drift.PolicyReport || p.observed.LoadBalancer == nil && p.drift.Before == nil {
		return plan.Report{}
	}
	before := p.drift.Before
	if before == nil {
		before = p.knew
	}
	last := plan.Applied{Same: p.appliedLast(before)}
	if before != nil && !last.Same {
		last.Reported = before.Reported
		if p.drift.Before != nil && before.Contents != nil && p.observed.LoadBalancer != nil {
			was := before.Contents.Unpack()
			last.Revert = plan.Diff(was, *p.observed, p.planOptions(p.svc, p.settings, p.changingDriver()))
		}
	}
	return plan.NewReport(last, !todo.Empty() || !p.groups.Empty())
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

// change returns what another client has changed; "" where none has, as far as is known.
func (p *pass) change() string {
	if p.drift.Reason == "" && p.report.Drifted() {
		return state.ReasonChanged
	}
	return p.drift.Reason
}

package goal

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// unsettled refuses a plan that changes a load balancer because of a default in place of an invalid
// value, or that opens a port to all clients. The plan is accepted if the load balancer already has
// that state, or the Service was served with it before.
func (p *reporter) unsettled(in Inputs, r Round, todo plan.Plan) error {
	lb, want := r.Have.LoadBalancer, r.Want
	if lb == nil || todo.ChangesOnlyMembers() || !in.Published.hasStatus() {
		return nil
	}
	if errs := in.Settings.For(want.Facts.Driver).Opens(want.LoadBalancer, lb); len(errs) > 0 {
		return message.Invalid(errs)
	}
	settings := in.Settings.On(lb).For(want.Facts.Driver).OnExisting()
	if len(settings.Malformed) == 0 || p.servedSo(in, settings.Malformed, r) {
		return nil
	}
	return message.Invalid(settings.Unsettled(want.LoadBalancer, lb))
}

// servedSo reports whether the Service was served with these malformed values before: then the
// difference is a change of another client, or an incomplete one of this controller.
func (p *reporter) servedSo(in Inputs, malformed []settings.Malformed, r Round) bool {
	entry := p.memory.Store.Get(in.Owner.UID)
	if entry.Accepted != nil && sameValues(entry.Accepted.Annotations, in.Annotations, malformed) {
		return true
	}
	return p.appliedLast(in, r)
}

func sameValues(a, b map[string]string, malformed []settings.Malformed) bool {
	for _, m := range malformed {
		if a[m.Annotation] != b[m.Annotation] {
			return false
		}
	}
	return true
}

package goal

import (
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
)

// unsettled refuses a plan that changes a load balancer by what stands in place of a value
// that is not allowed, or that opens a port to clients whom nothing keeps out. A load
// balancer that is as that asks for goes on, as one does that was served like this before.
func (a *Asked) unsettled(r Round, todo plan.Plan) error {
	lb, want := r.Have.LoadBalancer, r.Want
	if lb == nil || todo.ChangesOnlyMembers() || len(a.in.Service.Status.LoadBalancer.Ingress) == 0 {
		return nil
	}
	if errs := a.in.Settings.Opens(want.Facts.Driver, want.LoadBalancer, lb); len(errs) > 0 {
		return message.Invalid(errs)
	}
	settings := a.in.Settings.On(lb).OnExisting(want.Facts.Driver)
	if len(settings.Malformed) == 0 || a.servedSo(settings.Malformed, r) {
		return nil
	}
	return message.Invalid(settings.Unsettled(want.LoadBalancer, lb))
}

// servedSo reports whether the Service has been served with these malformed values before:
// what differs was changed by another client, or is what was left undone.
func (a *Asked) servedSo(malformed []settings.Malformed, r Round) bool {
	entry := a.e.Store.Get(a.in.Service.UID)
	if entry.Accepted != nil && sameValues(entry.Accepted, a.in.Service, malformed) {
		return true
	}
	return a.e.appliedLast(a.in, r)
}

func sameValues(a, b *v1.Service, malformed []settings.Malformed) bool {
	for _, m := range malformed {
		if a.Annotations[m.Annotation] != b.Annotations[m.Annotation] {
			return false
		}
	}
	return true
}

package loadbalancer

import (
	"cmp"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
)

// unsettled refuses a plan that changes a load balancer by what stands in place of a
// value that is not allowed, or that opens a port to clients whom nothing keeps out. A
// load balancer that is as that asks for goes on, as one does that was served like this
// before.
func (p *pass) unsettled(desired *model.LoadBalancer, todo plan.Plan, drv driver.Driver) error {
	lb := p.observed.LoadBalancer
	if lb == nil || len(todo.Steps) == len(todo.OnlyMembers().Steps) || len(p.svc.Status.LoadBalancer.Ingress) == 0 {
		return nil
	}
	if errs := p.settings.Opens(drv, desired, lb); len(errs) > 0 {
		return message.Invalid(errs)
	}
	settings := p.settings.On(p.observed.LoadBalancer).OnExisting(drv)
	if len(settings.Malformed) == 0 || p.servedSo(settings.Malformed) {
		return nil
	}
	return message.Invalid(settings.Unsettled(desired, lb))
}

// servedSo tells whether the Service has been served with these malformed values before:
// what differs was changed by somebody else, or is what was left undone.
func (p *pass) servedSo(malformed []settings.Malformed) bool {
	if good := p.store.Get(p.svc.UID).Accepted; good != nil && sameValues(good, p.svc, malformed) {
		return true
	}
	return p.appliedLast(cmp.Or(p.drift.Before, p.knew))
}

func sameValues(a, b *v1.Service, malformed []settings.Malformed) bool {
	for _, m := range malformed {
		if a.Annotations[m.Annotation] != b.Annotations[m.Annotation] {
			return false
		}
	}
	return true
}

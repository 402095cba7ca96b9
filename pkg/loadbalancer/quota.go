package loadbalancer

import (
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
)

// withinLimits refuses what is more than cloud.conf allows, before anything is written. A
// load balancer that is only kept as it is needs no more.
func (p *pass) withinLimits(todo plan.Plan) error {
	if p.follows != nil {
		return nil
	}
	limits := p.options.Config.LoadBalancer
	opens := false
	for _, step := range p.groups.Open {
		_, adds := step.(securitygroup.AddRules)
		opens = opens || adds
	}
	if err := message.Invalid(p.settings.Exceeds(limits, p.wanted, p.observed.LoadBalancer, opens)); err != nil {
		return err
	}
	most := int(limits.MaxServicesPerNamespace)
	if p.observed.LoadBalancer != nil || !todo.Creates() {
		most = 0
	}
	return p.store.Count(p.svc, most)
}

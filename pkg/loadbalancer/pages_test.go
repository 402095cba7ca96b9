package loadbalancer_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// The pages of Octavia and Neutron can be short. Objects after the first page are found all the
// same.
func TestReconcile_SeesEverythingWhenPagesAreShort(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{
		keys: map[string]string{"create-monitor": "true", "manage-security-groups": "true"},
		simulator: simulator.Options{
			Octavia: func(o *octavia.Options) { o.PageLimit = 2 },
			Neutron: func(o *neutron.Options) { o.MaxPageSize = 2 },
		},
	})
	nodes := env.nodes(5)
	var services []*v1.Service
	for i := range 4 {
		services = append(services, service(fmt.Sprintf("web-%d", i), 3))
		env.ensure(services[i], nodes)
	}
	for _, lb := range env.loadBalancers(4) {
		if len(lb.Listeners) != 3 || len(lb.Pools) != 3 || len(lb.Pools[2].Members) != 5 {
			t.Errorf("%d listeners, %d pools", len(lb.Listeners), len(lb.Pools))
		}
	}
	for _, svc := range services {
		env.unchanged(svc, nodes)
		if status, exists, err := env.engine.Get(env.ctx, svc); err != nil || !exists || len(status.Ingress) != 1 {
			t.Errorf("%s: %v, exists %t: %v", svc.Name, status, exists, err)
		}
	}
	for i, svc := range services {
		env.delete(svc)
		env.loadBalancers(3 - i)
		env.floatingIPs(3 - i)
	}
	for _, group := range env.groups() {
		if group.Name != "default" {
			t.Errorf("security group %s is left", group.Name)
		}
	}
}

package loadbalancer_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// No state of a Service that is gone stays in memory, whether it was served, refused by us, or
// refused by Octavia in part. Upstream calls Delete only after Get has returned true.
func TestDelete_LeavesNoStateOfServiceInMemory(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{
		keys:      map[string]string{"manage-security-groups": "true"},
		simulator: simulator.Options{Quota: map[string]int{"listener": 1}},
	})
	nodes := env.nodes(2)
	for name, c := range map[string]struct {
		ports   int
		refused string
		change  func(*v1.Service)
	}{
		"served":       {1, "", nil},
		"kept address": {1, "", func(svc *v1.Service) { svc.Annotations[annotation.KeepFloatingIP] = "true" }},
		"refused":      {1, "max-members", func(svc *v1.Service) { svc.Annotations[annotation.MaxMembers] = "many" }},
		"over quota":   {2, "Quota has been met for resources: Listener", nil},
	} {
		svc := service("web", c.ports)
		svc.UID += "-" + svc.UID
		svc.Name = "web-" + itoa(len(name))
		if c.change != nil {
			c.change(svc)
		}
		if c.refused == "" {
			env.ensure(svc, nodes)
		} else {
			env.refused(svc, nodes, c.refused)
		}
		svc = leaving(svc)
		if env.exists(svc) {
			env.delete(svc)
			if env.exists(svc) {
				t.Errorf("%s: something is left", name)
			}
		}
		if n := env.engine.Known(); n > 0 {
			t.Errorf("%s: something is still known of %d Services", name, n)
		}
	}
}

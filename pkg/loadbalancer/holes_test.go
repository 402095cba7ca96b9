package loadbalancer_test

import (
	"net/http"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// A failed read is not taken for an empty result: cloud-provider-openstack rewrites all members if
// it cannot list them.
func TestMembers_StayWhenLoadBalancerCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ release, route string }{
		"the list of members":         {"2026.1", "/load-balancer/v2.0/lbaas/pools/{id}/members"},
		"the status tree":             {"zed", lbRoute + "/{id}/status"},
		"one member":                  {"zed", "/load-balancer/v2.0/lbaas/pools/{id}/members"},
		"the pools":                   {"2026.1", "/load-balancer/v2.0/lbaas/pools"},
		"the listeners":               {"2026.1", "/load-balancer/v2.0/lbaas/listeners"},
		"the floating IP":             {"2026.1", fipRoute},
		"the health monitor":          {"2026.1", "/load-balancer/v2.0/lbaas/healthmonitors/{id}"},
		"the load balancers":          {"2026.1", lbRoute},
		"the versions of the service": {"2026.1", "/load-balancer/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Release: test.release}, keys: map[string]string{"create-monitor": "true"}})
			nodes, svc := env.nodes(3), service("web", 1)
			env.ensure(svc, nodes)
			env.engine = env.coldController()
			env.Cloud.Faults.Add(faultOn(http.MethodGet, test.route, http.StatusInternalServerError))
			env.Cloud.RequestLog.Reset()
			if _, err := env.engine.Ensure(env.ctx, svc, nodes[:2]); err == nil {
				t.Error("no error")
			}
			env.writes(0)
			env.Cloud.Faults.Clear()
			env.ensure(svc, nodes[:2])
			env.unchanged(svc, nodes[:2])
		})
	}
}

// cloud-provider-openstack requests a subnet without an ID at the second sync of such a Service, if
// it manages security groups.
func TestVIP_NeedsNoSubnetWhenNetworkIsNamed(t *testing.T) {
	t.Parallel()
	for _, groups := range []string{"true", "false"} {
		env := newEnvironment(t, environmentOptions{})
		env.Conf.LoadBalancer.SubnetID, env.Conf.LoadBalancer.NetworkID = "", env.Cloud.Network.ID
		env.Conf.LoadBalancer.ManageSecurityGroups = groups == "true"
		env.restart()
		nodes, svc := env.nodes(2), service("web", 1)
		env.ensure(svc, nodes)
		env.unchanged(svc, nodes)
		env.ensure(svc, nodes[:1])
		env.unchanged(svc, nodes[:1])
		env.delete(svc)
		env.loadBalancers(0)
		env.floatingIPs(0)
	}
}

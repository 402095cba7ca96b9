package loadbalancer_test

import (
	"net/http"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// What cannot be read is not taken for nothing: cloud-provider-openstack rewrites all
// members when it cannot list them.
func TestMembersThatCannotBeReadAreLeftAlone(t *testing.T) {
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
			w := newWorld(t, worldOptions{simulator: simulator.Options{Release: test.release}, keys: map[string]string{"create-monitor": "true"}})
			nodes, svc := w.nodes(3), service("web", 1)
			w.ensure(svc, nodes)
			w.engine = w.coldController()
			w.cloud.Faults.Add(faultOn(http.MethodGet, test.route, http.StatusInternalServerError))
			w.cloud.Books.Reset()
			if _, err := w.engine.Ensure(w.ctx, svc, nodes[:2]); err == nil {
				t.Error("no error")
			}
			w.writes(0)
			w.cloud.Faults.Clear()
			w.ensure(svc, nodes[:2])
			w.unchanged(svc, nodes[:2])
		})
	}
}

// cloud-provider-openstack asks for a subnet without an ID at the second sync of such a
// Service, when it manages security groups.
func TestANetworkWithoutASubnetIsEnough(t *testing.T) {
	t.Parallel()
	for _, groups := range []string{"true", "false"} {
		w := newWorld(t, worldOptions{})
		w.conf.LoadBalancer.SubnetID, w.conf.LoadBalancer.NetworkID = "", w.cloud.Network.ID
		w.conf.LoadBalancer.ManageSecurityGroups = groups == "true"
		w.restart()
		nodes, svc := w.nodes(2), service("web", 1)
		w.ensure(svc, nodes)
		w.unchanged(svc, nodes)
		w.ensure(svc, nodes[:1])
		w.unchanged(svc, nodes[:1])
		w.delete(svc)
		w.loadBalancers(0)
		w.floatingIPs(0)
	}
}

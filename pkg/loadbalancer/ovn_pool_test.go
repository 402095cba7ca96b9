package loadbalancer_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/memorynet"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// The driver ovn deletes the members of a pool one by one before the pool, and the load balancer is
// ACTIVE after the first.

// ovnPools is a cloud of a release whose driver takes some time for each member.
func ovnPools(t *testing.T, release string, keys map[string]string) *environment {
	t.Helper()
	slow := simoctavia.Delays{Create: time.Millisecond, Update: time.Millisecond, Delete: time.Millisecond, Members: 100 * time.Millisecond}
	all := map[string]string{"lb-provider": "ovn"}
	for key, value := range keys {
		all[key] = value
	}
	return newEnvironment(t, environmentOptions{
		simulator: simulator.Options{Release: release, Delays: map[string]simoctavia.Delays{simoctavia.ProviderOVN: slow}},
		keys:      all, network: &memorynet.Network{},
	})
}

// Two Services of one load balancer are deleted one right after the other. The second one finds
// nothing of the first, and deletes the load balancer and its floating IP.
//
//proves:58
func TestOVN_DeletesSharedLoadBalancerWithServicesThatEndTogether(t *testing.T) {
	for _, release := range []string{"zed", "2025.1"} {
		t.Run(release, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env := ovnPools(t, release, nil)
				nodes, owner := env.nodes(4), service("owner", 1)
				env.ensure(owner, nodes)
				guest := onto("guest", env.loadBalancer(), 443)
				env.ensure(guest, nodes)
				env.delete(owner)
				env.delete(guest)
				env.loadBalancers(0)
				env.floatingIPs(0)
				env.calm()
			})
		})
	}
}

// A port that a Service loses and has again within seconds gets a pool of its own, and not the one
// that is being deleted.
func TestOVN_ServesPortThatComesBackWithinSeconds(t *testing.T) {
	for _, release := range []string{"zed", "2025.1"} {
		t.Run(release, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env := ovnPools(t, release, nil)
				nodes, svc := env.nodes(4), service("web", 2)
				env.ensure(svc, nodes)
				both := svc.Spec.Ports
				svc.Spec.Ports = both[:1]
				env.ensure(svc, nodes)
				svc.Spec.Ports = both
				env.ensure(svc, nodes)
				if pools := env.loadBalancer().Pools; len(pools) != 2 {
					t.Errorf("%d pools", len(pools))
				}
				for _, pool := range env.loadBalancer().Pools {
					if len(pool.Members) != len(nodes) {
						t.Errorf("pool %s has %d members", pool.Name, len(pool.Members))
					}
				}
				env.unchanged(svc, nodes)
			})
		})
	}
}

// Without cascade-delete Octavia refuses to delete a load balancer that still has a pool.
func TestOVN_DeletesLoadBalancerPartByPartOnceItsPoolsAreGone(t *testing.T) {
	for _, release := range []string{"zed", "2025.1"} {
		t.Run(release, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				env := ovnPools(t, release, map[string]string{"cascade-delete": "false"})
				nodes, svc := env.nodes(4), service("web", 2)
				svc.Annotations[annotation.Internal] = "true"
				env.ensure(svc, nodes)
				env.delete(svc)
				env.loadBalancers(0)
				if asked := env.asked()["DELETE loadbalancers/{id}"]; asked != 1 {
					t.Errorf("%d requests delete the load balancer", asked)
				}
				env.calm()
			})
		})
	}
}

// A pool that stays without any progress is deleted again.
func TestOVN_DeletesPoolAgainThatStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := ovnPools(t, "2025.1", nil)
		nodes, svc := env.nodes(4), service("web", 2)
		env.ensure(svc, nodes)
		defer env.Cloud.Faults.Add(faults.Rule{Method: http.MethodDelete, Route: "/load-balancer/v2.0/lbaas/pools/{id}", Count: 1, Status: http.StatusNoContent})()
		svc.Spec.Ports = svc.Spec.Ports[:1]
		for range 12 { // each waits for ten seconds
			if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
				break
			}
			time.Sleep(10 * time.Second)
		}
		env.ensure(svc, nodes)
		if pools := env.loadBalancer().Pools; len(pools) != 1 {
			t.Errorf("%d pools", len(pools))
		}
		if asked := env.asked()["DELETE pools/{id}"]; asked != 2 {
			t.Errorf("%d requests delete the pool", asked)
		}
	})
}

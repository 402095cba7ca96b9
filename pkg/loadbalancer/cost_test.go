package loadbalancer_test

import (
	"net/http"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// A Service costs one creation and one floating IP, with any number of ports.
//
//proves:17,68
func TestEnsure_CreatesWithOneLoadBalancerPostAndOneFloatingIPPost(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(100), service("web", 3)
	env.restart() // cold caches
	env.Cloud.RequestLog.Reset()

	env.ensure(svc, nodes)

	lb := env.loadBalancer()
	env.writes(2)
	if n := env.Cloud.RequestLog.Count(http.MethodPost, lbRoute); n != 1 {
		t.Errorf("%d POSTs of a load balancer, want 1", n)
	}
	if n := env.Cloud.RequestLog.Count(http.MethodPost, fipRoute); n != 1 {
		t.Errorf("%d POSTs of a floating IP, want 1", n)
	}
	if n := env.Cloud.RequestLog.PendingCycles(lb.ID); n != 1 {
		t.Errorf("%d PENDING cycles, want 1", n)
	}
	others := env.Cloud.RequestLog.Requests(requestlog.Reads(), func(r requestlog.Request) bool { return r.LoadBalancerID != lb.ID })
	if len(others) > 3 {
		t.Errorf("%d requests beside the writes and the wait, want at most 3:\n%s", len(others), printed(others))
	}
}

func TestEnsure_ReadsAtMostOnceBesideWaitOfWarmCreation(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, first, svc := env.nodes(3), service("first", 1), service("web", 3)
	env.ensure(first, nodes)
	env.look()
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.writes(2)
	beside := env.Cloud.RequestLog.Requests(requestlog.Reads(), func(r requestlog.Request) bool {
		watching := strings.Contains(r.Path, "provisioning_status") || strings.HasSuffix(r.Route, "/status")
		looking := r.Route == fipRoute && !strings.Contains(r.Path, "description") && !strings.Contains(r.Path, "port_id")
		return !watching && !looking // the last snapshot may still be under way
	})
	if len(beside) > 1 {
		t.Errorf("reads beside the wait:\n%swant at most one", printed(beside))
	}
}

//proves:71
func TestEnsure_CostsNothingWhenNothingChanged(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(3), service("web", 3)
	env.ensure(svc, nodes)
	env.Cloud.RequestLog.Reset()

	env.ensure(svc, nodes)

	if all := env.Cloud.RequestLog.Requests(); len(all) != 0 {
		t.Errorf("requests:\n%swant none", printed(all))
	}
	env.unchanged(svc, nodes)
}

func TestUpdate_WritesOneMemberPerPortWhenNodeComesOrGoes(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(4), service("web", 3)
	env.ensure(svc, nodes[:3])

	env.Cloud.RequestLog.Reset()
	if err := env.engine.Update(env.ctx, svc, nodes); err != nil {
		t.Fatal(err)
	}
	env.writes(3)
	if n := env.Cloud.RequestLog.Count(http.MethodPost, "/load-balancer/v2.0/lbaas/pools/{id}/members"); n != 3 {
		t.Errorf("%d members added one by one, want 3", n)
	}
	env.unchanged(svc, nodes)

	env.Cloud.RequestLog.Reset()
	if err := env.engine.Update(env.ctx, svc, nodes[1:]); err != nil {
		t.Fatal(err)
	}
	env.writes(3)
	env.unchanged(svc, nodes[1:])
}

// Each pool is written once, however many nodes change.
//
//proves:70
func TestUpdate_WritesOneBatchPerPortWhenManyNodesChange(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(20), service("web", 2)
	env.ensure(svc, nodes[:10])
	env.Cloud.RequestLog.Reset()

	if err := env.engine.Update(env.ctx, svc, nodes[5:]); err != nil {
		t.Fatal(err)
	}

	env.writes(2)
	if n := env.Cloud.RequestLog.Count(http.MethodPut, "/load-balancer/v2.0/lbaas/pools/{id}/members"); n != 2 {
		t.Errorf("%d batches, want 2", n)
	}
	for _, pool := range env.loadBalancer().Pools {
		if len(pool.Members) != 15 {
			t.Errorf("%d members, want 15", len(pool.Members))
		}
	}
	env.unchanged(svc, nodes[5:])
}

func TestDelete_TakesTwoWritesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(3), service("web", 3)
	env.ensure(svc, nodes)
	ports := len(env.Cloud.Neutron.Ports())
	env.Cloud.RequestLog.Reset()

	env.delete(svc)

	env.writes(2)
	env.loadBalancers(0)
	env.floatingIPs(0)
	if left := len(env.Cloud.Neutron.Ports()); left != ports-2 { // those of the VIP and of the floating IP
		t.Errorf("%d ports are left of %d", left, ports)
	}
	leaving := svc.DeepCopy()
	leaving.Spec.Type = v1.ServiceTypeClusterIP
	if _, exists, err := env.engine.Get(env.ctx, leaving); exists || err != nil {
		t.Errorf("Get: exists %v, error %v", exists, err)
	}
}

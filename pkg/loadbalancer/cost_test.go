package loadbalancer_test

import (
	"net/http"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
)

// A Service with any number of ports is one creation and one floating IP.
//
//proves:17,68
func TestCreationIsOneLoadBalancerPostAndOneFloatingIPPost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(100), service("web", 3)
	w.restart() // cold caches
	w.cloud.Books.Reset()

	w.ensure(svc, nodes)

	lb := w.loadBalancer()
	w.writes(2)
	if n := w.cloud.Books.Count(http.MethodPost, lbRoute); n != 1 {
		t.Errorf("%d POSTs of a load balancer, want 1", n)
	}
	if n := w.cloud.Books.Count(http.MethodPost, fipRoute); n != 1 {
		t.Errorf("%d POSTs of a floating IP, want 1", n)
	}
	if n := w.cloud.Books.PendingCycles(lb.ID); n != 1 {
		t.Errorf("%d PENDING cycles, want 1", n)
	}
	others := w.cloud.Books.Requests(books.Reads(), func(r books.Request) bool { return r.LoadBalancerID != lb.ID })
	if len(others) > 3 {
		t.Errorf("%d requests beside the writes and the wait, want at most 3:\n%s", len(others), printed(others))
	}
}

func TestCreationWhenWarmReadsOnceBesideTheWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, first, svc := w.nodes(3), service("first", 1), service("web", 3)
	w.ensure(first, nodes)
	w.look()
	w.cloud.Books.Reset()
	w.ensure(svc, nodes)
	w.writes(2)
	beside := w.cloud.Books.Requests(books.Reads(), func(r books.Request) bool {
		watching := strings.Contains(r.Path, "provisioning_status") || strings.HasSuffix(r.Route, "/status")
		looking := r.Route == fipRoute && !strings.Contains(r.Path, "description") && !strings.Contains(r.Path, "port_id")
		return !watching && !looking // the last look at the whole cloud may still be under way
	})
	if len(beside) > 1 {
		t.Errorf("reads beside the wait:\n%swant at most one", printed(beside))
	}
}

//proves:71
func TestEnsureWithNothingChangedCostsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(3), service("web", 3)
	w.ensure(svc, nodes)
	w.cloud.Books.Reset()

	w.ensure(svc, nodes)

	if all := w.cloud.Books.Requests(); len(all) != 0 {
		t.Errorf("requests:\n%swant none", printed(all))
	}
	w.unchanged(svc, nodes)
}

func TestAddedOrRemovedNodeIsOneMemberWritePerPort(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(4), service("web", 3)
	w.ensure(svc, nodes[:3])

	w.cloud.Books.Reset()
	if err := w.engine.Update(w.ctx, svc, nodes); err != nil {
		t.Fatal(err)
	}
	w.writes(3)
	if n := w.cloud.Books.Count(http.MethodPost, "/load-balancer/v2.0/lbaas/pools/{id}/members"); n != 3 {
		t.Errorf("%d members added one by one, want 3", n)
	}
	w.unchanged(svc, nodes)

	w.cloud.Books.Reset()
	if err := w.engine.Update(w.ctx, svc, nodes[1:]); err != nil {
		t.Fatal(err)
	}
	w.writes(3)
	w.unchanged(svc, nodes[1:])
}

// However many nodes change, each pool is written to once.
//
//proves:70
func TestManyNodesChangeInOneBatchPerPort(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(20), service("web", 2)
	w.ensure(svc, nodes[:10])
	w.cloud.Books.Reset()

	if err := w.engine.Update(w.ctx, svc, nodes[5:]); err != nil {
		t.Fatal(err)
	}

	w.writes(2)
	if n := w.cloud.Books.Count(http.MethodPut, "/load-balancer/v2.0/lbaas/pools/{id}/members"); n != 2 {
		t.Errorf("%d batches, want 2", n)
	}
	for _, pool := range w.loadBalancer().Pools {
		if len(pool.Members) != 15 {
			t.Errorf("%d members, want 15", len(pool.Members))
		}
	}
	w.unchanged(svc, nodes[5:])
}

func TestDeletionIsTwoWritesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(3), service("web", 3)
	w.ensure(svc, nodes)
	ports := len(w.cloud.Neutron.Ports())
	w.cloud.Books.Reset()

	w.delete(svc)

	w.writes(2)
	w.loadBalancers(0)
	w.floatingIPs(0)
	if left := len(w.cloud.Neutron.Ports()); left != ports-2 { // the VIP's and the floating IP's
		t.Errorf("%d ports are left of %d", left, ports)
	}
	leaving := svc.DeepCopy()
	leaving.Spec.Type = v1.ServiceTypeClusterIP
	if _, exists, err := w.engine.Get(w.ctx, leaving); exists || err != nil {
		t.Errorf("Get: exists %v, error %v", exists, err)
	}
}

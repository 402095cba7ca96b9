package loadbalancer_test

import (
	"context"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// reporting is a cloud in which changes by others are only told, with a Service of two
// ports.
func reporting(t *testing.T) (w *world, svc *v1.Service, nodes []*v1.Node) {
	t.Helper()
	w = newWorld(t, worldOptions{keys: map[string]string{"drift-policy": "report"}})
	nodes, svc = w.nodes(3), service("web", 2)
	w.ensure(svc, nodes)
	w.told()
	return w, svc, nodes
}

// poolOf gives the pool of a port.
func (w *world) poolOf(port int) octavia.Pool {
	w.t.Helper()
	for _, l := range w.loadBalancer().Listeners {
		if l.ProtocolPort != port {
			continue
		}
		for _, p := range w.loadBalancer().Pools {
			if p.ID == l.DefaultPoolID {
				return *p
			}
		}
	}
	w.t.Fatalf("port %d has no pool", port)
	return octavia.Pool{}
}

// removeMember takes the first member out of the pool of a port, as somebody else would.
func (w *world) removeMember(port int) {
	w.t.Helper()
	pool := w.poolOf(port)
	if err := octaviaAsSomebodyElse(w.t, w).Octavia().RemoveMember(w.ctx, pool.ID, pool.Members[0].ID); err != nil {
		w.t.Fatal(err)
	}
	w.loadBalancer()
}

func there(context.Context) (bool, error) { return true, nil }

func TestReportingDriftSwallowsNoChangeOfNodes(t *testing.T) {
	t.Parallel()
	w, svc, nodes := reporting(t)
	w.removeMember(80)
	w.notice(svc)
	// Before it is told a node goes: both are one round.
	if _, err := w.engine.Repair(w.ctx, svc, nodes[:2], there); err != nil {
		t.Fatal(err)
	}
	for _, number := range []int{80, 81} {
		for _, m := range w.poolOf(number).Members {
			if m.Address == nodes[2].Status.Addresses[0].Address {
				t.Errorf("port %d: the node that is gone is still a member", number)
			}
		}
	}
}

func TestReportingDriftGoesOn(t *testing.T) {
	t.Parallel()
	w, svc, nodes := reporting(t)
	for range 2 {
		w.removeMember(80)
		w.cloud.Books.Reset()
		w.repair(svc, nodes)
		w.writes(0)
		if told := w.told(); !strings.Contains(told, "LoadBalancerDrifted") || !strings.Contains(told, "member") {
			t.Errorf("told:\n%s", told)
		}
	}
}

func TestWhatIsOnlyToldIsLeftByEveryCall(t *testing.T) {
	t.Parallel()
	w, svc, nodes := reporting(t)
	w.writeDown(svc)
	w.removeMember(80)
	w.repair(svc, nodes)
	w.told()
	w.cloud.Books.Reset()
	w.ensure(svc, nodes) // as after a change of the Service that does not concern us
	w.writes(0)
	w.restart()
	w.ensure(svc, nodes)
	w.writes(0)
	if told := w.told(); !strings.Contains(told, "LoadBalancerDrifted") {
		t.Errorf("after a restart it is not told:\n%s", told)
	}
	// What the Service asks for is done, and nothing else.
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
	w.ensure(svc, nodes)
	for _, l := range w.loadBalancer().Listeners {
		if len(l.AllowedCIDRs) != 1 {
			t.Errorf("port %d: allowed CIDRs %v", l.ProtocolPort, l.AllowedCIDRs)
		}
	}
	if n := len(w.poolOf(80).Members); n != 2 {
		t.Errorf("%d members: somebody else's change was taken back", n)
	}
	w.cloud.Books.Reset()
	w.ensure(svc, nodes)
	w.writes(0)
}

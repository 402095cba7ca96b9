package loadbalancer_test

import (
	"context"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	octaviaapi "github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// reporting returns a cloud in which changes by other clients are only reported, with a Service of
// two ports.
func reporting(t *testing.T) (env *environment, svc *v1.Service, nodes []*v1.Node) {
	t.Helper()
	env = newEnvironment(t, environmentOptions{keys: map[string]string{"drift-policy": "report"}})
	nodes, svc = env.nodes(3), service("web", 2)
	env.ensure(svc, nodes)
	env.emitted()
	return env, svc, nodes
}

// poolOf returns the pool of a port.
func (env *environment) poolOf(port int) octavia.Pool {
	env.T.Helper()
	for _, l := range env.loadBalancer().Listeners {
		if l.ProtocolPort != port {
			continue
		}
		for _, p := range env.loadBalancer().Pools {
			if p.ID == l.DefaultPoolID {
				return *p
			}
		}
	}
	env.T.Fatalf("port %d has no pool", port)
	return octavia.Pool{}
}

// removeMember removes the first member of the pool of a port, as another client would.
func (env *environment) removeMember(port int) {
	env.T.Helper()
	pool := env.poolOf(port)
	if err := octaviaAsSomebodyElse(env.T, env).Octavia().RemoveMember(env.ctx, pool.ID, pool.Members[0].ID); err != nil {
		env.T.Fatal(err)
	}
	env.loadBalancer()
}

func there(context.Context) (bool, error) { return true, nil }

func TestDrift_ReportSwallowsNoChangeOfNodes(t *testing.T) {
	t.Parallel()
	env, svc, nodes := reporting(t)
	env.removeMember(80)
	env.notice(svc)
	// Before the report, a node is removed: one round handles both.
	if _, err := env.engine.Repair(env.ctx, svc, nodes[:2], there); err != nil {
		t.Fatal(err)
	}
	for _, number := range []int{80, 81} {
		for _, m := range env.poolOf(number).Members {
			if m.Address == nodes[2].Status.Addresses[0].Address {
				t.Errorf("port %d: the node that is gone is still a member", number)
			}
		}
	}
}

func TestDrift_IsReportedAgainWhenItRecurs(t *testing.T) {
	t.Parallel()
	env, svc, nodes := reporting(t)
	for range 2 {
		env.removeMember(80)
		env.Cloud.RequestLog.Reset()
		env.repair(svc, nodes)
		env.writes(0)
		if emitted := env.emitted(); !strings.Contains(emitted, "LoadBalancerDrifted") || !strings.Contains(emitted, "member") {
			t.Errorf("emitted:\n%s", emitted)
		}
	}
}

func TestDrift_IsLeftByEveryCallWhenOnlyReported(t *testing.T) {
	t.Parallel()
	env, svc, nodes := reporting(t)
	env.writeDown(svc)
	env.removeMember(80)
	env.repair(svc, nodes)
	env.emitted()
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes) // as after a change of the Service that does not affect the load balancer
	env.writes(0)
	env.restart()
	env.ensure(svc, nodes)
	env.writes(0)
	if emitted := env.emitted(); !strings.Contains(emitted, "LoadBalancerDrifted") {
		t.Errorf("after a restart it is not emitted:\n%s", emitted)
	}
	// Only the change of the Service is applied.
	svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
	env.ensure(svc, nodes)
	for _, l := range env.loadBalancer().Listeners {
		if len(l.AllowedCIDRs) != 1 {
			t.Errorf("port %d: allowed CIDRs %v", l.ProtocolPort, l.AllowedCIDRs)
		}
	}
	if n := len(env.poolOf(80).Members); n != 2 {
		t.Errorf("%d members: another's change was taken back", n)
	}
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.writes(0)
}

// After a restart the record of the previous process has the desired state of the Service, except
// for its nodes. If these have changed meanwhile, members follow, and changes by other clients are
// still only reported.
func TestDrift_IsOnlyReportedAfterRestartWithOtherNodes(t *testing.T) {
	t.Parallel()
	for _, before := range []int{2, 4} {
		t.Run(itoa(before)+" nodes became 3", func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"drift-policy": "report"}})
			nodes, svc := env.nodes(4), service("web", 2)
			env.ensure(svc, nodes[:before])
			env.writeDown(svc)
			pool := env.poolOf(80)
			if err := octaviaAsSomebodyElse(t, env).Octavia().UpdatePool(env.ctx, pool.ID, octaviaapi.Changes{"lb_algorithm": "LEAST_CONNECTIONS"}); err != nil {
				t.Fatal(err)
			}
			env.loadBalancer()
			env.restart()
			env.ensure(svc, nodes[:3])
			for _, number := range []int{80, 81} {
				if n := len(env.poolOf(number).Members); n != 3 {
					t.Errorf("port %d has %d members, want 3", number, n)
				}
			}
			if is := env.poolOf(80).Algorithm; is != "LEAST_CONNECTIONS" {
				t.Errorf("another client's change of the algorithm was taken back: it is %s", is)
			}
			if emitted := env.emitted(); !strings.Contains(emitted, "LoadBalancerDrifted") || !strings.Contains(emitted, "LEAST_CONNECTIONS") {
				t.Errorf("events:\n%s", emitted)
			}
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes[:3])
			env.writes(0)
		})
	}
}

// Objects of another controller that were changed by hand stay as they are at the switch. From then
// on, members follow the nodes and the Service is applied, also by the next process.
func TestDrift_IsOnlyReportedAtTakeOver(t *testing.T) {
	t.Parallel()
	for _, before := range []int{3, 2, 4} {
		t.Run(itoa(before)+" nodes became 3", func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"drift-policy": "report"}})
			nodes, svc := env.nodes(4), service("web", 2)
			env.inherit(peers("kubernetes", svc), svc, nodes[:before])
			if err := octaviaAsSomebodyElse(t, env).Octavia().UpdatePool(env.ctx, env.poolOf(80).ID, octaviaapi.Changes{"lb_algorithm": "LEAST_CONNECTIONS"}); err != nil {
				t.Fatal(err)
			}
			env.loadBalancer()
			env.Cloud.RequestLog.Reset()
			edited := func(when string) {
				t.Helper()
				if is := env.poolOf(80).Algorithm; is != "LEAST_CONNECTIONS" {
					t.Errorf("%s: an edit by hand was taken back: the algorithm is %s", when, is)
				}
			}
			env.ensure(svc, nodes[:3])
			if before == 3 {
				env.writes(0)
			}
			for _, number := range []int{80, 81} {
				if n := len(env.poolOf(number).Members); n != 3 {
					t.Errorf("port %d has %d members, want 3", number, n)
				}
			}
			edited("at the switch")
			if emitted := env.emitted(); !strings.Contains(emitted, "LoadBalancerDrifted") || !strings.Contains(emitted, "LEAST_CONNECTIONS") {
				t.Errorf("events:\n%s", emitted)
			}
			svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443))
			env.ensure(svc, nodes[:3])
			if n := len(env.poolOf(443).Members); n != 3 {
				t.Errorf("the new port has %d members, want 3", n)
			}
			edited("with a new port")
			env.restart() // differences that are only reported are not recorded
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes[:3])
			env.writes(0)
			edited("after a restart")
		})
	}
}

// A Service that another controller has not published yet is completed, as is one that an earlier
// process has served, but could not record.
func TestDrift_IsNoTakeOverOfWhatWasNotServedOrIsOurs(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(*v1.Service, string){
		"not published": func(svc *v1.Service, _ string) { svc.Status.LoadBalancer = v1.LoadBalancerStatus{} },
		"served before": func(svc *v1.Service, id string) { svc.Annotations[annotation.WrittenFor] = id + " " + string(svc.UID) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: map[string]string{"drift-policy": "report"}})
			nodes, svc := env.nodes(2), service("web", 2)
			id := env.inherit(peers("kubernetes", svc), svc, nodes).ID
			svc.Annotations = map[string]string{annotation.LoadBalancerID: id}
			arrange(svc, id)
			svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443))
			env.ensure(svc, nodes)
			if n := len(env.poolOf(443).Members); n != 2 {
				t.Errorf("the port that was missing has %d members, want 2", n)
			}
			env.unchanged(svc, nodes)
		})
	}
}

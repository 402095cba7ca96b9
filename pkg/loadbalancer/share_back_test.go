package loadbalancer_test

import (
	"fmt"
	"net/http"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// places are the load balancers that a Service can be on, depending on its annotation.
type places struct{ own, first, second string }

func (p places) id(of string) string {
	return map[string]string{"own": p.own, "first": p.first, "second": p.second}[of]
}

// A move that fails halfway and is reverted, or ends with the deletion of the Service, leaves
// nothing at its target.
//
//proves:58,93
func TestSharing_LeavesNothingWhereMoveWasTakenBack(t *testing.T) {
	t.Parallel()
	listener := faults.Rule{Method: http.MethodPost, Route: "/load-balancer/v2.0/lbaas/listeners", Status: http.StatusBadRequest, Worded: true}
	second := listener
	second.From = 2
	crash := second
	crash.Status = http.StatusInternalServerError
	floatingIP := faults.Rule{Method: http.MethodPost, Route: "/network/v2.0/floatingips", Status: http.StatusConflict, Worded: true}
	for _, test := range []struct {
		from, to, back string
		fault          faults.Rule
	}{
		{"own", "first", "own", listener}, {"own", "first", "own", second}, {"own", "first", "own", crash},
		{"own", "first", "second", second}, {"own", "first", "gone", second}, {"first", "second", "first", listener},
		{"first", "second", "first", second}, {"first", "second", "gone", crash}, {"first", "own", "first", floatingIP},
		{"first", "own", "second", floatingIP}, {"first", "own", "gone", floatingIP}, {"none", "first", "own", second},
		{"none", "first", "second", crash}, {"none", "first", "gone", second}, {"none", "own", "first", floatingIP},
	} {
		t.Run(fmt.Sprintf("%s, %s, %s, %d of %d", test.from, test.to, test.back, test.fault.Status, test.fault.From), func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes := env.nodes(1)
			env.ensure(service("one", 1), nodes)
			env.ensure(service("two", 1), nodes)
			others := env.loadBalancers(2)
			where := places{"", others[0].ID, others[1].ID}
			svc := service("svc", 0)
			svc.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, 443), port(v1.ProtocolTCP, 444)}
			if test.from != "none" {
				svc.Annotations[annotation.LoadBalancerID] = where.id(test.from)
				env.ensure(svc, nodes)
			}
			svc.Annotations[annotation.LoadBalancerID] = where.id(test.to)
			env.Cloud.Faults.Add(test.fault)
			if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
				t.Fatal("it has moved")
			}
			env.Cloud.Faults.Clear()
			env.endsOnlyAt(svc, nodes, where, test.back)
		})
	}
}

// endsOnlyAt moves a Service to a place, and fails if it has objects at another one.
func (env *environment) endsOnlyAt(svc *v1.Service, nodes []*v1.Node, where places, back string) {
	env.T.Helper()
	want := map[string]int{where.first: 1, where.second: 1}
	if back == "gone" {
		env.delete(svc)
	} else {
		svc.Annotations[annotation.LoadBalancerID] = where.id(back)
		env.ensure(svc, nodes)
		want[where.id(back)] += 2
	}
	balancers := 2
	if back == "own" {
		balancers = 3
	}
	for _, lb := range env.loadBalancers(balancers) {
		expected, other := want[lb.ID]
		if !other {
			expected = want[where.own]
		}
		if len(lb.Listeners) != expected || len(lb.Pools) != expected {
			env.T.Errorf("%s has %d pools and the listeners %v, want %d of each", lb.Name, len(lb.Pools), ports(lb), expected)
		}
	}
	env.floatingIPs(balancers)
	if back != "gone" {
		env.unchanged(svc, nodes)
	}
}

// A process ends while a Service moves, and the move is reverted before the next one starts: all records agree with
// the request. The other Service on the target of the move shows the parts that are left there.
//
//proves:58,93
func TestSharing_LeavesNothingWhereMoveWasTakenBackBetweenProcesses(t *testing.T) {
	t.Parallel()
	for _, served := range []bool{true, false} {
		for _, checked := range []bool{true, false} {
			for listeners := range 2 {
				t.Run(fmt.Sprintf("served before %v, checked for drift meanwhile %v, listeners %d", served, checked, listeners), func(t *testing.T) {
					t.Parallel()
					env := newEnvironment(t, environmentOptions{})
					nodes, one, svc := env.nodes(1), service("one", 1), service("svc", 0)
					svc.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, 443), port(v1.ProtocolTCP, 444)}
					env.ensure(one, nodes)
					target := env.loadBalancer().ID
					if served {
						env.ensure(svc, nodes)
					}
					env.end()
					svc.Annotations[annotation.LoadBalancerID] = target
					env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: "/load-balancer/v2.0/lbaas/listeners", Status: http.StatusBadRequest, Worded: true, From: listeners + 1})
					if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
						t.Fatal("it has moved")
					}
					env.Cloud.Faults.Clear()
					if checked {
						env.repair(one, nodes)
						env.look()
					}
					env.end()
					env.restart()

					delete(svc.Annotations, annotation.LoadBalancerID)
					env.ensure(svc, nodes)
					env.ensure(one, nodes)
					if parts := partsOn(env.loadBalancers(2), target); len(parts) < 2 {
						t.Fatalf("the target of the move has only %q", parts)
					}
					env.repair(svc, nodes)
					if parts := partsOn(env.loadBalancers(2), target); len(parts) != 1 {
						t.Errorf("the target of the move has %q", parts)
					}
					env.unchanged(svc, nodes)
				})
			}
		}
	}
}

// partsOn returns the pools of a load balancer.
func partsOn(all []simoctavia.LoadBalancer, id string) (pools []string) {
	for _, lb := range all {
		for _, pool := range lb.Pools {
			if lb.ID == id {
				pools = append(pools, pool.Name)
			}
		}
	}
	return pools
}

// A Service that returns is served, although its objects on the other load balancer cannot be
// removed yet. Its next change removes them.
func TestSharing_ServesServiceThatTurnsBackFromBrokenLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(1)
	env.ensure(service("one", 1), nodes)
	first := env.loadBalancer().ID
	svc := service("svc", 0)
	svc.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, 443), port(v1.ProtocolTCP, 444)}
	env.ensure(svc, nodes)
	svc.Annotations[annotation.LoadBalancerID] = first
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: "/load-balancer/v2.0/lbaas/listeners", Status: http.StatusBadRequest, Worded: true, From: 2})
	if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
		t.Fatal("it has moved")
	}
	env.Cloud.Faults.Clear()

	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodDelete, Route: "/load-balancer/v2.0/lbaas/listeners/{id}", Status: http.StatusForbidden, Worded: true})
	delete(svc.Annotations, annotation.LoadBalancerID)
	env.ensure(svc, nodes)
	env.Cloud.Faults.Clear()

	svc.Spec.Ports = svc.Spec.Ports[:1]
	env.ensure(svc, nodes)
	for _, lb := range env.loadBalancers(2) {
		if len(lb.Listeners) != 1 || len(lb.Pools) != 1 {
			t.Errorf("%s has %d pools and the listeners %v, want one of each", lb.Name, len(lb.Pools), ports(lb))
		}
	}
	env.unchanged(svc, nodes)
}

package loadbalancer_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// While a Service is not managed, neither its changes nor those of nodes write anything. An event
// lists the changes, which are made once it is managed again, on the same load balancer.
//
//proves:125
func TestUnmanaged_WritesNothingUntilItIsManagedAgain(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(3), service("web", 1)
	published := env.ensure(svc, nodes[:2])
	id := env.loadBalancer().ID
	env.emitted()

	annotate(annotation.Managed, "false", annotation.Method, "LEAST_CONNECTIONS")(svc)
	env.Cloud.RequestLog.Reset()
	if status := env.ensure(svc, nodes); status.Ingress[0].IP != published.Ingress[0].IP {
		t.Errorf("published %+v", status.Ingress)
	}
	if _, err := env.engine.Repair(env.ctx, svc, nodes, func(context.Context) (bool, error) { return true, nil }); err != nil {
		t.Error(err)
	}
	if steps := strings.Join(lines(env.preview(svc, nodes)), "\n"); !strings.Contains(steps, "member +node-2") || !strings.Contains(steps, "lb_algorithm") {
		t.Errorf("the preview has the steps\n%s", steps)
	}
	env.writes(0)
	if emitted := env.emitted(); !strings.Contains(emitted, "LoadBalancerUnmanaged Nothing is written") || !strings.Contains(emitted, "lb_algorithm ROUND_ROBIN → LEAST_CONNECTIONS") {
		t.Errorf("events:\n%s", emitted)
	}

	annotate(annotation.Managed, "true")(svc)
	env.ensure(svc, nodes)
	lb := env.loadBalancer()
	if lb.ID != id || len(lb.Pools[0].Members) != 3 || lb.Pools[0].Algorithm != "LEAST_CONNECTIONS" {
		t.Errorf("managed again: %+v", lb.Pools[0])
	}
	env.writes(2) // of the pool, and of its members
	env.unchanged(svc, nodes)
}

// The deletion of a Service that is not managed ends at once, and leaves its objects.
//
//proves:125
func TestUnmanaged_DeletionLeavesObjects(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*environment){"known": func(*environment) {}, "after a restart": (*environment).restart} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := env.nodes(2), service("web", 1)
			env.ensure(svc, nodes)
			before(env)
			annotate(annotation.Managed, "false")(svc)
			now := nowTime()
			svc.DeletionTimestamp = &now
			env.Cloud.RequestLog.Reset()
			if env.exists(svc) {
				t.Error("the finalizer would stay")
			}
			env.delete(svc)
			env.writes(0)
			env.loadBalancers(1)
			env.floatingIPs(1)
		})
	}
}

// A Service that becomes unmanaged and is deleted while its load balancer is created exists until that
// round has ended. Then its objects stay.
//
//proves:125
func TestUnmanaged_DeletionWaitsForRunningRound(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Clock: clock}})
	nodes, svc := env.nodes(2), service("web", 1)
	created := make(chan error, 1)
	go func(svc *v1.Service) {
		_, err := env.engine.Ensure(env.ctx, svc, nodes)
		created <- err
	}(svc.DeepCopy())
	await.Condition(t, "a load balancer that Octavia builds", func() bool { return len(env.Cloud.Octavia.Snapshot()) > 0 })
	annotate(annotation.Managed, "false")(svc)
	now := nowTime()
	svc.DeletionTimestamp = &now
	if !env.exists(svc) {
		t.Error("the finalizer would go while the round writes")
	}
	clock.Step(time.Minute)
	if err := <-created; err != nil {
		t.Error(err)
	}
	env.delete(svc)
	if env.exists(svc) {
		t.Error("the finalizer would stay")
	}
	env.loadBalancers(1)
}

// While the changes cannot be read, an unmanaged Service is not reported as refused: its next call reads
// them.
//
//proves:125
func TestUnmanaged_OutageIsNoRefusal(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	published := env.ensure(svc, nodes)
	env.restart()
	annotate(annotation.Managed, "false", annotation.Method, "LEAST_CONNECTIONS")(svc)
	repair := env.Cloud.Faults.Add(faults.Rule{Route: "/load-balancer/**", Status: http.StatusServiceUnavailable})
	status, err := env.engine.Ensure(env.ctx, svc, nodes)
	if emitted := env.emitted(); err == nil || strings.Contains(emitted, "LoadBalancerUnmanaged") {
		t.Errorf("error %v, events:\n%s", err, emitted)
	}
	if status == nil || status.Ingress[0].IP != published.Ingress[0].IP {
		t.Errorf("published %+v", status)
	}
	repair()
	env.ensure(svc, nodes)
	if emitted := env.emitted(); !strings.Contains(emitted, "Would change") {
		t.Errorf("events:\n%s", emitted)
	}
}

// A load balancer of cloud-provider-openstack stays with it while the Service is not managed, also if other
// clients change it. Afterwards it is taken over.
//
//proves:120,125
func TestUnmanaged_TakesNothingOver(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	before := env.inherit(peers("kubernetes", svc), svc, nodes[:1])
	env.restart()
	annotate(annotation.Managed, "false")(svc)
	published := svc.Status.LoadBalancer.Ingress[0].IP
	if err := octaviaAsSomebodyElse(t, env).Octavia().DeleteListener(env.ctx, before.Listeners[0].ID); err != nil {
		t.Fatal(err)
	}
	env.Cloud.RequestLog.Reset()
	if status := env.ensure(svc, nodes); status.Ingress[0].IP != published {
		t.Errorf("published %+v", status.Ingress)
	}
	env.writes(0)
	delete(svc.Annotations, annotation.Managed)
	env.ensure(svc, nodes)
	if lb := env.loadBalancer(); lb.ID != before.ID || len(lb.Listeners) != 1 || len(lb.Pools[0].Members) != 2 {
		t.Errorf("taken over: %+v", lb)
	}
	env.unchanged(svc, nodes)
}

// A Service that was never managed gets no load balancer.
//
//proves:125
func TestUnmanaged_CreatesNothing(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	annotate(annotation.Managed, "false")(svc)
	if status, err := env.engine.Ensure(env.ctx, svc, nodes); err != nil || len(status.Ingress) > 0 {
		t.Errorf("status %+v, error %v", status, err)
	}
	env.loadBalancers(0)
	env.writes(0)
	delete(svc.Annotations, annotation.Managed)
	env.ensure(svc, nodes)
	env.loadBalancers(1)
}

// An operator can forbid the annotation.
func TestUnmanaged_IsManagedIfAnnotationIsDenied(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"deny-annotations": "managed"}})
	svc := service("web", 1)
	annotate(annotation.Managed, "false")(svc)
	env.refused(svc, env.nodes(2), "deny-annotations")
}

package loadbalancer_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/memorynet"
)

// Octavia does not answer the creation for the first Service. The other one keeps waiting, and an event
// names the first.
//
//proves:60
func TestShare_NamesServiceThatOthersWaitForTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := newEnvironment(t, environmentOptions{services: &fakeServices{}, network: &memorynet.Network{}})
		nodes := env.nodes(1)
		a, b := sharing("a", "edge", 0, 80), sharing("b", "edge", 1, 81)
		env.options.services.apply(a, b)
		env.Cloud.Faults.Add(faultOn(http.MethodPost, lbRoute, http.StatusInternalServerError))
		if _, err := env.engine.Ensure(env.ctx, a, nodes); err == nil {
			t.Fatal("a has a load balancer")
		}
		env.emitted()
		joined := make(chan *v1.LoadBalancerStatus, 1)
		go func() {
			status, err := env.engine.Serve(env.ctx, b, nodes)
			if err != nil {
				t.Errorf("Serve of b: %v", err)
			}
			joined <- status
		}()
		time.Sleep(time.Minute)
		if emitted := env.emitted(); emitted != "" {
			t.Errorf("after a minute:\n%s", emitted)
		}
		time.Sleep(5 * time.Minute)
		const want = `LoadBalancerShareWaits Waiting: the load balancer of share "edge" is created for Service default/a first`
		if emitted := env.emitted(); strings.Count(emitted, "\n") != 0 || !strings.Contains(emitted, want) {
			t.Errorf("after six minutes:\n%s\nwant once: %s", emitted, want)
		}
		env.Cloud.Faults.Clear()
		address := env.served(a, nodes)
		if status := <-joined; status == nil || status.Ingress[0].IP != address {
			t.Errorf("b publishes %v, not %s", status, address)
		}
		if got := serves(env.loadBalancer()); got != "a b" {
			t.Errorf("it serves %q", got)
		}
	})
}

// The process before has chosen b, when a was not in the share, and still works while the next one has
// chosen a, which is older. Each creates a load balancer. The next rounds leave one.
//
//proves:60
func TestShare_OfTwoControllersEndsWithOneLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newSharing(t)
	nodes := env.nodes(1)
	a, b := sharing("a", "", 0, 80), sharing("b", "edge", 1, 81)
	before, _ := env.controller(env.clusterUID)
	env.options.services.apply(a, b)
	if _, err := before.Ensure(env.ctx, b.DeepCopy(), nodes); err != nil {
		t.Fatal(err)
	}
	a.Annotations[annotation.Share] = "edge"
	env.options.services.apply(a)
	address := env.served(a, nodes)
	env.loadBalancers(2)
	if got := env.served(b, nodes); got != address {
		t.Errorf("b publishes %s, not %s", got, address)
	}
	if got := serves(env.loadBalancer()); got != "a b" {
		t.Errorf("it serves %q", got)
	}
	env.floatingIPs(1)
	env.rest(nodes, a, b)
}

//proves:60
func TestPreview_OfShareShowsWhatJoiningServiceAdds(t *testing.T) {
	t.Parallel()
	env := newSharing(t)
	nodes := env.nodes(1)
	a, b := sharing("a", "edge", 0, 80), sharing("b", "edge", 1, 81)
	env.options.services.apply(a, b)
	if p := env.preview(a, nodes); !strings.HasPrefix(p.Steps[0].Text, "load balancer kube_service_kubernetes_default_a: create") {
		t.Errorf("a: %v", lines(p))
	}
	p := env.preview(b, nodes)
	const want = `a listener and a pool for each port: the load balancer of share "edge" is created for Service default/a first`
	if got := strings.Join(lines(p), "\n"); got != want || p.Writes() != 2 || p.Address != loadbalancer.AddressNew || p.Refusal != nil {
		t.Errorf("b: %q, %d writes, address %s, refusal %v", got, p.Writes(), p.Address, p.Refusal)
	}
	env.served(a, nodes)
	env.foretold(b, nodes)
}

// A Service that is not managed creates nothing, and shows what it would create.
//
//proves:60
func TestShare_OfUnmanagedServiceShowsItsLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newSharing(t)
	nodes := env.nodes(1)
	a, b := sharing("a", "edge", 0, 80), sharing("b", "edge", 1, 81)
	a.Annotations[annotation.Managed], b.Annotations[annotation.Managed] = "false", "false"
	env.options.services.apply(a)
	env.ensure(a, nodes)
	if emitted := env.emitted(); !strings.Contains(emitted, "Would change: load balancer kube_service_kubernetes_default_a: create") {
		t.Errorf("a alone: %s", emitted)
	}
	delete(a.Annotations, annotation.Managed)
	env.options.services.apply(a, b)
	env.ensure(b, nodes)
	if emitted := env.emitted(); !strings.Contains(emitted, "Would change: a listener and a pool for each port") {
		t.Errorf("b beside a: %s", emitted)
	}
	env.loadBalancers(0)
}

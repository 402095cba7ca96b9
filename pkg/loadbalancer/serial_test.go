package loadbalancer_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// vendorWorld is a cloud with a provider that answers 501 to fully populated
// creations and to batches.
func vendorWorld(t *testing.T, provider string, keys map[string]string) *world {
	t.Helper()
	keys["lb-provider"] = provider
	delays := fastDelays()
	delays[provider] = delays[octavia.ProviderAmphora]
	return newWorld(t, worldOptions{keys: keys, simulator: simulator.Options{
		Providers: []string{octavia.ProviderAmphora, provider}, Delays: delays,
		Octavia: func(o *octavia.Options) {
			o.Vendors = map[string]octavia.Vendor{provider: {NoFullCreate: true, NoBatch: true}}
		},
	}})
}

// A provider that can make nothing but one object at a time gets just that: the
// load balancer, then for each port a pool, its members one by one, the monitor,
// and the listener when all is there. Nothing that it would refuse is sent.
//
//proves:69
func TestSerialProviderGetsOneObjectAtATime(t *testing.T) {
	t.Parallel()
	w := vendorWorld(t, "f5", map[string]string{"provider-requires-serial-api-calls": "true", "create-monitor": "true"})
	nodes, svc := w.nodes(4), service("web", 2)
	w.cloud.Books.Reset()
	w.ensure(svc, nodes[:3])
	const port = "POST pools, POST members, POST members, POST members, POST healthmonitors, POST listeners"
	if got, want := childWrites(w), "POST loadbalancers, POST floatingips, "+port+", "+port; got != want {
		t.Errorf("the creation is\n%s, want\n%s", got, want)
	}
	w.unchanged(svc, nodes[:3])

	w.cloud.Books.Reset()
	w.ensure(svc, nodes[1:]) // one comes, one goes
	if got, want := childWrites(w), "POST members, DELETE members, POST members, DELETE members"; got != want {
		t.Errorf("the change of nodes is %s, want %s", got, want)
	}
	policyLocal(svc)
	w.cloud.Books.Reset()
	w.ensure(svc, nodes[1:])
	const pool = "DELETE healthmonitors, PUT members, PUT members, PUT members, POST healthmonitors"
	if got, want := childWrites(w), pool+", "+pool; got != want {
		t.Errorf("externalTrafficPolicy Local is %s, want %s", got, want)
	}
	if p := w.loadBalancer().Pools[0]; p.Monitor.Type != "HTTP" || slices.ContainsFunc(p.Members, func(m *octavia.Member) bool { return m.MonitorPort != 32000 }) {
		t.Errorf("pool %+v", p)
	}
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyCluster, 0
	w.ensure(svc, nodes[1:])
	if p := w.loadBalancer().Pools[0]; p.Monitor.Type != "TCP" || p.Members[0].MonitorPort != 0 {
		t.Errorf("pool %+v", p)
	}
	w.unchanged(svc, nodes[1:])
	for _, r := range w.cloud.Books.Requests() {
		if r.Status == http.StatusNotImplemented {
			t.Errorf("%s %s is refused with 501", r.Method, r.Path)
		}
	}
	w.delete(svc)
	w.loadBalancers(0)
	w.floatingIPs(0)
}

// What a provider cannot do is learnt from its refusal, once, for all Services.
//
//proves:69,115
func TestWhatAProviderCannotDoIsLearntOnce(t *testing.T) {
	t.Parallel()
	w := vendorWorld(t, "acme", map[string]string{})
	nodes := w.nodes(5)
	refusals := func() (n int) {
		for _, r := range w.cloud.Books.Requests() {
			if r.Status == http.StatusNotImplemented {
				n++
			}
		}
		return n
	}
	w.cloud.Books.Reset()
	first := service("first", 1)
	w.ensure(first, nodes[:3])
	if n := refusals(); n != 2 {
		t.Errorf("the first Service has %d requests refused, want 2: the whole load balancer, and the batch", n)
	}
	w.cloud.Books.Reset()
	second := service("second", 2)
	w.ensure(second, nodes[:3])
	w.ensure(first, nodes)
	w.ensure(second, nodes[2:])
	if n := refusals(); n != 0 {
		t.Errorf("%d requests refused after it is known", n)
	}
	for _, svc := range []*v1.Service{first, second} {
		w.delete(svc)
	}
	w.loadBalancers(0)
}

// A Service names its provider; one that Octavia does not have is refused before the
// first write, and a later change is told.
//
//proves:38,93
func TestProviderPerService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc, plain := w.nodes(2), service("web", 1), service("plain", 1)
	svc.Annotations[annotation.Provider] = "ovm"
	w.cloud.Books.Reset()
	w.refused(svc, nodes, `metadata.annotations[`+annotation.Provider+`]: Unsupported value: "ovm": supported values: "amphora", "octavia", "ovn"`)
	w.writes(0)
	svc.Annotations[annotation.Provider] = "ovn"
	w.ensure(svc, nodes)
	if lb := w.loadBalancer(); lb.Provider != "ovn" || lb.Pools[0].Algorithm != "SOURCE_IP_PORT" {
		t.Errorf("load balancer %+v", lb)
	}
	w.unchanged(svc, nodes)
	w.ensure(plain, nodes)
	for _, lb := range w.loadBalancers(2) {
		if is := lb.Provider == "ovn"; is != (strings.HasSuffix(lb.Name, "_web")) {
			t.Errorf("%s has provider %s", lb.Name, lb.Provider)
		}
	}
	svc.Annotations[annotation.Provider] = "amphora"
	w.told()
	w.ensure(svc, nodes)
	if told := w.told(); !strings.Contains(told, `the provider stays "ovn"`) {
		t.Errorf("events:\n%s", told)
	}
}

// A load balancer that is refused even when it is empty says nothing about what can
// be in one.
//
//proves:115
func TestRefusalOfAnotherOptionIsNotTakenForTheWholeCreation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{
		keys:      map[string]string{"lb-provider": "acme"},
		simulator: simulator.Options{Providers: []string{"acme"}, Delays: map[string]octavia.Delays{"acme": fastDelays()[octavia.ProviderAmphora]}},
	})
	nodes, svc := w.nodes(2), service("web", 1)
	refuse := faultOn(http.MethodPost, lbRoute, http.StatusNotImplemented)
	w.cloud.Faults.Add(refuse)
	w.refused(svc, nodes, "501")
	w.cloud.Faults.Clear()
	w.cloud.Books.Reset()
	w.ensure(svc, nodes)
	if got := childWrites(w); !strings.HasPrefix(got, "POST loadbalancers, POST floatingips") || strings.Contains(got, "pools") {
		t.Errorf("afterwards the creation is %s", got)
	}
}

// The serial way is as safe as the other: killed at any request, the next process
// ends with one load balancer and all that belongs into it.
//
//proves:69
func TestKilledDuringASerialCreationGoesOn(t *testing.T) {
	t.Parallel()
	for _, afterWork := range []bool{false, true} {
		for last, more := 1, true; more; last++ {
			w := vendorWorld(t, "f5", map[string]string{"provider-requires-serial-api-calls": "true", "create-monitor": "true"})
			nodes, svc := w.nodes(2), service("web", 1)
			more = w.killed(svc, nodes, last, afterWork)
			w.restart()
			w.ensure(svc, nodes)
			lb := w.loadBalancer()
			if len(lb.Listeners) != 1 || len(lb.Pools) != 1 || len(lb.Pools[0].Members) != 2 || lb.Pools[0].Monitor == nil {
				t.Fatalf("killed at request %d, then the load balancer is %+v", last, lb)
			}
			w.floatingIPs(1)
			w.unchanged(svc, nodes)
			w.cloud.Close()
		}
	}
}

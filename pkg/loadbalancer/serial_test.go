package loadbalancer_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// vendorWorld returns a cloud with a provider that answers 501 to full creations and to batches.
func vendorWorld(t *testing.T, provider string, keys map[string]string) *environment {
	t.Helper()
	keys["lb-provider"] = provider
	delays := fastDelays()
	delays[provider] = delays[octavia.ProviderAmphora]
	return newEnvironment(t, environmentOptions{keys: keys, simulator: simulator.Options{
		Providers: []string{octavia.ProviderAmphora, provider}, Delays: delays,
		Octavia: func(o *octavia.Options) {
			o.Vendors = map[string]octavia.Vendor{provider: {NoFullCreate: true, NoBatch: true}}
		},
	}})
}

// If a provider can create only one object at a time, the requests are: the load balancer, then for
// each port a pool, its members one by one, the monitor, and last the listener. No request that it
// would refuse is sent.
//
//proves:69
func TestProvider_ThatIsSerialGetsOneObjectAtATime(t *testing.T) {
	t.Parallel()
	env := vendorWorld(t, "f5", map[string]string{"provider-requires-serial-api-calls": "true", "create-monitor": "true"})
	nodes, svc := env.nodes(4), service("web", 2)
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes[:3])
	const port = "POST pools, POST members, POST members, POST members, POST healthmonitors, POST listeners"
	if got, want := childWrites(env), "POST loadbalancers, POST floatingips, "+port+", "+port; got != want {
		t.Errorf("the creation is\n%s, want\n%s", got, want)
	}
	env.unchanged(svc, nodes[:3])

	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes[1:]) // one is added, one removed
	if got, want := childWrites(env), "POST members, DELETE members, POST members, DELETE members"; got != want {
		t.Errorf("the change of nodes is %s, want %s", got, want)
	}
	policyLocal(svc)
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes[1:])
	const pool = "DELETE healthmonitors, PUT members, PUT members, PUT members, POST healthmonitors"
	if got, want := childWrites(env), pool+", "+pool; got != want {
		t.Errorf("externalTrafficPolicy Local is %s, want %s", got, want)
	}
	if p := env.loadBalancer().Pools[0]; p.Monitor.Type != "HTTP" || slices.ContainsFunc(p.Members, func(m *octavia.Member) bool { return m.MonitorPort != 32000 }) {
		t.Errorf("pool %+v", p)
	}
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyCluster, 0
	env.ensure(svc, nodes[1:])
	if p := env.loadBalancer().Pools[0]; p.Monitor.Type != "TCP" || p.Members[0].MonitorPort != 0 {
		t.Errorf("pool %+v", p)
	}
	env.unchanged(svc, nodes[1:])
	for _, r := range env.Cloud.RequestLog.Requests() {
		if r.Status == http.StatusNotImplemented {
			t.Errorf("%s %s is refused with 501", r.Method, r.Path)
		}
	}
	env.delete(svc)
	env.loadBalancers(0)
	env.floatingIPs(0)
}

// The first refusal teaches a missing capability of a provider, for all Services.
//
//proves:69,115
func TestProvider_IsAskedOnceForWhatItCannotDo(t *testing.T) {
	t.Parallel()
	env := vendorWorld(t, "acme", map[string]string{})
	nodes := env.nodes(5)
	refusals := func() (n int) {
		for _, r := range env.Cloud.RequestLog.Requests() {
			if r.Status == http.StatusNotImplemented {
				n++
			}
		}
		return n
	}
	env.Cloud.RequestLog.Reset()
	first := service("first", 1)
	env.ensure(first, nodes[:3])
	if n := refusals(); n != 2 {
		t.Errorf("the first Service has %d requests refused, want 2: the whole load balancer, and the batch", n)
	}
	env.Cloud.RequestLog.Reset()
	second := service("second", 2)
	env.ensure(second, nodes[:3])
	env.ensure(first, nodes)
	env.ensure(second, nodes[2:])
	if n := refusals(); n != 0 {
		t.Errorf("%d requests refused after it is known", n)
	}
	for _, svc := range []*v1.Service{first, second} {
		env.delete(svc)
	}
	env.loadBalancers(0)
}

// A Service names its provider. One that Octavia lacks is refused before the first write, and an
// event reports a later change.
//
//proves:38,93
func TestProvider_IsChosenPerServiceAndThenStays(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc, plain := env.nodes(2), service("web", 1), service("plain", 1)
	svc.Annotations[annotation.Provider] = "ovm"
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes, `metadata.annotations[`+annotation.Provider+`]: Unsupported value: "ovm": supported values: "amphora", "octavia", "ovn", "port-forwarding", "router"`)
	env.writes(0)
	svc.Annotations[annotation.Provider] = "ovn"
	env.ensure(svc, nodes)
	if lb := env.loadBalancer(); lb.Provider != "ovn" || lb.Pools[0].Algorithm != "SOURCE_IP_PORT" {
		t.Errorf("load balancer %+v", lb)
	}
	env.unchanged(svc, nodes)
	env.ensure(plain, nodes)
	for _, lb := range env.loadBalancers(2) {
		if is := lb.Provider == "ovn"; is != (strings.HasSuffix(lb.Name, "_web")) {
			t.Errorf("%s has provider %s", lb.Name, lb.Provider)
		}
	}
	svc.Annotations[annotation.Provider] = "amphora"
	env.emitted()
	env.ensure(svc, nodes)
	if emitted := env.emitted(); !strings.Contains(emitted, `the provider stays "ovn"`) {
		t.Errorf("events:\n%s", emitted)
	}
}

// If even an empty load balancer is refused, the refusal does not concern its parts.
//
//proves:115
func TestProvider_RefusalOfOtherOptionRulesOutNoFullCreation(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{
		keys:      map[string]string{"lb-provider": "acme"},
		simulator: simulator.Options{Providers: []string{"acme"}, Delays: map[string]octavia.Delays{"acme": fastDelays()[octavia.ProviderAmphora]}},
	})
	nodes, svc := env.nodes(2), service("web", 1)
	refuse := faultOn(http.MethodPost, lbRoute, http.StatusNotImplemented)
	env.Cloud.Faults.Add(refuse)
	env.refused(svc, nodes, "501")
	env.Cloud.Faults.Clear()
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	if got := childWrites(env); !strings.HasPrefix(got, "POST loadbalancers, POST floatingips") || strings.Contains(got, "pools") {
		t.Errorf("afterwards the creation is %s", got)
	}
}

// Single requests are as safe as a full creation: after a kill at any moment, the next process ends
// with one load balancer and all its parts.
//
//proves:69
func TestCrash_DuringSerialCreationIsFinishedByNextProcess(t *testing.T) {
	t.Parallel()
	everyMoment(t, func(n int, afterWork bool) bool {
		env := vendorWorld(t, "f5", map[string]string{"provider-requires-serial-api-calls": "true", "create-monitor": "true"})
		nodes, svc := env.nodes(2), service("web", 1)
		killed := env.killed(svc, nodes, n, afterWork)
		env.ensure(svc, nodes)
		lb := env.loadBalancer()
		if len(lb.Listeners) != 1 || len(lb.Pools) != 1 || len(lb.Pools[0].Members) != 2 || lb.Pools[0].Monitor == nil {
			t.Fatalf("killed at moment %d, then the load balancer is %+v", n, lb)
		}
		env.floatingIPs(1)
		env.unchanged(svc, nodes)
		env.Cloud.Close()
		return killed
	})
}

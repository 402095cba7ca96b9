package testenv_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/cost"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
	"github.com/openstack-ccm/openstack-ccm/tests/testenv"
)

// Rollouts of Services with members that follow endpoints, with the durations of real providers.

const rolloutNodes = 4

// rollout is a Service, web, with members that follow its endpoints.
type rollout struct {
	*testenv.Env
	t *testing.T
	// emptied has the pools that had members and then none.
	emptied []string
}

// rollOut runs a test with a cloud of a provider, and nodes, but no Service yet.
func rollOut(t *testing.T, provider string, test func(r *rollout)) {
	t.Helper()
	t.Parallel()
	options := testenv.Options{Keys: map[string]string{"lb-provider": provider}, Simulator: simulator.Options{
		Release: "2025.1", // with an ovn that works on the members of a batch one by one
		Delays: map[string]octavia.Delays{
			octavia.ProviderAmphora: octavia.Delays(cost.Amphora()), octavia.ProviderOVN: octavia.Delays(cost.QueuedOVN()),
		},
	}}
	live(t, options, func(t *testing.T, env *testenv.Env) {
		for i := 3; i <= rolloutNodes; i++ {
			if _, err := env.AddNode(fmt.Sprintf("node-%d", i), fmt.Sprintf("127.100.1.%d", i)); err != nil {
				t.Fatal(err)
			}
		}
		r := &rollout{Env: env, t: t}
		var mu sync.Mutex // the simulator calls subscribers concurrently
		full := map[string]bool{}
		env.Cloud.Octavia.Subscribe(func() {
			mu.Lock()
			defer mu.Unlock()
			for _, lb := range env.Cloud.Octavia.Snapshot() {
				for _, pool := range lb.Pools {
					if full[pool.ID] && len(pool.Members) == 0 && len(r.emptied) < 10 {
						r.emptied = append(r.emptied, pool.Name)
					}
					full[pool.ID] = len(pool.Members) > 0
				}
			}
		})
		test(r)
		mu.Lock()
		defer mu.Unlock()
		if len(r.emptied) > 0 {
			t.Errorf("emptied pools: %q", r.emptied)
		}
	})
}

// onProviders runs a test with each provider.
func onProviders(t *testing.T, test func(r *rollout)) {
	t.Helper()
	t.Parallel()
	for _, provider := range []string{octavia.ProviderAmphora, octavia.ProviderOVN} {
		t.Run(provider, func(t *testing.T) { rollOut(t, provider, test) })
	}
}

func webKey(name string) testenv.Key { return testenv.Key{Namespace: "default", Name: name} }

// on sets the nodes with endpoints of web, by their numbers.
func (r *rollout) on(numbers ...int) { r.set("web", numbers...) }

func (r *rollout) set(name string, numbers ...int) {
	var nodes []string
	for _, n := range numbers {
		nodes = append(nodes, fmt.Sprintf("node-%d", n))
	}
	r.Cluster.SetEndpoints(webKey(name), nodes...)
}

// apply creates a Service with these ports.
func (r *rollout) apply(name string, ports ...int32) {
	svc := service(name, ports...)
	for i := range svc.Spec.Ports {
		svc.Spec.Ports[i].Name = fmt.Sprintf("p%d", svc.Spec.Ports[i].Port)
	}
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	svc.Annotations = map[string]string{annotation.Members: annotation.MembersEndpointNodes, annotation.Internal: "true"}
	r.Cluster.Apply(svc)
}

// serve creates web with three ports and endpoints on nodes, and forgets the requests for that.
func (r *rollout) serve(numbers ...int) {
	r.t.Helper()
	r.on(numbers...)
	r.apply("web", 80, 81, 82)
	r.settled()
	r.Cloud.RequestLog.Reset()
}

func (r *rollout) settled() {
	r.t.Helper()
	settle(r.t, r.Env)
}

// balancer returns the only load balancer.
func (r *rollout) balancer() octavia.LoadBalancer {
	r.t.Helper()
	all := r.Cloud.Octavia.Snapshot()
	if len(all) != 1 {
		r.t.Fatalf("%d load balancers", len(all))
	}
	return all[0]
}

// assertOn fails unless all pools have these nodes as members.
func (r *rollout) assertOn(numbers ...int) {
	r.t.Helper()
	for _, pool := range r.balancer().Pools {
		r.assertPool(pool, numbers...)
	}
}

func (r *rollout) assertPool(pool *octavia.Pool, numbers ...int) {
	r.t.Helper()
	var got, want []string
	for _, m := range pool.Members {
		got = append(got, m.Name)
	}
	for _, n := range numbers {
		want = append(want, fmt.Sprintf("node-%d", n))
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		r.t.Errorf("pool %s has %v, want %v", pool.Name, got, want)
	}
}

// assertWrites fails unless so many writes were sent to Octavia, with as many cycles.
func (r *rollout) assertWrites(want int) {
	r.t.Helper()
	writes := r.writes()
	if cycles := r.Cloud.RequestLog.TotalCycles(); len(writes) != want || cycles != want {
		r.t.Errorf("%d writes and %d cycles, want %d:\n%s", len(writes), cycles, want, strings.Join(writes, "\n"))
	}
}

func (r *rollout) writes() []string {
	var all []string
	for _, w := range r.Cloud.RequestLog.Requests(requestlog.Writes(), requestlog.Under("/load-balancer")) {
		all = append(all, fmt.Sprintf("%s %s %d", w.Method, w.Path, w.Status))
	}
	return all
}

// assertCalm fails if a Warning was emitted.
func (r *rollout) assertCalm() {
	r.t.Helper()
	for _, event := range r.Events() {
		if strings.Contains(event, v1.EventTypeWarning) {
			r.t.Error(event)
		}
	}
}

//proves:55
func TestRollout_CreatesWithEndpointsThatAreKnownBefore(t *testing.T) {
	onProviders(t, func(r *rollout) {
		r.on(2)
		time.Sleep(time.Minute)
		r.apply("web", 80, 81)
		r.settled()
		r.assertOn(2)
		r.assertWrites(1)
		r.assertCalm()
	})
}

// Another process becomes the leader while pods move. It finishes the change, with the endpoints of
// then.
//
//proves:55
func TestRollout_IsFinishedByNextLeader(t *testing.T) {
	onProviders(t, func(r *rollout) {
		r.serve(1, 2)
		r.on(2, 3)
		for len(r.writes()) == 0 {
			time.Sleep(100 * time.Millisecond)
		}
		r.Kill()
		time.Sleep(5 * time.Second)
		r.on(3, 4)
		r.settled()
		r.assertOn(3, 4)
		if n := len(r.writes()); n > 4 {
			r.t.Errorf("%d writes for three pools, of which the first process had changed one", n)
		}
		r.assertCalm()
	})
}

// Octavia fails, before and after it has done the work.
//
//proves:55
func TestRollout_SurvivesErrorsOfOctavia(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]faults.Rule{
		"refused": {Status: http.StatusServiceUnavailable, Count: 3},
		"done":    {Status: http.StatusBadGateway, Count: 1, AfterWork: true},
		"lost":    {Drop: true, Count: 2, AfterWork: true},
	} {
		t.Run(name, func(t *testing.T) {
			onProviders(t, func(r *rollout) {
				r.serve(1, 2)
				rule := rule
				rule.Method, rule.Route = http.MethodPut, "/load-balancer/v2.0/lbaas/pools/{id}/members"
				r.Cloud.Faults.Add(rule)
				r.on(2, 3)
				r.settled()
				r.assertOn(2, 3)
				if n := r.Cloud.RequestLog.TotalCycles(); n > 4 {
					r.t.Errorf("%d cycles for three pools", n)
				}
			})
		})
	}
}

// Another change of the load balancer takes ten minutes, in which all pods are replaced again and again.
// Then each pool takes one batch.
//
//proves:55
func TestRollout_TakesOneBatchAfterLongPending(t *testing.T) {
	onProviders(t, func(r *rollout) {
		r.serve(1, 2)
		id := r.balancer().ID
		if err := r.Cloud.Octavia.SetProvisioningStatus(id, octavia.PendingUpdate); err != nil {
			r.t.Fatal(err)
		}
		for i := range 30 {
			r.on(i%rolloutNodes+1, (i+1)%rolloutNodes+1)
			time.Sleep(20 * time.Second)
		}
		r.on(3, 4)
		time.Sleep(time.Second)
		if err := r.Cloud.Octavia.SetProvisioningStatus(id, octavia.Active); err != nil {
			r.t.Fatal(err)
		}
		r.Cloud.RequestLog.Reset()
		r.settled()
		r.assertOn(3, 4)
		r.assertWrites(3)
	})
}

// Without the right to watch endpoints, all nodes are members, until it comes back.
//
//proves:55
func TestRollout_UsesAllNodesWhileRightIsMissing(t *testing.T) {
	onProviders(t, func(r *rollout) {
		r.serve(1)
		r.Cluster.ForbidEndpoints(true)
		r.settled()
		r.assertOn(1, 2, 3, 4)
		r.assertWrites(3)
		r.Cloud.RequestLog.Reset()
		r.Cluster.ForbidEndpoints(false)
		r.settled()
		r.assertOn(1)
		r.assertWrites(3)
	})
}

// A pod moves away and comes back, in any moment of the change that this causes.
//
//proves:55
func TestRollout_KeepsNodeThatPodsLeaveForMoments(t *testing.T) {
	onProviders(t, func(r *rollout) {
		r.serve(1, 2)
		for i := range 12 {
			r.on(2, 3)
			time.Sleep(time.Duration(i) * time.Second)
			r.on(1, 2)
			time.Sleep(time.Duration(12-i) * time.Second)
		}
		r.settled()
		r.assertOn(1, 2)
		for _, pool := range r.balancer().Pools {
			if provider := r.balancer().Provider; provider == octavia.ProviderOVN && len(pool.Serving) != 2 {
				r.t.Errorf("OVN has %v", pool.Serving)
			}
		}
		r.assertCalm()
	})
}

// All endpoints of many Services change at once, several times. Each load balancer takes at most the
// cycles of one change after the other, plus one.
//
//proves:55
func TestRollout_StarvesNoneOfManyServices(t *testing.T) {
	rollOut(t, octavia.ProviderAmphora, func(r *rollout) {
		const services = 100
		name := func(i int) string { return fmt.Sprintf("web-%d", i) }
		for i := range services {
			r.set(name(i), 1)
			r.apply(name(i), 80)
		}
		r.settled()
		r.Cloud.RequestLog.Reset()
		begun, changes := time.Now(), 0
		for ; time.Since(begun) < 30*time.Second; changes++ {
			for i := range services {
				r.set(name(i), (changes+i)%rolloutNodes+1)
			}
			time.Sleep(2 * time.Second)
		}
		lasted := time.Since(begun)
		time.Sleep(20 * time.Second)
		for _, lb := range r.Cloud.Octavia.Snapshot() {
			var number int
			_, _ = fmt.Sscanf(lb.Name, "kube_service_kubernetes_default_web-%d", &number)
			r.assertPool(lb.Pools[0], (changes-1+number)%rolloutNodes+1)
			if most, n := int(lasted/(3*time.Second))+1, r.Cloud.RequestLog.PendingCycles(lb.ID); n > most {
				r.t.Errorf("%s: %d cycles, want %d at most", lb.Name, n, most)
			}
		}
		r.assertCalm()
	})
}

package loadbalancer_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/metricstest"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// While thousands of load balancers are taken over, a Service that changes does not wait for their
// reads: its own read is sent first, though it was requested last.
func TestAdoption_ReadsAfterServicesThatChange(t *testing.T) {
	t.Parallel()
	registry, counts := metrics.NewKubeRegistry(), transport.NewMetrics()
	if err := counts.Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	env := newEnvironment(t, environmentOptions{limits: limiter.Limits{Reads: 1}, metrics: counts})
	nodes, changing := env.nodes(3), service("changing", 1)
	left := []*v1.Service{service("first", 1), service("second", 1)}
	var ids []string
	for _, svc := range left {
		ids = append(ids, env.inherit(peers("kubernetes", svc), svc, nodes[:2]).ID)
	}
	engine, _, session := env.newController(env.clusterUID)
	env.engine = engine
	env.ensure(changing, nodes[:2])
	env.ensure(left[0], nodes[:2]) // all share these lists

	// Another read occupies the only slot.
	defer env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: "/load-balancer/v2.0/lbaas/healthmonitors/*", Delay: time.Hour})()
	ctx, giveUp := context.WithCancel(env.ctx)
	defer giveUp()
	var calls sync.WaitGroup
	calls.Go(func() {
		if _, err := session.Octavia().Monitor(ctx, "slow"); ctx.Err() == nil {
			t.Errorf("it does not hold the slot: %v", err)
		}
	})
	await.Condition(t, "the slot is taken", func() bool { return env.Cloud.Faults.Hits() == 1 })
	waiting := func(count float64) func() bool {
		return func() bool {
			return metricstest.Value(t, registry, "openstack_api_queue_depth", map[string]string{"class": "loadbalancer_read"}) == count
		}
	}
	env.Cloud.RequestLog.Reset()
	ensure := func(svc *v1.Service, nodes []*v1.Node) {
		calls.Go(func() {
			if _, err := engine.Ensure(env.ctx, svc, nodes); err != nil {
				t.Errorf("%s: %v", svc.Name, err)
			}
		})
	}
	ensure(left[1], nodes[:2])
	await.Condition(t, "a load balancer waits to be taken over", waiting(1))
	ensure(changing, nodes)
	await.Condition(t, "a Service that changes waits behind it", waiting(2))
	giveUp()
	calls.Wait()

	reads := env.Cloud.RequestLog.Requests(requestlog.Method(http.MethodGet), requestlog.Under("/load-balancer/v2.0/lbaas"), requestlog.Status(http.StatusOK))
	if len(reads) < 3 || strings.Contains(reads[0].Path, ids[1]) || !strings.Contains(printed(reads), ids[1]) {
		t.Errorf("the load balancer %s that is taken over is not read after the first read of the Service that changes:\n%s", ids[1], printed(reads))
	}
}

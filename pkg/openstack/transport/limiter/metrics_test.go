package limiter

import (
	"strings"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/metricstest"
)

func TestMetrics_ShowQueueAndLimit(t *testing.T) {
	t.Parallel()
	registry := metrics.NewKubeRegistry()
	m := NewMetrics()
	if err := m.Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	clk := clocktesting.NewFakeClock(time.Now())
	l := newClassLimiter(rest.NetworkWrite, bounds{4, 8}, clk, m)
	slots := fill(t, l, 4)
	a := newArrivals(l)
	a.come(t, t.Context(), "one", PriorityNormal)
	a.come(t, t.Context(), "two", PriorityNormal)
	clk.Step(3 * time.Second)
	slots[0].Release(t.Context(), answered(503))
	slots[1].Release(t.Context(), answered(429, 10))
	slots[2].Release(t.Context(), answered(429, 10))
	want := `
# HELP openstack_api_limit [ALPHA] Number of OpenStack API requests that may be in flight at a time; it adapts to what the cloud can bear.
# TYPE openstack_api_limit gauge
openstack_api_limit{class="network_write"} 2
# HELP openstack_api_queue_depth [ALPHA] Number of OpenStack API requests that wait for others to be answered first.
# TYPE openstack_api_queue_depth gauge
openstack_api_queue_depth{class="network_write"} 2
# HELP openstack_api_throttled_total [ALPHA] Number of times that fewer OpenStack API requests were let through than before: the limit was halved for a status code, for no answer or for latency, or all were held back for a Retry-After.
# TYPE openstack_api_throttled_total counter
openstack_api_throttled_total{class="network_write",reason="503"} 1
openstack_api_throttled_total{class="network_write",reason="retry_after"} 1
`
	err := testutil.GatherAndCompare(registry, strings.NewReader(want), "openstack_api_limit",
		"openstack_api_queue_depth", "openstack_api_throttled_total")
	if err != nil {
		t.Error(err)
	}
	await.Condition(t, "the time is kept", clk.HasWaiters)
	clk.Step(10 * time.Second)
	<-a.entered
	class := map[string]string{"class": "network_write"}
	if depth := metricstest.Value(t, registry, "openstack_api_queue_depth", class); depth != 1 {
		t.Errorf("queue depth %v, want 1", depth)
	}
	slots[3].Release(t.Context(), answered(200))
	<-a.entered
	a.all.Wait()
	waits, depth := metricstest.Value(t, registry, "openstack_api_wait_seconds", class), metricstest.Value(t, registry, "openstack_api_queue_depth", class)
	if waits != 6 || depth != 0 {
		t.Errorf("%v waits, queue depth %v; want 6 and 0", waits, depth)
	}
}

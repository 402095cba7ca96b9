package loadbalancer_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/metricstest"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// shown returns metrics of an engine, and a function that returns the value of a metric with a
// label.
func shown(t *testing.T) (*loadbalancer.Metrics, func(name, label, value string) float64) {
	t.Helper()
	registry, counts := metrics.NewKubeRegistry(), loadbalancer.NewMetrics()
	if err := counts.Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	return counts, func(name, label, value string) float64 {
		t.Helper()
		labels := map[string]string{label: value}
		if label == "" {
			labels = nil
		}
		return metricstest.Value(t, registry, "cloudprovider_openstack_"+name, labels)
	}
}

//proves:100
func TestMetrics_SplitTimeFromServiceToAddress(t *testing.T) {
	t.Parallel()
	counts, value := shown(t)
	env := newEnvironment(t, environmentOptions{shown: counts})
	nodes, svc := env.nodes(2), service("web", 1)
	svc.CreationTimestamp = metav1.NewTime(time.Now().Add(-100 * time.Second)) // no worker was free since then
	env.ensure(svc, nodes)
	if got := value("service_address_seconds", "", ""); got != 1 {
		t.Fatalf("%v Services had an address, want 1", got)
	}
	part := func(name string) float64 { return value("service_address_part_seconds_total", "part", name) }
	for _, name := range []string{"controller", "openstack", "octavia"} {
		if got := part(name); got <= 0 || got > 60 {
			t.Errorf("%v seconds went into %s", got, name)
		}
	}
	if got := part("queue"); got < 99 || got > 160 {
		t.Errorf("it has queued for %v seconds, want 100 and a little", got)
	}
	env.ensure(svc, append(nodes, env.node(2)))
	if got := value("service_address_seconds", "", ""); got != 1 {
		t.Errorf("a Service with an address was counted again: %v", got)
	}
}

//proves:100
func TestMetrics_TimeBetweenFailedRoundsIsNobodysWork(t *testing.T) {
	t.Parallel()
	counts, value := shown(t)
	env := newEnvironment(t, environmentOptions{shown: counts})
	end := shortages()["load balancers"].set(env)
	nodes, svc := env.nodes(1), service("web", 1)
	if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
		t.Fatal("a load balancer was made beyond the quota")
	}
	if got := value("services", "phase", "refused"); got != 1 {
		t.Errorf("%v Services are refused, want 1", got)
	}
	since := value("oldest_service_timestamp_seconds", "phase", "refused")
	if age := float64(time.Now().Unix()) - since; age < 0 || age > 60 {
		t.Errorf("the oldest is refused since %v, %v seconds ago", since, age)
	}
	end()
	env.ensure(svc, nodes)
	if got := value("service_address_part_seconds_total", "part", "retry"); got <= 0 || math.IsNaN(got) {
		t.Errorf("%v seconds were between two rounds", got)
	}
	if value("services", "phase", "refused") != 0 || value("services", "phase", "settled") != 1 || value("oldest_service_timestamp_seconds", "phase", "refused") != 0 {
		t.Error("it is refused, or not settled, though it has what it asks for")
	}
}

//proves:100
func TestMetrics_CountLoadBalancersAndPartsByStatus(t *testing.T) {
	t.Parallel()
	counts, value := shown(t)
	env := newEnvironment(t, environmentOptions{shown: counts, keys: map[string]string{"create-monitor": "true"}})
	nodes, web := env.nodes(3), service("web", 2)
	env.ensure(web, nodes)
	env.ensure(service("api", 1), nodes)
	env.look()
	for kind, want := range map[string]float64{"load_balancer": 2, "listener": 3, "pool": 3, "health_monitor": 3, "member": 9} {
		if got := value("loadbalancer_objects", "kind", kind); got != want {
			t.Errorf("%v of kind %s, want %v", got, kind, want)
		}
	}
	if got := value("loadbalancer_objects", "provisioning_status", "ACTIVE"); got != 20 {
		t.Errorf("%v are ACTIVE, want all 20", got)
	}
	if working, known := value("rounds", "", ""), value("rounds_total", "knowledge", "read"); working != 0 || known != 2 {
		t.Errorf("%v rounds go on, and %v have read the cloud, want none and 2", working, known)
	}
	env.ensure(web, nodes)
	if got := value("rounds_total", "knowledge", "unchanged"); got == 0 {
		t.Error("no round found that nothing was to be done")
	}
	env.delete(web)
	if got := value("services", "", ""); got != 1 {
		t.Errorf("%v Services are counted after one of two is gone", got)
	}
}

//proves:100
func TestMetrics_CountDriftThatIsFoundAndRepaired(t *testing.T) {
	t.Parallel()
	counts, value := shown(t)
	env := newEnvironment(t, environmentOptions{shown: counts})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	if err := octaviaAsSomebodyElse(t, env).Octavia().DeleteListener(env.ctx, env.loadBalancer().Listeners[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := env.Cloud.WaitSettled(env.ctx); err != nil {
		t.Fatal(err)
	}
	env.repair(svc, nodes)
	if found, repaired := value("drift_total", "result", "found"), value("drift_total", "result", "repaired"); found != 1 || repaired != 1 {
		t.Errorf("%v found, %v repaired, want 1 and 1", found, repaired)
	}
}

// quotaStart is the time from the start to the first read of quotas.
const quotaStart = 5 * time.Minute

// Quotas cost one request an hour, alternating between Neutron and Octavia, with the first of each
// soon after the start: a process that is restarted every hour has the metrics, too.
//
//proves:100
func TestMetrics_ShowQuotasForOneRequestAnHour(t *testing.T) {
	t.Parallel()
	counts, value := shown(t)
	clock := &hours{shortest: quotaStart}
	env := newEnvironment(t, environmentOptions{shown: counts, clock: clock})
	env.ensure(service("web", 1), env.nodes(1))
	env.look()
	project := env.Cloud.Account.ProjectID
	env.Cloud.Neutron.SetQuota(project, "floatingip", 7)
	env.Cloud.Octavia.SetQuota(project, "loadbalancer", 5)
	env.Cloud.RequestLog.Reset()
	ctx, end := context.WithCancel(env.ctx)
	clock.mu.Lock()
	clock.left, clock.end = 4, end
	clock.mu.Unlock()
	env.engine.WatchQuotas(ctx)
	if got := len(env.Cloud.RequestLog.Requests(requestlog.Method("GET"))); got != 4 {
		t.Errorf("%d requests after four waits, want 4", got)
	}
	if want := []time.Duration{quotaStart, quotaStart, time.Hour, time.Hour}; !slices.Equal(clock.waits, want) {
		t.Errorf("it waits for %v, want %v", clock.waits, want)
	}
	for resource, want := range map[string][2]float64{"floatingip": {7, 1}, "load_balancer": {5, 1}} {
		if limit, used := value("quota_limit", "resource", resource), value("quota_used", "resource", resource); limit != want[0] || used != want[1] {
			t.Errorf("%s: %v of %v, want %v", resource, used, limit, want)
		}
	}
	env.Cloud.Octavia.SetQuota(project, "loadbalancer", -1)
	ctx, end = context.WithCancel(env.ctx)
	clock.mu.Lock()
	clock.left, clock.end = 2, end
	clock.mu.Unlock()
	env.engine.WatchQuotas(ctx)
	if got := value("quota_limit", "resource", "load_balancer"); got != 0 {
		t.Errorf("what nothing limits has the limit %v", got)
	}
}

// A busy cloud always has a load balancer that is PENDING. The metric is the age of the oldest one,
// by Octavia's own time, which does not depend on restarts.
//
//proves:100
func TestMetrics_ShowSinceWhenALoadBalancerIsPending(t *testing.T) {
	t.Parallel()
	counts, value := shown(t)
	env := newEnvironment(t, environmentOptions{shown: counts})
	env.ensure(service("web", 1), env.nodes(1))
	env.look()
	if got := value("oldest_pending_loadbalancer_timestamp_seconds", "", ""); got != 0 {
		t.Errorf("nothing is PENDING, and the oldest is since %v", got)
	}
	lb := env.loadBalancer()
	if err := env.Cloud.Octavia.SetProvisioningStatus(lb.ID, "PENDING_UPDATE"); err != nil {
		t.Fatal(err)
	}
	env.look()
	since := value("oldest_pending_loadbalancer_timestamp_seconds", "", "")
	if got := time.Unix(int64(since), 0); time.Since(got) > time.Hour || time.Until(got) > time.Minute {
		t.Errorf("the oldest is since %v", got)
	}
	env.restart()
	env.look()
	if got := value("oldest_pending_loadbalancer_timestamp_seconds", "", ""); got != since {
		t.Errorf("after a restart the oldest is since %v, want %v", got, since)
	}
}

// An unmanaged Service has no desired state to wait for.
//
//proves:100
func TestMetrics_UnmanagedServiceIsNotPending(t *testing.T) {
	t.Parallel()
	counts, value := shown(t)
	env := newEnvironment(t, environmentOptions{shown: counts})
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	annotate(annotation.Managed, "false")(svc)
	env.ensure(svc, nodes)
	if got := value("services", "phase", "pending"); got != 0 {
		t.Errorf("%v Services are pending, want none", got)
	}
}

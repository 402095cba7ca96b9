package cloudprovider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/metricstest"
)

//proves:99
func TestMetrics_CountCallsUnderNamesOfCloudProviderOpenStack(t *testing.T) {
	t.Parallel()
	registry := metrics.NewKubeRegistry()
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	m := NewMetrics(clock)
	if err := m.Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		nil, errors.New("broken"), fmt.Errorf("still building: %w", api.NewRetryError("PENDING_CREATE", time.Second)),
		fmt.Errorf("refused: %w", field.Invalid(field.NewPath("spec"), "x", "it is not allowed")),
	} {
		end := m.begin(operationEnsure)
		clock.Step(3 * time.Second)
		end(err)
	}
	want := `
# HELP cloudprovider_openstack_reconcile_errors_total [ALPHA] Calls of the service, node and route controllers that failed. A call for a Service that is refused did not fail, nor one that asks to be repeated later, because the load balancer is being built.
# TYPE cloudprovider_openstack_reconcile_errors_total counter
cloudprovider_openstack_reconcile_errors_total{operation="loadbalancer_ensure"} 1
# HELP cloudprovider_openstack_reconcile_total [ALPHA] Calls of the service, node and route controllers.
# TYPE cloudprovider_openstack_reconcile_total counter
cloudprovider_openstack_reconcile_total{operation="loadbalancer_ensure"} 4
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "cloudprovider_openstack_reconcile_total", "cloudprovider_openstack_reconcile_errors_total"); err != nil {
		t.Error(err)
	}
	took, err := testutil.GetHistogramMetricValue(m.duration.WithLabelValues(operationEnsure))
	if err != nil || took != 12 {
		t.Errorf("took %v seconds in all, want 12 (%v)", took, err)
	}
}

func TestMetrics_CountRefusedServicesByReason(t *testing.T) {
	t.Parallel()
	registry := metrics.NewKubeRegistry()
	m := NewMetrics(clocktesting.NewFakeClock(time.Unix(0, 0)))
	if err := m.Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	m.Refused("invalid", 2)
	m.Refused("quota", 1)
	m.Refused("quota", 0)
	want := `
# HELP cloudprovider_openstack_refused_services [ALPHA] Services that are currently refused, by reason: their load balancers keep the last good state.
# TYPE cloudprovider_openstack_refused_services gauge
cloudprovider_openstack_refused_services{reason="invalid"} 2
cloudprovider_openstack_refused_services{reason="quota"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "cloudprovider_openstack_refused_services"); err != nil {
		t.Error(err)
	}
	(*Metrics)(nil).Refused("invalid", 1)
}

// Pods do not run on nodes that are not initialized. The gauge has the creation time of the oldest
// one.
func TestMetrics_ShowOldestNodeThatIsNotInitialized(t *testing.T) {
	t.Parallel()
	registry := metrics.NewKubeRegistry()
	m := NewMetrics(clocktesting.NewFakeClock(time.Unix(0, 0)))
	if err := m.Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	const name = "cloudprovider_openstack_oldest_uninitialized_node_timestamp_seconds"
	index := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	m.useNodes(corelisters.NewNodeLister(index))
	for seconds, tainted := range map[int64]bool{100: false, 200: true, 300: true} {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(seconds), CreationTimestamp: metav1.Unix(seconds, 0)}}
		if tainted {
			node.Spec.Taints = []v1.Taint{{Key: api.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
		}
		if err := index.Add(node); err != nil {
			t.Fatal(err)
		}
	}
	if got := metricstest.Value(t, registry, name, nil); got != 200 {
		t.Errorf("the oldest is of %v, want 200", got)
	}
	for _, object := range index.List() {
		object.(*v1.Node).Spec.Taints = nil
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(""), name); err != nil {
		t.Errorf("all are initialized: %v", err)
	}
	(*Metrics)(nil).useNodes(corelisters.NewNodeLister(index))
}

// failingRoutes is a cloud with a router that rejects routes.
type failingRoutes struct{ cloudprovider.Routes }

func (failingRoutes) CreateRoute(context.Context, string, string, *cloudprovider.Route) error {
	return errors.New("the router is full")
}

func (failingRoutes) ListRoutes(context.Context, string) ([]*cloudprovider.Route, error) {
	return nil, nil
}

func TestMetrics_CountCallsForRoutes(t *testing.T) {
	t.Parallel()
	registry := metrics.NewKubeRegistry()
	m := NewMetrics(clocktesting.NewFakeClock(time.Unix(0, 0)))
	if err := m.Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	calls := newCalls(t.Context(), nil)
	calls.metrics = m
	routes := &routesAdapter{inner: failingRoutes{}, calls: calls}
	if _, err := routes.ListRoutes(t.Context(), "kubernetes"); err != nil {
		t.Error(err)
	}
	if err := routes.CreateRoute(t.Context(), "kubernetes", "", &cloudprovider.Route{}); err == nil {
		t.Error("the route was created")
	}
	for operation, want := range map[string][2]float64{"route_list": {1, 0}, "route_create": {1, 1}} {
		labels := map[string]string{"operation": operation}
		total := metricstest.Value(t, registry, "cloudprovider_openstack_reconcile_total", labels)
		failed := metricstest.Value(t, registry, "cloudprovider_openstack_reconcile_errors_total", labels)
		if got := [2]float64{total, failed}; got != want {
			t.Errorf("%s: %v calls of which %v failed, want %v", operation, got[0], got[1], want)
		}
	}
}

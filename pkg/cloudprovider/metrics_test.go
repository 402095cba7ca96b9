package cloudprovider

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/cloud-provider/api"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	clocktesting "k8s.io/utils/clock/testing"
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
	for _, err := range []error{nil, errors.New("broken"), fmt.Errorf("still building: %w", api.NewRetryError("PENDING_CREATE", time.Second))} {
		got := m.observe(operationEnsure, func() error {
			clock.Step(3 * time.Second)
			return err
		})
		if got != err {
			t.Errorf("error %v became %v", err, got)
		}
	}
	want := `
# HELP cloudprovider_openstack_reconcile_errors_total [ALPHA] Calls of the service controller that failed. A call that asks to be repeated later, because the load balancer is being built, did not fail.
# TYPE cloudprovider_openstack_reconcile_errors_total counter
cloudprovider_openstack_reconcile_errors_total{operation="loadbalancer_ensure"} 1
# HELP cloudprovider_openstack_reconcile_total [ALPHA] Calls of the service controller.
# TYPE cloudprovider_openstack_reconcile_total counter
cloudprovider_openstack_reconcile_total{operation="loadbalancer_ensure"} 3
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "cloudprovider_openstack_reconcile_total", "cloudprovider_openstack_reconcile_errors_total"); err != nil {
		t.Error(err)
	}
	took, err := testutil.GetHistogramMetricValue(m.duration.WithLabelValues(operationEnsure))
	if err != nil || took != 9 {
		t.Errorf("took %v seconds in all, want 9 (%v)", took, err)
	}
}

func TestMetrics_NilStillRunsCalls(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	if got := (*Metrics)(nil).observe(operationGet, func() error { return broken }); got != broken {
		t.Errorf("got %v", got)
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
# HELP cloudprovider_openstack_refused_services [ALPHA] Services that are refused at present, by reason: their load balancers go on with what was last good.
# TYPE cloudprovider_openstack_refused_services gauge
cloudprovider_openstack_refused_services{reason="invalid"} 2
cloudprovider_openstack_refused_services{reason="quota"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "cloudprovider_openstack_refused_services"); err != nil {
		t.Error(err)
	}
	(*Metrics)(nil).Refused("invalid", 1)
}

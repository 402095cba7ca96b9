package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/metricstest"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// tally counts the requests of a class that are in flight.
type tally struct {
	next  http.RoundTripper
	class rest.Class

	mu             sync.Mutex
	inFlight, most int
}

func (c *tally) RoundTrip(req *http.Request) (*http.Response, error) {
	if rest.KindOf(req.Method, req.URL.Path).Class == c.class {
		c.add(1)
		defer c.add(-1)
	}
	return c.next.RoundTrip(req)
}

func (c *tally) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight += n
	c.most = max(c.most, c.inFlight)
}

// createSurely creates a load balancer as the engine does: after an unsure answer it
// looks before it asks again.
func createSurely(ctx context.Context, cloud *simulator.Cloud, client *octavia.Client, name string) error {
	for range 50 {
		_, err := client.CreateLoadBalancer(ctx, octavia.LoadBalancer{Description: name, VIPSubnetID: cloud.Subnet.ID})
		if err == nil || !apierror.IsUnsure(err) {
			return err
		}
		found, err := client.LoadBalancers(ctx, octavia.LoadBalancerFilter{Description: name})
		if err != nil || len(found) > 0 {
			return err
		}
	}
	return errors.New("refused too often")
}

// Octavia answers 503 when too many creates of a project wait for each other.
//
//proves:78
func TestTransport_CreatesManyLoadBalancersInBusyCloud(t *testing.T) {
	t.Parallel()
	const services, route = 100, "/load-balancer/v2.0/lbaas/loadbalancers"
	cloud, conf := simulated.Cloud(t, simulator.Options{})
	registry, counts := metrics.NewKubeRegistry(), transport.NewMetrics()
	if err := counts.Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	connections := &http.Transport{}
	t.Cleanup(connections.CloseIdleConnections)
	creates := &tally{next: connections, class: rest.LoadBalancerCreate}
	session, err := auth.SignIn(t.Context(), conf.Global, auth.Options{
		Transport: transport.Through(creates, transport.Options{
			Metrics: counts,
			Retry:   transport.RetryPolicy{BaseDelay: time.Millisecond, MaxDelay: time.Millisecond},
		}),
		Clock: clock.RealClock{},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	client := octavia.New(session)
	const busy = `{"faultcode":"Server","faultstring":"Project busy.  Unable to lock the project.  Please try again.","debuginfo":null}`
	for _, from := range []int{3, 40, 90} {
		cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: route, From: from, Count: 10, Status: 503, Body: busy})
	}
	cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: route, From: 20, Count: 3, Status: 504, AfterWork: true})

	var all sync.WaitGroup
	for i := range services {
		all.Go(func() {
			if err := createSurely(t.Context(), cloud, client, fmt.Sprintf("lb-%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := len(cloud.Octavia.Snapshot()); got != services {
		t.Errorf("%d load balancers, want %d", got, services)
	}
	if most := (limiter.Limits{}).WithDefaults().LoadBalancerCreates; creates.most > most || creates.inFlight != 0 {
		t.Errorf("up to %d creates in flight, %d at the end; want at most %d and none", creates.most, creates.inFlight, most)
	}
	cuts := metricstest.Value(t, registry, "openstack_api_throttled_total", map[string]string{"class": "loadbalancer_create", "reason": "503"})
	waits := metricstest.Value(t, registry, "openstack_api_wait_seconds", map[string]string{"class": "loadbalancer_create"})
	if cuts < 3 || waits < services {
		t.Errorf("the limit was cut %v times, %v attempts waited; want at least one cut for each of 3 bursts of 503, %d attempts", cuts, waits, services)
	}
}

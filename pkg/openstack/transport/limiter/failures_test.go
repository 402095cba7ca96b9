package limiter

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// A load balancer that Octavia cannot create does not slow down those of other Services.
func TestLimiter_CountsRequestThatAlwaysFailsOnce(t *testing.T) {
	t.Parallel()
	limiter := New(Limits{LoadBalancerCreates: 8}.WithDefaults(), clock.RealClock{}, nil)
	limit := func() int { return limiter.classes[rest.LoadBalancerCreate].aimd.limit }
	create := func(name string, status int) {
		t.Helper()
		req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://octavia/v2.0/lbaas/loadbalancers",
			strings.NewReader(`{"loadbalancer":{"name":"`+name+`"}}`))
		if err != nil {
			t.Fatal(err)
		}
		slot, err := limiter.Acquire(req, rest.KindOf(req.Method, req.URL.Path))
		if err != nil {
			t.Fatal(err)
		}
		slot.Release(req.Context(), answered(status))
	}
	start := limit()
	create("broken", 500)
	if limit() != start/2 {
		t.Errorf("limit %d after the first 500, want %d: it may be the load", limit(), start/2)
	}
	for range 100 {
		create("broken", 500)
	}
	if limit() != start/2 {
		t.Errorf("limit %d after a hundred more of one request, want %d", limit(), start/2)
	}
	create("another", 500)
	if limit() != start/4 {
		t.Errorf("limit %d after the 500 of another request, want %d", limit(), start/4)
	}
	create("broken", 201)
	create("broken", 500)
	if limit() != 1 {
		t.Errorf("limit %d after one that had worked, want 1", limit())
	}
	for n := range 10 * maxFailures {
		create(fmt.Sprint(n), 500)
	}
	if n := len(limiter.classes[rest.LoadBalancerCreate].failures.last); n > maxFailures {
		t.Errorf("%d requests are remembered, want at most %d", n, maxFailures)
	}
}

package limiter

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// gate is a transport that blocks its requests until they are released.
type gate struct {
	mu       sync.Mutex
	inFlight int
	most     int
	leave    chan struct{}
}

func newGate() *gate { return &gate{leave: make(chan struct{})} }

func (g *gate) RoundTrip(*http.Request) (*http.Response, error) {
	g.mu.Lock()
	g.inFlight++
	g.most = max(g.most, g.inFlight)
	g.mu.Unlock()
	<-g.leave
	g.mu.Lock()
	g.inFlight--
	g.mu.Unlock()
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func (g *gate) now() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inFlight
}

// limitedTransport sends what gets a slot through a base.
type limitedTransport struct {
	limiter *Limiter
	base    http.RoundTripper
}

func (l *limitedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	slot, err := l.limiter.Acquire(req, rest.KindOf(req.Method, req.URL.Path))
	if err != nil {
		return nil, err
	}
	resp, err := l.base.RoundTrip(req)
	slot.Release(req.Context(), Outcome{Response: resp, Err: err})
	return resp, err
}

func limitedBy(limits Limits, base http.RoundTripper) *limitedTransport {
	return &limitedTransport{New(limits.WithDefaults(), clock.RealClock{}, nil), base}
}

// one allows one request of each class at a time.
func one() Limits {
	return Limits{LoadBalancerCreates: 1, LoadBalancerDeletes: 1, LoadBalancerUpdates: 1, Reads: 1, NetworkWrites: 1}
}

func send(ctx context.Context, transport http.RoundTripper, method, path string) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1"+path, nil)
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func TestLimiter_BoundsRequestsInFlight(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		method, path string
		limits       Limits
		most         int
	}{
		"creates of load balancers": {"POST", "/v2.0/lbaas/loadbalancers", Limits{}, 4},
		"deletes of load balancers": {"DELETE", "/v2.0/lbaas/loadbalancers/1", Limits{}, 8},
		"members":                   {"PUT", "/v2.0/lbaas/pools/1/members", Limits{}, 8},
		"reads":                     {"GET", "/v2.0/lbaas/loadbalancers", Limits{}, 8},
		"floating IPs":              {"POST", "/v2.0/floatingips", Limits{}, 8},
		"servers":                   {"GET", "/v2.1/servers", Limits{}, 8},
		"unknown":                   {"GET", "/somewhere", Limits{}, 8},
		"a maximum below the start": {"POST", "/v2.0/lbaas/loadbalancers", Limits{LoadBalancerCreates: 2}, 2},
		"a maximum above the start": {"GET", "/v2.1/servers", Limits{Reads: 100}, 8},
		"no sensible maximum":       {"GET", "/v2.1/servers", Limits{Reads: -1}, 8},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate()
			transport := limitedBy(test.limits, g)
			var all sync.WaitGroup
			for range test.most + 1 {
				all.Go(func() {
					if err := send(t.Context(), transport, test.method, test.path); err != nil {
						t.Error(err)
					}
				})
			}
			class := transport.limiter.classes[rest.KindOf(test.method, test.path).Class]
			await.Condition(t, "all slots are taken and one request waits", func() bool {
				return g.now() == test.most && class.depth() == 1
			})
			close(g.leave)
			all.Wait()
		})
	}
}

func TestLimiter_HasBoundsOfEveryClass(t *testing.T) {
	t.Parallel()
	want := map[rest.Class]bounds{
		"loadbalancer_create": {4, 8},
		"loadbalancer_delete": {8, 16},
		"loadbalancer_update": {8, 32},
		"loadbalancer_read":   {8, 16},
		"network_write":       {8, 16},
		"network_read":        {8, 16},
		"server_read":         {8, 16},
		"key_manager":         {8, 16},
		"other":               {8, 16},
	}
	if diff := cmp.Diff(want, Limits{}.WithDefaults().byClass(), cmp.AllowUnexported(bounds{})); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
}

// A slow service must not delay others, nor writes delay reads.
func TestLimiter_KeepsClassesApart(t *testing.T) {
	t.Parallel()
	g := newGate()
	transport := limitedBy(one(), g)
	requests := [][2]string{
		{"GET", "/v2.0/lbaas/loadbalancers"}, {"POST", "/v2.0/lbaas/loadbalancers"},
		{"DELETE", "/v2.0/lbaas/loadbalancers/1"}, {"POST", "/v2.0/lbaas/pools"},
		{"GET", "/v2.0/ports"}, {"POST", "/v2.0/floatingips"}, {"GET", "/v2.1/servers"}, {"GET", "/"},
		{"POST", "/v3/auth/tokens"}, {"POST", "/v3/auth/tokens"}, // tokens have no limit
	}
	var all sync.WaitGroup
	for _, r := range requests {
		all.Go(func() { _ = send(context.Background(), transport, r[0], r[1]) })
	}
	await.Condition(t, "all are in flight together", func() bool { return g.now() == len(requests) })
	close(g.leave)
	all.Wait()
}

func (l *classLimiter) depth() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting.length
}

func (l *classLimiter) state() (inFlight, limit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight, l.aimd.limit
}

// Barbican may ask to be left alone for minutes: load balancers do not wait for that.
func TestLimiter_HoldsUpNoOtherServiceWhileBarbicanPauses(t *testing.T) {
	t.Parallel()
	limiter := New(Limits{}.WithDefaults(), clock.RealClock{}, nil)
	request := func(path string) (*Slot, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		t.Cleanup(cancel)
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://cloud"+path, nil)
		return limiter.Acquire(req, rest.KindOf(req.Method, req.URL.Path))
	}
	secret, err := request("/key-manager/v1/secrets/1")
	if err != nil {
		t.Fatal(err)
	}
	secret.Release(context.Background(), answered(503, 300))
	if _, err := request("/load-balancer/"); err != nil {
		t.Errorf("the version of Octavia: %v", err)
	}
}

package openstack

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// gate is a transport whose requests stay in flight until they are let go.
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
	return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
}

func (g *gate) now() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inFlight
}

// paced is a transport with limits in front of base.
func paced(limits Limits, base http.RoundTripper) *retryTransport {
	return &retryTransport{
		exchange: &exchange{base: base, timeout: time.Minute, maxBody: 1 << 20},
		pacer:    newPacer(limits.withDefaults(), clock.RealClock{}, nil),
		policy:   RetryPolicy{}.withDefaults(),
		clock:    clock.RealClock{},
		jitter:   func(d time.Duration) time.Duration { return d },
	}
}

// one allows one request of each class at a time.
func one() Limits {
	return Limits{LoadBalancerCreates: 1, LoadBalancerDeletes: 1, LoadBalancerUpdates: 1, Reads: 1, NetworkWrites: 1}
}

func pass(ctx context.Context, transport http.RoundTripper, method, path string) error {
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

func TestLimitsOfRequestsInFlight(t *testing.T) {
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
			transport := paced(test.limits, g)
			var all sync.WaitGroup
			for range test.most + 1 {
				all.Go(func() {
					if err := pass(t.Context(), transport, test.method, test.path); err != nil {
						t.Error(err)
					}
				})
			}
			lane := transport.pacer.lanes[request.KindOf(test.method, test.path).Class]
			eventually(t, "all places are taken and one request waits", func() bool {
				return g.now() == test.most && lane.depth() == 1
			})
			close(g.leave)
			all.Wait()
		})
	}
}

func TestClassesAndTheirBounds(t *testing.T) {
	t.Parallel()
	want := map[request.Class]bounds{
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
	if diff := cmp.Diff(want, Limits{}.withDefaults().byClass(), cmp.AllowUnexported(bounds{})); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
}

// What is slow in one service must not hold up another, nor writes hold up reads.
func TestLanesAreApart(t *testing.T) {
	t.Parallel()
	g := newGate()
	transport := paced(one(), g)
	requests := [][2]string{
		{"GET", "/v2.0/lbaas/loadbalancers"}, {"POST", "/v2.0/lbaas/loadbalancers"},
		{"DELETE", "/v2.0/lbaas/loadbalancers/1"}, {"POST", "/v2.0/lbaas/pools"},
		{"GET", "/v2.0/ports"}, {"POST", "/v2.0/floatingips"}, {"GET", "/v2.1/servers"}, {"GET", "/"},
		{"POST", "/v3/auth/tokens"}, {"POST", "/v3/auth/tokens"}, // tokens have no limit
	}
	var all sync.WaitGroup
	for _, r := range requests {
		all.Go(func() { _ = pass(context.Background(), transport, r[0], r[1]) })
	}
	eventually(t, "all are in flight together", func() bool { return g.now() == len(requests) })
	close(g.leave)
	all.Wait()
}

func TestCancelledWhileWaitingForAPlace(t *testing.T) {
	t.Parallel()
	const path = "/v2.0/lbaas/loadbalancers"
	g := newGate()
	transport := paced(one(), g)
	lane := transport.pacer.lanes[request.LoadBalancerCreate]
	var all sync.WaitGroup
	all.Go(func() { _ = pass(context.Background(), transport, http.MethodPost, path) })
	eventually(t, "the place is taken", func() bool { return g.now() == 1 })
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	all.Go(func() { failed <- pass(ctx, transport, http.MethodPost, path) })
	eventually(t, "the second waits", func() bool { return lane.depth() == 1 })
	cancel()
	err := <-failed
	if !errors.Is(err, context.Canceled) || apierror.IsUnsure(err) {
		t.Errorf("IsUnsure %t: %v", apierror.IsUnsure(err), err)
	}
	const want = "not sent to Octavia: still waiting behind other requests (loadbalancer_create): context canceled"
	if err.Error() != want {
		t.Errorf("text\n got %s\nwant %s", err, want)
	}
	if lane.depth() != 0 {
		t.Error("the cancelled request still has its place in the queue")
	}
	close(g.leave)
	all.Wait()
}

func (l *lane) depth() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting.length
}

func (l *lane) state() (inFlight, limit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight, l.adaptive.limit
}

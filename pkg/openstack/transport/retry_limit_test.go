package transport

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/metricstest"
)

// script answers the requests to each path one after the other; the last handler
// of a path goes on.
type script struct {
	mu   sync.Mutex
	hits map[string]int
	next map[string][]http.HandlerFunc
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.hits[r.URL.Path]++
	handlers := s.next[r.URL.Path]
	handler := handlers[min(s.hits[r.URL.Path], len(handlers))-1]
	s.mu.Unlock()
	handler(w, r)
}

func (s *script) served(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[path]
}

// oneSlot is a client that may have one request of each class in flight, on a
// clock that stands still, and a server with a script.
type oneSlot struct {
	*script
	t         *testing.T
	clock     *clocktesting.FakeClock
	transport *retryTransport
	depth     func(rest.Class) int
	url       string
}

func newOneSlot(t *testing.T, next map[string][]http.HandlerFunc) *oneSlot {
	t.Helper()
	o := &oneSlot{t: t, script: &script{hits: map[string]int{}, next: next}}
	server := httptest.NewServer(o.script)
	t.Cleanup(server.Close)
	o.url = server.URL
	o.clock = clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	o.transport, o.depth = newLimited(t, o.clock, freshConnections(t))
	return o
}

// newLimited returns a transport that may have one request of each class in flight, and
// a function for the number of those that wait.
func newLimited(t *testing.T, clk clock.Clock, base pool) (*retryTransport, func(rest.Class) int) {
	t.Helper()
	one := limiter.Limits{LoadBalancerCreates: 1, LoadBalancerDeletes: 1, LoadBalancerUpdates: 1, Reads: 1, NetworkWrites: 1}
	registry, m := metrics.NewKubeRegistry(), NewMetrics()
	if err := m.Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	depth := func(class rest.Class) int {
		return int(metricstest.Value(t, registry, "openstack_api_queue_depth", map[string]string{"class": string(class)}))
	}
	return &retryTransport{
		exchange: &exchange{base: base, timeout: time.Minute, maxBody: 1 << 20},
		limiter:  limiter.New(one, clk, m.forLimiter()),
		policy:   RetryPolicy{}.withDefaults(),
		clock:    clk,
		jitter:   func(d time.Duration) time.Duration { return d },
	}, depth
}

// gate is a transport that blocks its requests until they are released.
type gate struct{ arrived, leave chan struct{} }

func (g *gate) RoundTrip(*http.Request) (*http.Response, error) {
	g.arrived <- struct{}{}
	<-g.leave
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func (*gate) CloseIdleConnections() {}

func sendBare(ctx context.Context, transport http.RoundTripper, method, path string) error {
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

// send sends a request in the background; its status comes out, 0 for an error.
func (o *oneSlot) send(ctx context.Context, method, path string) <-chan int {
	status := make(chan int, 1)
	req, err := http.NewRequestWithContext(ctx, method, o.url+path, nil)
	if err != nil {
		o.t.Fatal(err)
	}
	go func() {
		resp, err := o.transport.RoundTrip(req)
		if err != nil {
			status <- 0
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	return status
}

func (o *oneSlot) expect(status <-chan int, want int) {
	o.t.Helper()
	if got := <-status; got != want {
		o.t.Errorf("status %d, want %d", got, want)
	}
}

func (o *oneSlot) waiting(class rest.Class, n int) func() bool {
	return func() bool { return o.depth(class) == n }
}

func TestRetry_HoldsNoSlotWhileWaiting(t *testing.T) {
	t.Parallel()
	o := newOneSlot(t, map[string][]http.HandlerFunc{
		"/v2.0/ports/1": {fakecloud.Answer(503), fakecloud.Answer(200)},
		"/v2.0/ports/2": {fakecloud.Answer(200)},
	})
	failed := o.send(t.Context(), http.MethodGet, "/v2.0/ports/1")
	await.Condition(t, "the first waits to be repeated", o.clock.HasWaiters)
	o.expect(o.send(t.Context(), http.MethodGet, "/v2.0/ports/2"), 200)
	o.clock.Step(time.Second)
	o.expect(failed, 200)
}

//proves:80
func TestRetryAfter_HoldsBackItsClassOnly(t *testing.T) {
	t.Parallel()
	o := newOneSlot(t, map[string][]http.HandlerFunc{
		"/v2.0/floatingips/1": {fakecloud.Answer(429, "Retry-After", "20"), fakecloud.Answer(200)},
		"/v2.0/floatingips/2": {fakecloud.Answer(200)},
		"/v2.0/floatingips":   {fakecloud.Answer(200)},
	})
	refused := o.send(t.Context(), http.MethodPut, "/v2.0/floatingips/1")
	await.Condition(t, "the first waits to be repeated", o.clock.HasWaiters)
	held := o.send(t.Context(), http.MethodPut, "/v2.0/floatingips/2")
	await.Condition(t, "the second waits for the pause to end", func() bool { return o.clock.Waiters() == 2 })
	o.expect(o.send(t.Context(), http.MethodGet, "/v2.0/floatingips"), 200)
	if o.served("/v2.0/floatingips/2") != 0 {
		t.Error("asked again before the time that the service asked for")
	}
	o.clock.Step(20 * time.Second)
	o.expect(held, 200)
	o.clock.Step(time.Second) // the jitter added to Retry-After, so that not all come at once
	o.expect(refused, 200)
}

// The caller of a request that was answered 503 and then waited in vain for another
// attempt learns of the 503: a write was refused, and not just never sent.
func TestRetry_ReturnsLastAnswerWithoutAnotherAttempt(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	o := newOneSlot(t, map[string][]http.HandlerFunc{
		"/v2.0/ports/1": {fakecloud.Answer(503)},
		"/v2.0/ports/2": {func(w http.ResponseWriter, r *http.Request) { <-release; fakecloud.Answer(200)(w, r) }},
	})
	ctx, cancel := context.WithCancel(t.Context())
	failed := o.send(ctx, http.MethodDelete, "/v2.0/ports/1")
	await.Condition(t, "the first waits to be repeated", o.clock.HasWaiters)
	other := o.send(t.Context(), http.MethodDelete, "/v2.0/ports/2")
	await.Condition(t, "the other has the slot", func() bool { return o.served("/v2.0/ports/2") == 1 })
	o.clock.Step(time.Second)
	await.Condition(t, "the first waits for the slot", o.waiting(rest.NetworkWrite, 1))
	cancel()
	o.expect(failed, 503)
	close(release)
	o.expect(other, 200)
}

// A thousand requests that wait their turn must not use up what there is for
// repetitions.
func TestRetry_ExcludesWaitForFirstAttemptFromBudget(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	o := newOneSlot(t, map[string][]http.HandlerFunc{
		"/v2.0/ports/1": {func(w http.ResponseWriter, r *http.Request) { <-release; fakecloud.Answer(200)(w, r) }},
		"/v2.0/ports/2": {fakecloud.Answer(503), fakecloud.Answer(200)},
	})
	first := o.send(t.Context(), http.MethodGet, "/v2.0/ports/1")
	await.Condition(t, "the first has the slot", func() bool { return o.served("/v2.0/ports/1") == 1 })
	second := o.send(t.Context(), http.MethodGet, "/v2.0/ports/2")
	await.Condition(t, "the second waits", o.waiting(rest.NetworkRead, 1))
	o.clock.Step(time.Hour)
	close(release)
	o.expect(first, 200)
	await.Condition(t, "the second waits to be repeated", o.clock.HasWaiters)
	o.clock.Step(time.Second)
	o.expect(second, 200)
}

func TestLimited_ReportsCanceledWaitAsNotSent(t *testing.T) {
	t.Parallel()
	const path = "/v2.0/lbaas/loadbalancers"
	g := &gate{arrived: make(chan struct{}, 1), leave: make(chan struct{})}
	transport, depth := newLimited(t, clock.RealClock{}, g)
	var all sync.WaitGroup
	all.Go(func() { _ = sendBare(context.Background(), transport, http.MethodPost, path) })
	<-g.arrived
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error)
	all.Go(func() { failed <- sendBare(ctx, transport, http.MethodPost, path) })
	await.Condition(t, "the second waits", func() bool { return depth(rest.LoadBalancerCreate) == 1 })
	cancel()
	err := <-failed
	if !errors.Is(err, context.Canceled) || apierror.IsUnsure(err) {
		t.Errorf("IsUnsure %t: %v", apierror.IsUnsure(err), err)
	}
	const want = "not sent to Octavia: still waiting behind other requests (loadbalancer_create): context canceled"
	if err.Error() != want {
		t.Errorf("text\n got %s\nwant %s", err, want)
	}
	if depth(rest.LoadBalancerCreate) != 0 {
		t.Error("the canceled request is still in the queue")
	}
	close(g.leave)
	all.Wait()
}

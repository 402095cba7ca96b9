package openstack

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
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

// onePlace is a client that may have one request of each class in flight, on a
// clock that stands still, and a server with a script.
type onePlace struct {
	*script
	t         *testing.T
	clock     *clocktesting.FakeClock
	transport *retryTransport
	url       string
}

func newOnePlace(t *testing.T, next map[string][]http.HandlerFunc) *onePlace {
	t.Helper()
	o := &onePlace{t: t, script: &script{hits: map[string]int{}, next: next}}
	server := httptest.NewServer(o.script)
	t.Cleanup(server.Close)
	o.url = server.URL
	o.clock = clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	o.transport = paced(one(), freshConnections(t))
	o.transport.clock = o.clock
	o.transport.pacer = newPacer(one(), o.clock, nil)
	return o
}

// send sends a request in the background; its status comes out, 0 for an error.
func (o *onePlace) send(ctx context.Context, method, path string) <-chan int {
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

func (o *onePlace) expect(status <-chan int, want int) {
	o.t.Helper()
	if got := <-status; got != want {
		o.t.Errorf("status %d, want %d", got, want)
	}
}

func (o *onePlace) waiting(class request.Class, n int) func() bool {
	return func() bool { return o.transport.pacer.lanes[class].depth() == n }
}

func TestNoPlaceIsHeldWhileWaitingToRepeat(t *testing.T) {
	t.Parallel()
	o := newOnePlace(t, map[string][]http.HandlerFunc{
		"/v2.0/ports/1": {answer(503), answer(200)},
		"/v2.0/ports/2": {answer(200)},
	})
	failed := o.send(t.Context(), http.MethodGet, "/v2.0/ports/1")
	eventually(t, "the first waits to be repeated", o.clock.HasWaiters)
	o.expect(o.send(t.Context(), http.MethodGet, "/v2.0/ports/2"), 200)
	o.clock.Step(time.Second)
	o.expect(failed, 200)
}

//proves:80
func TestRetryAfterHoldsBackItsClassOnly(t *testing.T) {
	t.Parallel()
	o := newOnePlace(t, map[string][]http.HandlerFunc{
		"/v2.0/floatingips/1": {answer(429, "Retry-After", "20"), answer(200)},
		"/v2.0/floatingips/2": {answer(200)},
		"/v2.0/floatingips":   {answer(200)},
	})
	refused := o.send(t.Context(), http.MethodPut, "/v2.0/floatingips/1")
	eventually(t, "the first waits to be repeated", o.clock.HasWaiters)
	held := o.send(t.Context(), http.MethodPut, "/v2.0/floatingips/2")
	eventually(t, "the second waits for the pause to end", func() bool { return o.clock.Waiters() == 2 })
	o.expect(o.send(t.Context(), http.MethodGet, "/v2.0/floatingips"), 200)
	if o.served("/v2.0/floatingips/2") != 0 {
		t.Error("asked again before the time that the service asked for")
	}
	o.clock.Step(20 * time.Second)
	o.expect(held, 200)
	o.clock.Step(time.Second) // what is added to Retry-After, so that not all come at once
	o.expect(refused, 200)
}

// The caller of a request that was answered 503 and then waited in vain for another
// attempt learns of the 503: a write was refused, and not just never sent.
func TestLastAnswerCountsWhenThereIsNoOtherAttempt(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	o := newOnePlace(t, map[string][]http.HandlerFunc{
		"/v2.0/ports/1": {answer(503)},
		"/v2.0/ports/2": {func(w http.ResponseWriter, r *http.Request) { <-release; answer(200)(w, r) }},
	})
	ctx, cancel := context.WithCancel(t.Context())
	failed := o.send(ctx, http.MethodDelete, "/v2.0/ports/1")
	eventually(t, "the first waits to be repeated", o.clock.HasWaiters)
	other := o.send(t.Context(), http.MethodDelete, "/v2.0/ports/2")
	eventually(t, "the other has the place", func() bool { return o.served("/v2.0/ports/2") == 1 })
	o.clock.Step(time.Second)
	eventually(t, "the first waits for the place", o.waiting(request.NetworkWrite, 1))
	cancel()
	o.expect(failed, 503)
	close(release)
	o.expect(other, 200)
}

// A thousand requests that wait their turn must not use up what there is for
// repetitions.
func TestWaitForTheFirstAttemptIsNotOnTheBudget(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	o := newOnePlace(t, map[string][]http.HandlerFunc{
		"/v2.0/ports/1": {func(w http.ResponseWriter, r *http.Request) { <-release; answer(200)(w, r) }},
		"/v2.0/ports/2": {answer(503), answer(200)},
	})
	first := o.send(t.Context(), http.MethodGet, "/v2.0/ports/1")
	eventually(t, "the first has the place", func() bool { return o.served("/v2.0/ports/1") == 1 })
	second := o.send(t.Context(), http.MethodGet, "/v2.0/ports/2")
	eventually(t, "the second waits", o.waiting(request.NetworkRead, 1))
	o.clock.Step(time.Hour)
	close(release)
	o.expect(first, 200)
	eventually(t, "the second waits to be repeated", o.clock.HasWaiters)
	o.clock.Step(time.Second)
	o.expect(second, 200)
}

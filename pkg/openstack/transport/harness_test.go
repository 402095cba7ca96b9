package transport

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/utils/clock"
)

// lose closes a connection without an answer, after the request was read.
func lose(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	panic(http.ErrAbortHandler)
}

// breakOff promises more of a body than it sends.
func breakOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	w.WriteHeader(http.StatusOK)
	fmt.Fprint(w, `{"loadbalancers":[`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// scriptedServer answers requests one after the other; the last handler goes on.
type scriptedServer struct {
	*httptest.Server
	hits   atomic.Int32
	bodies chan string
}

func newScriptedServer(t *testing.T, script ...http.HandlerFunc) *scriptedServer {
	t.Helper()
	s := &scriptedServer{bodies: make(chan string, 100)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(s.hits.Add(1))
		body, _ := io.ReadAll(r.Body)
		s.bodies <- string(body)
		script[min(n, len(script))-1](w, r)
	}))
	t.Cleanup(s.Server.Close)
	return s
}

// newTestRetry returns a retryTransport that neither waits nor varies.
func newTestRetry(t *testing.T, base pool) (*retryTransport, *instantClock) {
	t.Helper()
	clk := &instantClock{}
	return &retryTransport{
		exchange: &exchange{base: base, timeout: time.Minute, maxBody: 1 << 20},
		policy:   RetryPolicy{}.withDefaults(),
		clock:    clk,
		jitter:   func(d time.Duration) time.Duration { return d },
	}, clk
}

// freshConnections is a transport that reuses nothing, so that net/http repeats
// nothing on its own.
func freshConnections(t *testing.T) *http.Transport {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

func send(t *testing.T, transport http.RoundTripper, method, url string) (*http.Response, error) {
	t.Helper()
	var body io.Reader
	if method == http.MethodPost || method == http.MethodPut {
		body = strings.NewReader(`{"loadbalancer":{}}`)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return (&http.Client{Transport: transport}).Do(req)
}

// instantClock is a real clock that does not wait, but remembers what it was asked
// to wait for.
type instantClock struct {
	clock.RealClock
	mu    sync.Mutex
	waits []time.Duration
}

func (c *instantClock) NewTimer(d time.Duration) clock.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = append(c.waits, d)
	return c.RealClock.NewTimer(0)
}

func (c *instantClock) asked() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Duration(nil), c.waits...)
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (roundTripFunc) CloseIdleConnections() {}

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }

// clientThrough returns a gophercloud client with a transport of ours.
func clientThrough(transport http.RoundTripper) *gophercloud.ProviderClient {
	return NewClient(transport, "test")
}

func requestBody(method string) *gophercloud.RequestOpts {
	opts := &gophercloud.RequestOpts{OkCodes: []int{200, 201, 202, 204}}
	if method == http.MethodPost || method == http.MethodPut {
		opts.JSONBody = map[string]any{"loadbalancer": map[string]any{"name": "a"}}
	}
	return opts
}

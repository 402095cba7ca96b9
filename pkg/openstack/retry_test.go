package openstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// lose closes a connection without an answer, after the request was read.
func lose(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	panic(http.ErrAbortHandler)
}

// answer gives a handler that answers a status.
func answer(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, `{}`)
	}
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

// newTestRetry makes a retryTransport that neither waits nor varies.
func newTestRetry(t *testing.T, base http.RoundTripper) (*retryTransport, *instantClock) {
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

// The table of retryTransport, and what IsUnsure says of what is left.
func TestOnlySafeRepetitions(t *testing.T) {
	t.Parallel()
	const lbs, tokens = "/v2.0/lbaas/loadbalancers", "/identity/v3/auth/tokens"
	const get, del, put, post = http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodPost
	tests := map[string]struct {
		method, path string
		first        http.HandlerFunc
		repeated     bool
		// unsure is what IsUnsure must say if it was not repeated.
		unsure bool
	}{
		"lost GET":                    {get, lbs, lose, true, false},
		"lost DELETE":                 {del, lbs + "/1", lose, true, false},
		"lost PUT":                    {put, lbs + "/1", lose, false, true},
		"lost POST":                   {post, lbs, lose, false, true},
		"lost PATCH":                  {http.MethodPatch, lbs + "/1", lose, false, true},
		"lost token":                  {post, tokens, lose, true, false},
		"GET breaks off":              {get, lbs, breakOff, true, false},
		"POST breaks off":             {post, lbs, breakOff, false, true},
		"GET 502":                     {get, lbs, answer(502), true, false},
		"GET 503":                     {get, lbs, answer(503), true, false},
		"GET 504":                     {get, lbs, answer(504), true, false},
		"GET 429":                     {get, lbs, answer(429), true, false},
		"GET 500":                     {get, lbs, answer(500), false, false},
		"GET 404":                     {get, lbs, answer(404), false, false},
		"DELETE 502":                  {del, lbs + "/1", answer(502), true, false},
		"DELETE 503":                  {del, lbs + "/1", answer(503), true, false},
		"DELETE 504":                  {del, lbs + "/1", answer(504), true, false},
		"DELETE 429":                  {del, lbs + "/1", answer(429), true, false},
		"DELETE 409":                  {del, lbs + "/1", answer(409), false, false},
		"DELETE 500":                  {del, lbs + "/1", answer(500), false, true},
		"PUT 503":                     {put, lbs + "/1", answer(503), false, true},
		"PUT 503 with Retry-After":    {put, lbs + "/1", answer(503, "Retry-After", "1"), true, false},
		"PUT 429":                     {put, lbs + "/1", answer(429), true, false},
		"PUT 502":                     {put, lbs + "/1", answer(502), false, true},
		"POST 429":                    {post, lbs, answer(429), true, false},
		"POST 503":                    {post, lbs, answer(503), false, true},
		"POST 503 with Retry-After":   {post, lbs, answer(503, "Retry-After", "1"), false, true},
		"POST 504":                    {post, lbs, answer(504), false, true},
		"POST 500":                    {post, lbs, answer(500), false, true},
		"POST 501":                    {post, lbs, answer(501), false, false},
		"POST 403":                    {post, lbs, answer(403), false, false},
		"token 503":                   {post, tokens, answer(503), true, false},
		"token 401":                   {post, tokens, answer(401), false, false},
		"Retry-After beyond patience": {get, lbs, answer(503, "Retry-After", "3600"), false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newScriptedServer(t, test.first, answer(202))
			retry, _ := newTestRetry(t, freshConnections(t))
			client := clientThrough(retry)
			_, err := client.Request(context.Background(), test.method, server.URL+test.path, requestBody(test.method))
			hits := int(server.hits.Load())
			if test.repeated {
				if err != nil || hits != 2 {
					t.Fatalf("sent %d times, error %v; want twice and none", hits, err)
				}
				if first, second := <-server.bodies, <-server.bodies; first != second {
					t.Errorf("bodies differ: %q, then %q", first, second)
				}
				return
			}
			if err == nil || hits != 1 {
				t.Fatalf("sent %d times, error %v; want once and one", hits, err)
			}
			if got := IsUnsure(err); got != test.unsure {
				t.Errorf("IsUnsure = %t, want %t: %v", got, test.unsure, err)
			}
		})
	}
}

// refusingDialer refuses the first dials and then connects.
func refusingDialer(refusals int32) (*http.Transport, *atomic.Int32) {
	dials := &atomic.Int32{}
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if dials.Add(1) <= refusals {
				return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("connection refused")}
			}
			var dialer net.Dialer
			return dialer.DialContext(ctx, network, address)
		},
	}, dials
}

func TestPOSTIsRepeatedWhenNothingWasSent(t *testing.T) {
	t.Parallel()
	server := newScriptedServer(t, answer(201))
	transport, dials := refusingDialer(3)
	retry, clk := newTestRetry(t, transport)
	resp, err := send(t, retry, http.MethodPost, server.URL+"/v2.0/lbaas/loadbalancers")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if server.hits.Load() != 1 || dials.Load() != 4 {
		t.Errorf("%d dials, %d requests; want 4 and 1", dials.Load(), server.hits.Load())
	}
	if want := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}; !slices.Equal(clk.asked(), want) {
		t.Errorf("waited %v, want %v", clk.asked(), want)
	}
	if body := <-server.bodies; body != `{"loadbalancer":{}}` {
		t.Errorf("body arrived as %q", body)
	}
}

func TestUnreachableServiceIsNotUnsure(t *testing.T) {
	t.Parallel()
	transport, dials := refusingDialer(1000)
	retry, _ := newTestRetry(t, transport)
	_, err := send(t, retry, http.MethodPost, "http://127.0.0.1/v2.0/lbaas/loadbalancers")
	if IsUnsure(err) || StatusCode(err) != 0 {
		t.Errorf("IsUnsure %t, status %d: %v", IsUnsure(err), StatusCode(err), err)
	}
	if dials.Load() != 5 {
		t.Errorf("%d dials, want 5", dials.Load())
	}
	want := "create load balancer a: no connection to Octavia: dial tcp: connection refused (5 attempts)"
	if got := Wrap(err, "create load balancer a").Error(); got != want {
		t.Errorf("text\n got %s\nwant %s", got, want)
	}
}

// An earlier attempt may have done it, even if the last was refused at the door.
func TestDELETEStaysUnsureAfterALostAnswer(t *testing.T) {
	t.Parallel()
	server := newScriptedServer(t, lose)
	var dials atomic.Int32
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if dials.Add(1) > 1 {
				return nil, errors.New("connection refused")
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}
	retry, _ := newTestRetry(t, transport)
	_, err := send(t, retry, http.MethodDelete, server.URL+"/v2.0/floatingips/1")
	if !IsUnsure(err) {
		t.Errorf("not unsure: %v", err)
	}
}

func TestTLSHandshakeFailureIsNotSent(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(answer(201))
	server.Config.ErrorLog = discardLog()
	server.StartTLS()
	t.Cleanup(server.Close)
	retry, clk := newTestRetry(t, freshConnections(t))
	_, err := send(t, retry, http.MethodPost, server.URL+"/v2.0/lbaas/loadbalancers")
	if err == nil || IsUnsure(err) {
		t.Errorf("want a sure error, got %v", err)
	}
	if len(clk.asked()) != 0 {
		t.Errorf("an untrusted certificate was tried again: it stays untrusted")
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := map[string]struct {
		want time.Duration
		ok   bool
	}{
		"7":                             {7 * time.Second, true},
		"0":                             {0, true},
		"-1":                            {0, false},
		"":                              {0, false},
		"soon":                          {0, false},
		"Fri, 02 Jan 2026 03:04:25 GMT": {20 * time.Second, true},
		"Fri, 02 Jan 2026 03:04:00 GMT": {0, true},
	}
	for text, test := range tests {
		got, ok := retryAfter(http.Header{"Retry-After": {text}}, now)
		if got != test.want || ok != test.ok {
			t.Errorf("%q: %s, %t; want %s, %t", text, got, ok, test.want, test.ok)
		}
	}
}

func TestRetryAfterIsWaitedFor(t *testing.T) {
	t.Parallel()
	server := newScriptedServer(t, answer(429, "Retry-After", "7"), answer(200))
	retry, clk := newTestRetry(t, freshConnections(t))
	resp, err := send(t, retry, http.MethodGet, server.URL+"/v2.0/ports")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if want := []time.Duration{7*time.Second + 500*time.Millisecond}; !slices.Equal(clk.asked(), want) {
		t.Errorf("waited %v, want %v", clk.asked(), want)
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	server := newScriptedServer(t, answer(503))
	retry, _ := newTestRetry(t, freshConnections(t))
	resp, err := send(t, retry, http.MethodGet, server.URL+"/v2.0/ports")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 503 || server.hits.Load() != 5 {
		t.Errorf("status %d after %d attempts, want 503 after 5", resp.StatusCode, server.hits.Load())
	}
}

func TestBudgetEndsTheAttempts(t *testing.T) {
	t.Parallel()
	server := newScriptedServer(t, answer(503))
	retry, _ := newTestRetry(t, freshConnections(t))
	retry.policy.Budget = time.Nanosecond
	resp, err := send(t, retry, http.MethodGet, server.URL+"/v2.0/ports")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if server.hits.Load() != 1 {
		t.Errorf("%d attempts, want 1", server.hits.Load())
	}
}

func TestNoWaitBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	server := newScriptedServer(t, answer(503, "Retry-After", "20"))
	retry, clk := newTestRetry(t, freshConnections(t))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/v2.0/ports", nil)
	resp, err := retry.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if len(clk.asked()) != 0 {
		t.Errorf("waited %v although the context ends before", clk.asked())
	}
}

func TestCancelledRequestIsNotRepeated(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	server := newScriptedServer(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	retry, _ := newTestRetry(t, freshConnections(t))
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/v2.0/lbaas/loadbalancers", nil)
	_, err := (&http.Client{Transport: retry}).Do(req)
	if !errors.Is(err, context.Canceled) || !IsUnsure(err) || server.hits.Load() != 1 {
		t.Errorf("sent %d times, IsUnsure %t: %v", server.hits.Load(), IsUnsure(err), err)
	}

	_, err = (&http.Client{Transport: retry}).Do(req)
	if !errors.Is(err, context.Canceled) || IsUnsure(err) || server.hits.Load() != 1 {
		t.Errorf("cancelled before it was sent: IsUnsure %t: %v", IsUnsure(err), err)
	}
}

func TestCancelEndsTheWait(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	server := newScriptedServer(t, answer(503))
	retry, _ := newTestRetry(t, freshConnections(t))
	clk := clocktesting.NewFakeClock(time.Now())
	retry.clock = clk
	done := make(chan int)
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/v2.0/ports", nil)
		resp, err := retry.RoundTrip(req)
		if err != nil {
			t.Error(err)
			close(done)
			return
		}
		resp.Body.Close()
		done <- resp.StatusCode
	}()
	eventually(t, "the wait after the first attempt", clk.HasWaiters)
	cancel()
	if status := <-done; status != 503 {
		t.Errorf("status %d, want the last answer", status)
	}
}

// A timeout of one attempt is not the end of the caller's context.
func TestTimeoutIsPerAttempt(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	server := newScriptedServer(t, hang, answer(200))
	retry, _ := newTestRetry(t, freshConnections(t))
	retry.exchange.timeout = 2 * time.Second // long enough to connect in
	url := server.URL + "/v2.0/lbaas/loadbalancers"
	_, err := send(t, retry, http.MethodPost, url)
	var timeout *TimeoutError
	if !errors.As(err, &timeout) || !IsUnsure(err) || errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("IsUnsure %t, error %v; want an unsure TimeoutError", IsUnsure(err), err)
	}
	retry.exchange.timeout = time.Minute
	resp, err := send(t, retry, http.MethodGet, url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func TestBodyThatCannotBeReadAgainIsSentOnce(t *testing.T) {
	t.Parallel()
	server := newScriptedServer(t, answer(429))
	retry, _ := newTestRetry(t, freshConnections(t))
	req, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, server.URL+"/v2.0/ports",
		io.NopCloser(strings.NewReader("{}")))
	resp, err := retry.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if server.hits.Load() != 1 {
		t.Errorf("sent %d times", server.hits.Load())
	}
}

// A base that tells nothing of its connections must not pass for "not sent".
func TestUntracedBaseCountsAsSent(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	retry, _ := newTestRetry(t, roundTripFunc(func(*http.Request) (*http.Response, error) {
		calls.Add(1)
		return nil, errors.New("connection reset by peer")
	}))
	_, err := send(t, retry, http.MethodPost, "http://127.0.0.1/v2.0/lbaas/loadbalancers")
	if calls.Load() != 1 || !IsUnsure(err) {
		t.Errorf("sent %d times, IsUnsure %t", calls.Load(), IsUnsure(err))
	}
}

func TestFullJitterStaysWithinItsLimit(t *testing.T) {
	t.Parallel()
	for range 1000 {
		if d := fullJitter(time.Second); d < 0 || d >= time.Second {
			t.Fatalf("%s", d)
		}
	}
	if fullJitter(0) != 0 {
		t.Error("no part of nothing")
	}
}

// The same rules on HTTP/2, where a lost answer is a reset stream.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("protocol %s", r.Proto)
		}
		if hits.Add(1) == 1 {
			lose(w, r)
		}
		fmt.Fprint(w, "{}")
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = discardLog()
	server.StartTLS()
	t.Cleanup(server.Close)
	transport, err := newTransport(config.Global{TLSInsecure: true}, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	retry, _ := newTestRetry(t, transport)
	_, err = send(t, retry, http.MethodPost, server.URL+"/v2.0/lbaas/loadbalancers")
	if hits.Load() != 1 || !IsUnsure(err) {
		t.Errorf("POST sent %d times, IsUnsure %t: %v", hits.Load(), IsUnsure(err), err)
	}
	hits.Store(0)
	resp, err := send(t, retry, http.MethodGet, server.URL+"/v2.0/lbaas/loadbalancers")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if hits.Load() != 2 {
		t.Errorf("GET sent %d times, want 2", hits.Load())
	}
}

// A server may close a connection in the very moment that we reuse it. Whatever
// comes of that, we know of everything that the server did.
func TestPOSTOnAClosedIdleConnection(t *testing.T) {
	t.Parallel()
	const rounds = 100
	var done [rounds]atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if round, err := strconv.Atoi(r.URL.Query().Get("round")); err == nil && r.Method == http.MethodPost {
			done[round].Add(1)
		}
		fmt.Fprint(w, "{}")
	}))
	transport := &http.Transport{}
	retry, _ := newTestRetry(t, transport)
	var errs [rounds]error
	for round := range rounds {
		url := fmt.Sprintf("%s/v2.0/lbaas/loadbalancers?round=%d", server.URL, round)
		resp, err := send(t, retry, http.MethodGet, url)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			server.CloseClientConnections()
		}()
		if resp, errs[round] = send(t, retry, http.MethodPost, url); errs[round] == nil {
			resp.Body.Close()
		}
		<-closed
	}
	transport.CloseIdleConnections()
	server.Close() // waits for what is still being served
	for round, err := range errs {
		did := done[round].Load()
		if did > 1 || err == nil && did != 1 || err != nil && !IsUnsure(err) && did != 0 {
			t.Errorf("round %d: done %d times, IsUnsure %t: %v", round, did, IsUnsure(err), err)
		}
	}
}

package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
)

// repetition is what must become of a request that went wrong once.
type repetition struct {
	method, path string
	first        http.HandlerFunc
	repeated     bool
	// unsure is what IsUnsure must say if it was not repeated.
	unsure bool
}

// repetitions is the table of retryTransport, with the result of IsUnsure for the others.
func repetitions() map[string]repetition {
	const lbs, tokens = "/v2.0/lbaas/loadbalancers", "/identity/v3/auth/tokens"
	const get, del, put, post = http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodPost
	return map[string]repetition{
		"lost GET":                    {get, lbs, lose, true, false},
		"lost DELETE":                 {del, lbs + "/1", lose, true, false},
		"lost PUT":                    {put, lbs + "/1", lose, false, true},
		"lost POST":                   {post, lbs, lose, false, true},
		"lost PATCH":                  {http.MethodPatch, lbs + "/1", lose, false, true},
		"lost token":                  {post, tokens, lose, true, false},
		"GET breaks off":              {get, lbs, breakOff, true, false},
		"POST breaks off":             {post, lbs, breakOff, false, true},
		"GET 502":                     {get, lbs, fakecloud.Answer(502), true, false},
		"GET 503":                     {get, lbs, fakecloud.Answer(503), true, false},
		"GET 504":                     {get, lbs, fakecloud.Answer(504), true, false},
		"GET 429":                     {get, lbs, fakecloud.Answer(429), true, false},
		"GET 500":                     {get, lbs, fakecloud.Answer(500), false, false},
		"GET 404":                     {get, lbs, fakecloud.Answer(404), false, false},
		"DELETE 502":                  {del, lbs + "/1", fakecloud.Answer(502), true, false},
		"DELETE 503":                  {del, lbs + "/1", fakecloud.Answer(503), true, false},
		"DELETE 504":                  {del, lbs + "/1", fakecloud.Answer(504), true, false},
		"DELETE 429":                  {del, lbs + "/1", fakecloud.Answer(429), true, false},
		"DELETE 409":                  {del, lbs + "/1", fakecloud.Answer(409), false, false},
		"DELETE 500":                  {del, lbs + "/1", fakecloud.Answer(500), false, true},
		"PUT 503":                     {put, lbs + "/1", fakecloud.Answer(503), false, true},
		"PUT 503 with Retry-After":    {put, lbs + "/1", fakecloud.Answer(503, "Retry-After", "1"), true, false},
		"PUT 429":                     {put, lbs + "/1", fakecloud.Answer(429), true, false},
		"PUT 502":                     {put, lbs + "/1", fakecloud.Answer(502), false, true},
		"POST 429":                    {post, lbs, fakecloud.Answer(429), true, false},
		"POST 503":                    {post, lbs, fakecloud.Answer(503), false, true},
		"POST 503 with Retry-After":   {post, lbs, fakecloud.Answer(503, "Retry-After", "1"), false, true},
		"POST 504":                    {post, lbs, fakecloud.Answer(504), false, true},
		"POST 500":                    {post, lbs, fakecloud.Answer(500), false, true},
		"POST 501":                    {post, lbs, fakecloud.Answer(501), false, false},
		"POST 403":                    {post, lbs, fakecloud.Answer(403), false, false},
		"token 503":                   {post, tokens, fakecloud.Answer(503), true, false},
		"token 401":                   {post, tokens, fakecloud.Answer(401), false, false},
		"Retry-After beyond patience": {get, lbs, fakecloud.Answer(503, "Retry-After", "3600"), false, false},
	}
}

func TestRetry_RepeatsOnlyWhatIsSafe(t *testing.T) {
	t.Parallel()
	for name, test := range repetitions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newScriptedServer(t, test.first, fakecloud.Answer(202))
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
			if got := apierror.IsUnsure(err); got != test.unsure {
				t.Errorf("IsUnsure = %t, want %t: %v", got, test.unsure, err)
			}
		})
	}
}

//proves:80
func TestRetryAfter_IsWaitedFor(t *testing.T) {
	t.Parallel()
	server := newScriptedServer(t, fakecloud.Answer(429, "Retry-After", "7"), fakecloud.Answer(200))
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

func TestRetry_BoundsAttempts(t *testing.T) {
	t.Parallel()
	server := newScriptedServer(t, fakecloud.Answer(503))
	retry, _ := newTestRetry(t, freshConnections(t))
	resp, err := send(t, retry, http.MethodGet, server.URL+"/v2.0/ports")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || server.hits.Load() != 5 {
		t.Errorf("status %d after %d attempts, want 503 after 5", resp.StatusCode, server.hits.Load())
	}
}

func TestRetry_EndsWithItsBudget(t *testing.T) {
	t.Parallel()
	server := newScriptedServer(t, fakecloud.Answer(503))
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

func TestRetry_NeverWaitsBeyondDeadline(t *testing.T) {
	t.Parallel()
	server := newScriptedServer(t, fakecloud.Answer(503, "Retry-After", "20"))
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

func TestRetry_RepeatsNoCanceledRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	server := newScriptedServer(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	retry, _ := newTestRetry(t, freshConnections(t))
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/v2.0/lbaas/loadbalancers", nil)
	_, err := (&http.Client{Transport: retry}).Do(req)
	if !errors.Is(err, context.Canceled) || !apierror.IsUnsure(err) || server.hits.Load() != 1 {
		t.Errorf("sent %d times, IsUnsure %t: %v", server.hits.Load(), apierror.IsUnsure(err), err)
	}

	_, err = (&http.Client{Transport: retry}).Do(req)
	if !errors.Is(err, context.Canceled) || apierror.IsUnsure(err) || server.hits.Load() != 1 {
		t.Errorf("cancelled before it was sent: IsUnsure %t: %v", apierror.IsUnsure(err), err)
	}
}

func TestRetry_EndsItsWaitWhenCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	server := newScriptedServer(t, fakecloud.Answer(503))
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
	await.Condition(t, "the wait after the first attempt", clk.HasWaiters)
	cancel()
	if status := <-done; status != 503 {
		t.Errorf("status %d, want the last answer", status)
	}
}

// A timeout of one attempt is not the end of the caller's context.
func TestRetry_DistinguishesTimeoutOfAttemptFromDeadline(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	server := newScriptedServer(t, hang, fakecloud.Answer(200))
	retry, _ := newTestRetry(t, freshConnections(t))
	retry.exchange.timeout = 2 * time.Second // long enough to connect in
	url := server.URL + "/v2.0/lbaas/loadbalancers"
	_, err := send(t, retry, http.MethodPost, url)
	var timeout *apierror.TimeoutError
	if !errors.As(err, &timeout) || !apierror.IsUnsure(err) || errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("IsUnsure %t, error %v; want an unsure TimeoutError", apierror.IsUnsure(err), err)
	}
	retry.exchange.timeout = time.Minute
	resp, err := send(t, retry, http.MethodGet, url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func TestRetry_SendsBodyThatCannotBeReadAgainOnce(t *testing.T) {
	t.Parallel()
	server := newScriptedServer(t, fakecloud.Answer(429))
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

func TestFullJitter_StaysWithinItsLimit(t *testing.T) {
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

package transport

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
	"sync/atomic"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fakecloud"
)

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

func TestRetry_RepeatsPOSTWhenNothingWasSent(t *testing.T) {
	t.Parallel()
	server := newScriptedServer(t, fakecloud.Answer(201))
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

func TestRetry_CountsUnreachableServiceAsNotSent(t *testing.T) {
	t.Parallel()
	transport, dials := refusingDialer(1000)
	retry, _ := newTestRetry(t, transport)
	_, err := send(t, retry, http.MethodPost, "http://127.0.0.1/v2.0/lbaas/loadbalancers")
	if apierror.IsUnsure(err) || apierror.StatusCode(err) != 0 {
		t.Errorf("IsUnsure %t, status %d: %v", apierror.IsUnsure(err), apierror.StatusCode(err), err)
	}
	if dials.Load() != 5 {
		t.Errorf("%d dials, want 5", dials.Load())
	}
	want := "create load balancer a: no connection to Octavia: dial tcp: connection refused (5 attempts)"
	if got := apierror.Wrap(err, "create load balancer a").Error(); got != want {
		t.Errorf("text\n got %s\nwant %s", got, want)
	}
}

// An earlier attempt may have done it, even if the last was refused at the door.
func TestRetry_LeavesDELETEUnsureAfterLostAnswer(t *testing.T) {
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
	if !apierror.IsUnsure(err) {
		t.Errorf("not unsure: %v", err)
	}
}

func TestRetry_CountsFailedTLSHandshakeAsNotSent(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(fakecloud.Answer(201))
	server.Config.ErrorLog = discardLog()
	server.StartTLS()
	t.Cleanup(server.Close)
	retry, clk := newTestRetry(t, freshConnections(t))
	_, err := send(t, retry, http.MethodPost, server.URL+"/v2.0/lbaas/loadbalancers")
	if err == nil || apierror.IsUnsure(err) {
		t.Errorf("want a sure error, got %v", err)
	}
	if len(clk.asked()) != 0 {
		t.Errorf("an untrusted certificate was tried again: it stays untrusted")
	}
}

// A base that does not trace its connections must not pass for "not sent".
func TestRetry_CountsUntracedFailureAsSent(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	retry, _ := newTestRetry(t, roundTripFunc(func(*http.Request) (*http.Response, error) {
		calls.Add(1)
		return nil, errors.New("connection reset by peer")
	}))
	_, err := send(t, retry, http.MethodPost, "http://127.0.0.1/v2.0/lbaas/loadbalancers")
	if calls.Load() != 1 || !apierror.IsUnsure(err) {
		t.Errorf("sent %d times, IsUnsure %t", calls.Load(), apierror.IsUnsure(err))
	}
}

// The same rules on HTTP/2, where a lost answer is a reset stream.
func TestRetry_RepeatsOnlyReadsOverHTTP2(t *testing.T) {
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
	transport, err := newConnections(TLS{insecure: true}, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	retry, _ := newTestRetry(t, transport)
	_, err = send(t, retry, http.MethodPost, server.URL+"/v2.0/lbaas/loadbalancers")
	if hits.Load() != 1 || !apierror.IsUnsure(err) {
		t.Errorf("POST sent %d times, IsUnsure %t: %v", hits.Load(), apierror.IsUnsure(err), err)
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
func TestRetry_KnowsOutcomeOfPOSTOnClosedConnection(t *testing.T) {
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
	server.Close() // waits for pending requests
	for round, err := range errs {
		did := done[round].Load()
		if did > 1 || err == nil && did != 1 || err != nil && !apierror.IsUnsure(err) && did != 0 {
			t.Errorf("round %d: done %d times, IsUnsure %t: %v", round, did, apierror.IsUnsure(err), err)
		}
	}
}

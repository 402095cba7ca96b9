package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

func TestExchange_BoundsAnswers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2.0/ports/refused" {
			w.WriteHeader(http.StatusBadRequest)
		}
		for range 1 << 10 {
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<10))
		}
	}))
	t.Cleanup(server.Close)
	base := freshConnections(t)
	ex := &exchange{base: base, timeout: time.Minute, maxBody: 1 << 19}
	get := func(path string) (*http.Response, bool, error) {
		req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL+path, nil)
		return ex.do(req)
	}
	_, sent, err := get("/v2.0/ports")
	var tooLarge *apierror.TooLargeError
	if !errors.As(err, &tooLarge) || tooLarge.Limit != 1<<19 || !sent {
		t.Errorf("sent %t, error %v; want a TooLargeError", sent, err)
	}
	resp, _, err := get("/v2.0/ports/refused")
	if err != nil {
		t.Fatalf("the start of an error's body is enough: %v", err)
	}
	body, _ := io.ReadAll(resp.Body)
	if len(body) != maxErrorBody {
		t.Errorf("kept %d bytes of an error's body, want %d", len(body), maxErrorBody)
	}
	ex.maxBody = 1 << 20
	resp, _, err = get("/v2.0/ports")
	if err != nil || resp.ContentLength != 1<<20 {
		t.Errorf("an answer of exactly the limit: %v", err)
	}
}

// silentPool never answers, and counts how often its connections are dropped.
type silentPool struct{ dropped int }

func (p *silentPool) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func (p *silentPool) CloseIdleConnections() { p.dropped++ }

// When an address moves to another machine, all connections to it are dead.
func TestExchange_DropsConnectionsAfterTimeout(t *testing.T) {
	t.Parallel()
	pool := &silentPool{}
	e := &exchange{base: pool, timeout: time.Millisecond, maxBody: defaultMaxBody}
	req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://octavia/", nil)
	var timeout *apierror.TimeoutError
	if _, _, err := e.do(req); !errors.As(err, &timeout) || pool.dropped != 1 {
		t.Errorf("dropped %d times, want once: %v", pool.dropped, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := e.do(req.WithContext(ctx)); err == nil || pool.dropped != 1 {
		t.Errorf("dropped %d times although the caller ended it: %v", pool.dropped, err)
	}
}

package transport

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

func TestDrain_WaitsForCreationUnderWay(t *testing.T) {
	t.Parallel()
	arrived, answer := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			arrived <- struct{}{}
			<-answer
		}
		w.WriteHeader(http.StatusCreated)
	}))
	defer server.Close()
	d := &drain{}
	transport := &retryTransport{
		exchange: &exchange{base: freshConnections(t), timeout: time.Minute, maxBody: 1 << 20},
		policy:   RetryPolicy{}.withDefaults(), clock: &instantClock{}, drain: d,
		jitter: func(d time.Duration) time.Duration { return d },
	}
	send := func(method, path string) error {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader("{}"))
		if err != nil {
			return err
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	const path = "/load-balancer/v2.0/lbaas/loadbalancers"
	created := make(chan error)
	go func() { created <- send(http.MethodPost, path) }()
	<-arrived

	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := d.wait(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while something is being created: %v", err)
	}
	if err := send(http.MethodPost, path); !errors.Is(err, ErrDraining) {
		t.Errorf("another creation: %v", err)
	}
	var unanswered *apierror.NoAnswerError
	if err := send(http.MethodPost, path); !errors.As(err, &unanswered) || unanswered.Sent {
		t.Errorf("%v: what was not sent counts as sent", err)
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		if err := send(method, path); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	close(answer)
	if err := <-created; err != nil {
		t.Errorf("what was under way: %v", err)
	}
	if err := d.wait(t.Context()); err != nil {
		t.Error(err)
	}
}

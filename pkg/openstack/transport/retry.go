package transport

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// outcome is the result of an attempt: an answer or an error.
type outcome struct {
	resp *http.Response
	sent bool
	err  error
}

// retryTransport repeats requests that can be repeated safely:
//
//	                        GET, token   DELETE   PUT              POST, PATCH
//	no connection           yes          yes      yes              yes
//	connection lost later   yes          yes      no               no
//	429                     yes          yes      yes              yes
//	503                     yes          yes      with Retry-After no
//	502, 504                yes          yes      no               no
//	any other status        no           no       no               no
//
// Octavia and Neutron limit their rate before they do any work. A proxy answers 502 and 504 after
// the service may have received the request.
//
// Each attempt needs its own slot. While a request waits to be repeated, others use the slot.
type retryTransport struct {
	exchange *exchange
	limiter  *limiter.Limiter
	policy   RetryPolicy
	clock    clock.Clock
	metrics  *Metrics
	// jitter returns a random part of a duration.
	jitter func(time.Duration) time.Duration
	// drain delays the end of the process for pending creations.
	drain *drain
}

// fullJitter returns a random duration up to limit.
func fullJitter(limit time.Duration) time.Duration {
	if limit <= 0 {
		return 0
	}
	return time.Duration(rand.Int64N(int64(limit)))
}

// RoundTrip sends the request as often as the table above permits, and returns the last answer, or
// a NoAnswerError.
func (t *retryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	kind := rest.KindOf(req.Method, req.URL.Path)
	var (
		out      outcome
		sent     bool
		attempts int
		started  time.Time
	)
	for again := true; again; again = t.again(req, kind, out, attempts, started) {
		queued := telemetry.In(req.Context(), telemetry.Queue)
		slot, err := t.limiter.Acquire(req, kind)
		queued()
		switch {
		case err == nil && attempts == 0:
			started = t.clock.Now()
		case err == nil:
			t.metrics.retried(kind)
		case attempts == 0:
			return nil, &apierror.NoAnswerError{Service: kind.Service, Method: req.Method, Err: err}
		default: // the result of the last attempt is more useful than the missing next one
			return result(req, kind, out, sent, attempts)
		}
		attempts++
		out = t.admit(req, kind, attempts)
		slot.Release(req.Context(), limiter.Outcome{Response: out.resp, Err: out.err})
		sent = sent || out.sent
	}
	return result(req, kind, out, sent, attempts)
}

// result returns the outcome of the last attempt. sent covers all attempts.
func result(req *http.Request, kind rest.Kind, out outcome, sent bool, attempts int) (*http.Response, error) {
	if out.err != nil {
		return nil, &apierror.NoAnswerError{Service: kind.Service, Method: req.Method, Sent: sent, Attempts: attempts, Err: out.err}
	}
	return out.resp, nil
}

// again reports whether to repeat the request, after waiting for the delay.
func (t *retryTransport) again(req *http.Request, kind rest.Kind, out outcome, attempts int, started time.Time) bool {
	delay, again := t.next(req, kind, out, attempts, started)
	if !again {
		return false
	}
	klog.FromContext(req.Context()).V(4).Info("Repeating OpenStack request", "request", kind.Name,
		"attempt", attempts, "after", delay, "status", out.status(), "err", out.err)
	return t.wait(req.Context(), delay)
}

// admit sends the request once, unless it would create an object while the process ends.
func (t *retryTransport) admit(req *http.Request, kind rest.Kind, attempt int) outcome {
	if !kind.Creates(req.Method) {
		return t.try(req, kind, attempt)
	}
	if !t.drain.begin() {
		return outcome{err: ErrDraining}
	}
	defer t.drain.end()
	return t.try(req, kind, attempt)
}

// try sends the request once, with its own body.
func (t *retryTransport) try(req *http.Request, kind rest.Kind, attempt int) outcome {
	defer telemetry.In(req.Context(), partOf(kind))()
	if attempt > 1 && rest.HasBody(req) {
		body, err := req.GetBody()
		if err != nil {
			return outcome{err: fmt.Errorf("read the request's body again: %w", err)}
		}
		req = req.WithContext(req.Context())
		req.Body = body
	} else if rest.HasBody(req) {
		// The base closes its body; the original is closed at the end.
		req = req.WithContext(req.Context())
		req.Body = io.NopCloser(req.Body)
	}
	resp, sent, err := t.exchange.do(req)
	return outcome{resp: resp, sent: sent, err: err}
}

// partOf returns the part of the time to which an attempt counts.
func partOf(kind rest.Kind) telemetry.Part {
	if kind.Service == rest.Octavia {
		return telemetry.Octavia
	}
	return telemetry.OpenStack
}

func (o outcome) status() int {
	if o.resp == nil {
		return 0
	}
	return o.resp.StatusCode
}

// next returns whether to repeat the request, and the delay.
func (t *retryTransport) next(req *http.Request, kind rest.Kind, out outcome, attempt int, started time.Time) (time.Duration, bool) {
	ctx := req.Context()
	now := t.clock.Now()
	switch {
	case attempt >= t.policy.Attempts, now.Sub(started) >= t.policy.Budget, ctx.Err() != nil,
		rest.HasBody(req) && req.GetBody == nil,
		!mayRepeat(req.Method, kind, out):
		return 0, false
	}
	limit := min(t.policy.BaseDelay<<(attempt-1), t.policy.MaxDelay)
	delay := t.jitter(limit)
	if out.resp != nil {
		if asked, ok := apierror.RetryAfterHeader(out.resp.Header, now); ok {
			if asked > t.policy.MaxRetryAfter {
				return 0, false
			}
			delay = asked + t.jitter(t.policy.BaseDelay)
		}
	}
	if deadline, ok := ctx.Deadline(); ok && now.Add(delay).After(deadline) {
		return 0, false
	}
	return delay, true
}

// mayRepeat reports whether the table of retryTransport permits another attempt.
func mayRepeat(method string, kind rest.Kind, out outcome) bool {
	safe := !rest.IsWrite(method) || method == http.MethodDelete || kind.Class == rest.Token
	if out.err != nil {
		return (safe || !out.sent) && !apierror.IsPermanent(out.err)
	}
	switch out.resp.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusServiceUnavailable:
		return safe || method == http.MethodPut && out.resp.Header.Get("Retry-After") != ""
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return safe
	}
	return false
}

// wait returns false when the context ended first.
func (t *retryTransport) wait(ctx context.Context, delay time.Duration) bool {
	defer telemetry.In(ctx, telemetry.Queue)()
	timer := t.clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

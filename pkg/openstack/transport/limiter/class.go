package limiter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// LongestPause is the maximum time for which one answer can pause a class.
const LongestPause = 5 * time.Minute

// The reasons for a lower limit, in addition to status codes: values of the label "reason".
const (
	reasonNoAnswer   = "no_answer"
	reasonLatency    = "latency"
	reasonRetryAfter = "retry_after"
)

// classLimiter limits one class of requests. It has no goroutine: its waiters watch the time.
type classLimiter struct {
	class   rest.Class
	clock   clock.Clock
	metrics *Metrics

	mu       sync.Mutex
	aimd     aimd
	failures failures
	inFlight int
	waiting  waitQueue
	// resumes is the end of a pause, zero without one.
	resumes time.Time
}

// Slot is the permission for one request. Nil is that of a class without a limit.
type Slot struct {
	class   *classLimiter
	kind    string
	content fingerprint
	// epoch is the backoffEpoch in which the slot was granted.
	epoch   int
	started time.Time
}

func newClassLimiter(class rest.Class, b bounds, clk clock.Clock, metrics *Metrics) *classLimiter {
	l := &classLimiter{class: class, clock: clk, metrics: metrics, aimd: newAIMD(b)}
	l.report()
	return l
}

// acquire waits for a slot. The error is that of the context.
func (l *classLimiter) acquire(ctx context.Context, kind string, priority Priority) (*Slot, error) {
	arrived := l.clock.Now()
	l.mu.Lock()
	w := l.waiting.push(priority)
	l.dispatch()
	l.mu.Unlock()
	if err := l.wait(ctx, w); err != nil {
		return nil, fmt.Errorf("still waiting behind other requests (%s): %w", l.class, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	started := l.clock.Now()
	l.metrics.waited(l.class, started.Sub(arrived))
	return &Slot{class: l, kind: kind, epoch: l.aimd.backoffEpoch, started: started}, nil
}

// wait returns when the waiter has a slot, or with the context's error.
func (l *classLimiter) wait(ctx context.Context, w *waiter) error {
	for {
		pause := l.startPause()
		select {
		case <-w.granted:
		case <-w.look:
			pause.stop()
			continue
		case <-pause.over():
			l.endPause(pause.until)
			continue
		case <-ctx.Done():
			pause.stop()
			l.abandon(w)
			return ctx.Err()
		}
		pause.stop()
		return nil
	}
}

// abandon removes a waiter from the queue, or returns the slot that it has just received.
func (l *classLimiter) abandon(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-w.granted:
		l.inFlight--
	default:
		l.waiting.remove(w)
	}
	l.dispatch()
}

// dispatch grants the free slots to the waiters. In a pause, it makes sure that one of them watches
// the time. The lock is held.
func (l *classLimiter) dispatch() {
	defer l.report()
	if l.paused() {
		if w := l.waiting.first(); w != nil {
			select {
			case w.look <- struct{}{}:
			default:
			}
		}
		return
	}
	for l.inFlight < l.aimd.limit {
		w := l.waiting.pop()
		if w == nil {
			return
		}
		l.inFlight++
		close(w.granted)
	}
	l.aimd.reached = true
}

// report sets the metrics of the queue and the limit.
func (l *classLimiter) report() {
	l.metrics.limited(l.class, l.waiting.length, l.aimd.limit)
}

// Release returns the slot. The outcome of the attempt adapts the limit.
func (s *Slot) Release(ctx context.Context, out Outcome) {
	if s == nil {
		return
	}
	if reason, limit := s.settle(out); reason != "" {
		klog.FromContext(ctx).V(2).Info("Fewer OpenStack requests at a time",
			"class", s.class.class, "limit", limit, "reason", reason)
	}
}

// settle returns the slot. It returns the new limit, and the reason if it was halved.
func (s *Slot) settle(out Outcome) (reason string, limit int) {
	l := s.class
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.dispatch()
	l.inFlight--
	now := l.clock.Now()
	if asked, ok := pauseAsked(out, now); ok {
		l.pause(now.Add(min(asked, LongestPause)))
	}
	if reason = s.adapt(out, now.Sub(s.started)); reason != "" {
		l.metrics.throttled(l.class, reason)
	}
	return reason, l.aimd.limit
}

// adapt changes the limit by the outcome of a request, and returns the reason if it was halved. A
// request that its caller canceled proves nothing.
func (s *Slot) adapt(out Outcome, took time.Duration) string {
	a := &s.class.aimd
	bad, known := overloadSign(out)
	if !known || s.class.failures.repeated(s.content, out) {
		return ""
	}
	if bad == "" && out.status() < http.StatusBadRequest && a.slow(s.kind, took, s.epoch) {
		bad = reasonLatency
	}
	if bad == "" {
		a.success(s.epoch)
		return ""
	}
	if !a.backOff(s.epoch) {
		return ""
	}
	return bad
}

// overloadSign returns the reason if an outcome is a sign of an overloaded service, else "". known
// is false if the attempt proves nothing: the caller canceled it, or it failed for a local reason.
func overloadSign(out Outcome) (reason string, known bool) {
	if out.Err != nil {
		ended := errors.Is(out.Err, context.Canceled) || errors.Is(out.Err, context.DeadlineExceeded)
		return reasonNoAnswer, !ended && !apierror.IsPermanent(out.Err)
	}
	switch status := out.status(); status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return strconv.Itoa(status), true
	}
	return "", true
}

// pauseAsked returns the pause that the service requests.
func pauseAsked(out Outcome, now time.Time) (time.Duration, bool) {
	switch out.status() {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		asked, ok := apierror.RetryAfterHeader(out.Response.Header, now)
		return asked, ok && asked > 0
	}
	return 0, false
}

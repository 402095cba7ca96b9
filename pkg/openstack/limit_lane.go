package openstack

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
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// longestPause bounds the time that one answer can stop a class for.
const longestPause = 5 * time.Minute

// The reasons for fewer requests, beside the status codes: values of the label
// "reason".
const (
	reasonNoAnswer   = "no_answer"
	reasonLatency    = "latency"
	reasonRetryAfter = "retry_after"
)

// lane is what is limited together: a class of requests. It has no goroutine of
// its own; who waits in it keeps the time.
type lane struct {
	class   request.Class
	clock   clock.Clock
	metrics *Metrics

	mu       sync.Mutex
	adaptive adaptive
	broken   broken
	inFlight int
	waiting  queue
	// resumes is when a pause ends, zero without one.
	resumes time.Time
}

// place is the right to have one request in flight. Nil is the right of a class
// without a limit.
type place struct {
	lane *lane
	kind string
	// asked is the content of the request.
	asked content
	// cuts is what adaptive.cuts was when the place was granted.
	cuts    int
	started time.Time
}

func newLane(class request.Class, b bounds, now clock.Clock, metrics *Metrics) *lane {
	l := &lane{class: class, clock: now, metrics: metrics, adaptive: newAdaptive(b)}
	l.report()
	return l
}

// enter waits for a place. The error is that of the context.
func (l *lane) enter(ctx context.Context, kind string, priority Priority) (*place, error) {
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
	return &place{lane: l, kind: kind, cuts: l.adaptive.cuts, started: started}, nil
}

// wait returns when the waiter has a place, or with the context's error.
func (l *lane) wait(ctx context.Context, w *waiter) error {
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

// abandon takes a waiter out of the lane, or gives back the place that it has got
// in the same moment.
func (l *lane) abandon(w *waiter) {
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

// dispatch gives the free places to those who wait. In a pause it makes sure that
// one of them keeps the time. The lock is held.
func (l *lane) dispatch() {
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
	for l.inFlight < l.adaptive.limit {
		w := l.waiting.pop()
		if w == nil {
			return
		}
		l.inFlight++
		close(w.granted)
	}
	l.adaptive.full = true
}

// report shows queue and limit in the metrics.
func (l *lane) report() {
	l.metrics.paced(l.class, l.waiting.length, l.adaptive.limit)
}

// leave gives the place back. What became of the attempt decides how many may be
// in flight from now on.
func (p *place) leave(ctx context.Context, out outcome) {
	if p == nil {
		return
	}
	if reason, limit := p.settle(out); reason != "" {
		klog.FromContext(ctx).V(2).Info("Fewer OpenStack requests at a time",
			"class", p.lane.class, "limit", limit, "reason", reason)
	}
}

// settle gives the place back, and the limit from now on with the reason if it was
// cut.
func (p *place) settle(out outcome) (reason string, limit int) {
	l := p.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.dispatch()
	l.inFlight--
	now := l.clock.Now()
	if asked, ok := pauseAsked(out, now); ok {
		l.pause(now.Add(min(asked, longestPause)))
	}
	if reason = p.judge(out, now.Sub(p.started)); reason != "" {
		l.metrics.throttled(l.class, reason)
	}
	return reason, l.adaptive.limit
}

// judge adapts the limit to the outcome of a request. It gives the reason if the
// limit was cut. The caller's own end of the request says nothing.
func (p *place) judge(out outcome, took time.Duration) string {
	a := &p.lane.adaptive
	bad, known := badSign(out)
	if !known || p.lane.broken.again(p.asked, out) {
		return ""
	}
	if bad == "" && out.status() < http.StatusBadRequest && a.slow(p.kind, took, p.cuts) {
		bad = reasonLatency
	}
	if bad == "" {
		a.answered(p.cuts)
		return ""
	}
	if !a.cut(p.cuts) {
		return ""
	}
	return bad
}

// badSign tells why an outcome is one of an overloaded service, "" when it is not.
// Not known is an attempt that does not tell: the caller ended it, or it failed for
// a reason of our own.
func badSign(out outcome) (reason string, known bool) {
	if out.err != nil {
		ended := errors.Is(out.err, context.Canceled) || errors.Is(out.err, context.DeadlineExceeded)
		return reasonNoAnswer, !ended && !apierror.IsPermanent(out.err)
	}
	switch status := out.status(); status {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return strconv.Itoa(status), true
	}
	return "", true
}

// pauseAsked reads how long the service wants to be left alone.
func pauseAsked(out outcome, now time.Time) (time.Duration, bool) {
	switch out.status() {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		asked, ok := apierror.RetryAfterHeader(out.resp.Header, now)
		return asked, ok && asked > 0
	}
	return 0, false
}

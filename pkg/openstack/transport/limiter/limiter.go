// Package limiter bounds the requests to OpenStack that are in flight at a time. Each
// class of requests has an AIMD concurrency limit of its own: it grows by one after a
// window of good answers (additive increase) and is halved on a sign of overload
// (multiplicative decrease). Requests beyond the limit wait in a queue, by priority,
// and a Retry-After pauses the whole class.
package limiter

import (
	"net/http"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// Limiter lets a limited number of requests of each class through at a time. A nil
// Limiter lets all through. It is safe for concurrent use.
type Limiter struct {
	classes map[request.Class]*classLimiter
}

// New returns a limiter that starts with these limits, which have their defaults. The
// metrics may be nil.
func New(limits Limits, clk clock.Clock, metrics *Metrics) *Limiter {
	l := &Limiter{classes: map[request.Class]*classLimiter{}}
	for class, b := range limits.byClass() {
		l.classes[class] = newClassLimiter(class, b, clk, metrics)
	}
	return l
}

// Acquire waits for a slot for one attempt at the request. The slot, nil for a class
// without a limit, has to be released whatever becomes of the attempt. The error is that
// of the request's context; the request was not sent then.
func (l *Limiter) Acquire(req *http.Request, kind request.Kind) (*Slot, error) {
	if l == nil {
		return nil, nil
	}
	class, limited := l.classes[kind.Class]
	if !limited {
		return nil, nil
	}
	slot, err := class.acquire(req.Context(), kind.Name, priorityOf(req, kind))
	if slot != nil {
		slot.content = fingerprintOf(req)
	}
	return slot, err
}

// Outcome is what became of an attempt: an answer or an error.
type Outcome struct {
	// Response is nil when there was no answer.
	Response *http.Response
	Err      error
}

// status returns the status of the answer, 0 without one.
func (o Outcome) status() int {
	if o.Response == nil {
		return 0
	}
	return o.Response.StatusCode
}

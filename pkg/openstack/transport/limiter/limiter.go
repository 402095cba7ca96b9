// Package limiter limits the concurrent requests to OpenStack. Each class of requests has its own
// AIMD concurrency limit: it grows by one after a window of good answers (additive increase) and is
// halved on a sign of overload (multiplicative decrease). Further requests wait in a priority
// queue, and a Retry-After pauses the whole class.
package limiter

import (
	"net/http"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// Limiter admits a limited number of concurrent requests of each class. A nil Limiter admits all.
// It is safe for concurrent use.
type Limiter struct {
	classes map[rest.Class]*classLimiter
}

// New returns a limiter with these limits; zero fields take their defaults. The metrics may be nil.
func New(limits Limits, clk clock.Clock, metrics *Metrics) *Limiter {
	l := &Limiter{classes: map[rest.Class]*classLimiter{}}
	for class, b := range limits.byClass() {
		l.classes[class] = newClassLimiter(class, b, clk, metrics)
	}
	return l
}

// Acquire waits for a slot for one attempt of the request. The caller must release the slot, which
// is nil for a class without a limit, after the attempt. After an error, which is that of the
// request's context, the request must not be sent.
func (l *Limiter) Acquire(req *http.Request, kind rest.Kind) (*Slot, error) {
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

// Outcome is the result of an attempt: an answer or an error.
type Outcome struct {
	// Response is nil without an answer.
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

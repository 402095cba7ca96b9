package dispatch

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// ErrTimeout is the cause of a context's end if its round has exceeded Options.Timeout.
var ErrTimeout = errors.New("reconcile timeout exceeded")

// patient ends a round when it has exceeded Options.Timeout, unless stop is called before. The wait
// for its turn does not count: Octavia creates five thousand load balancers in more than an hour,
// and a round that gives up its turn must wait for another. But a round that has waited for so long
// ends if its Service has changed meanwhile, or is deleted.
func (d *Dispatcher) patient(t *task, watch *telemetry.Watch) (stop func()) {
	var timer *time.Timer
	timer = time.AfterFunc(math.MaxInt64, func() {
		times := watch.Times()
		left := d.options.Timeout - (times.Sum() - times[telemetry.Queue])
		if left <= 0 || d.outdated(t) {
			t.cancel(ErrTimeout)
		} else if t.ctx.Err() == nil {
			timer.Reset(left)
		}
	})
	timer.Reset(d.options.Timeout) // set here, because the function uses the timer
	return func() { timer.Stop() }
}

// outdated reports whether a request for another state of the Service is queued behind a round.
func (d *Dispatcher) outdated(t *task) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := d.lines[string(t.request.Service.UID)]
	return len(line) > 1 && slices.ContainsFunc(line[1:], func(behind *task) bool {
		return behind.request.Operation == Ensure || behind.request.Operation == Delete
	})
}

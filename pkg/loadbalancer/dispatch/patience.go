package dispatch

import (
	"errors"
	"math"
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
		d.mu.Lock()
		t.late = true // from now on, submit ends it
		outdated := d.lines.outdated(t)
		d.mu.Unlock()
		if left <= 0 || outdated {
			t.cancel(ErrTimeout)
		} else if t.ctx.Err() == nil {
			timer.Reset(max(left, time.Second)) // it may wait for its turn for long with little left
		}
	})
	timer.Reset(d.options.Timeout) // set here, because the function uses the timer
	return func() { timer.Stop() }
}

package dispatch

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/stopwatch"
)

// ErrTimeout is the cause of the end of a round's context when the round has taken longer
// than Options.Timeout.
var ErrTimeout = errors.New("reconcile timeout exceeded")

// patient returns a context for a round that ends when the round has taken longer than
// Options.Timeout. What it waits for its turn does not count: Octavia makes five thousand load
// balancers in more than an hour, and a round that gives its turn up has to wait for another, or, where
// its creation has been sent, to look for what has become of it. But one that has waited for long is
// ended where the Service asks for something else by now, or is deleted.
func (d *Dispatcher) patient(ctx context.Context, key string) (with context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ctx, watch := stopwatch.Start(ctx, d.options.Clock)
	var timer *time.Timer
	timer = time.AfterFunc(math.MaxInt64, func() {
		times := watch.Times()
		left := d.options.Timeout - (times.Sum() - times[stopwatch.Queue])
		if left <= 0 || d.actors.Behind(key, changed) {
			cancel(ErrTimeout)
		}
		if ctx.Err() == nil {
			timer.Reset(left)
		}
	})
	timer.Reset(d.options.Timeout) // not before: the function has the timer now
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// changed reports whether a request that waits behind a round is one for another state of the Service.
func changed(r Request) bool { return r.Operation == Ensure || r.Operation == Delete }

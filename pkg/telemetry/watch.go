package telemetry

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Part is a part of the time of a piece of work.
type Part int

// The parts of a piece of work.
const (
	// Controller is the rest: the work of this process.
	Controller Part = iota
	// Queue is the wait for other work in this process, or for a limit of requests.
	Queue
	// OpenStack is the wait for answers of other services than Octavia.
	OpenStack
	// Octavia is the wait for answers of Octavia, and for its work between them.
	Octavia

	parts
)

// Parts returns all parts.
func Parts() []Part { return []Part{Controller, Queue, OpenStack, Octavia} }

// String returns the value of the metrics' label.
func (p Part) String() string { return [...]string{"controller", "queue", "openstack", "octavia"}[p] }

// Times are the durations of each part.
type Times [parts]time.Duration

// Plus returns the sums.
func (t Times) Plus(other Times) Times {
	for part := range t {
		t[part] += other[part]
	}
	return t
}

// Sum returns the whole time.
func (t Times) Sum() time.Duration {
	var sum time.Duration
	for _, part := range t {
		sum += part
	}
	return sum
}

// Watch measures one piece of work. Its methods may be called from many goroutines.
type Watch struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	active [parts]int
	since  time.Time // the end of the counted time
	times  Times
}

// watchKey is that of a context for its Watch.
type watchKey struct{}

// Measure returns a context with a Watch, which measures the work in that context. It is the Watch
// of the given context, or a new one.
func Measure(ctx context.Context, clk clock.PassiveClock) (context.Context, *Watch) {
	if w, ok := ctx.Value(watchKey{}).(*Watch); ok {
		return ctx, w
	}
	w := &Watch{clock: clk, since: clk.Now()}
	return context.WithValue(ctx, watchKey{}, w), w
}

// In counts the time until out is called for a part. Without a Watch in the context it does nothing.
func In(ctx context.Context, part Part) (out func()) {
	w, ok := ctx.Value(watchKey{}).(*Watch)
	if !ok {
		return func() {}
	}
	w.enter(part, 1)
	return func() { w.enter(part, -1) }
}

// Times returns the durations until now.
func (w *Watch) Times() Times {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count()
	return w.times
}

func (w *Watch) enter(part Part, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count()
	w.active[part] += by
}

// count adds the time since the last change. The lock is held.
func (w *Watch) count() {
	now, in := w.clock.Now(), Controller
	for part, active := range w.active {
		if active > 0 {
			in = Part(part)
		}
	}
	w.times[in] += now.Sub(w.since)
	w.since = now
}

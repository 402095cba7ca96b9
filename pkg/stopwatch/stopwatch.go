package stopwatch

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Part is a kind of use of time.
type Part int

// The parts of a piece of work.
const (
	// Controller is the time in none of the other parts: this process works.
	Controller Part = iota
	// Queue is the wait for other work, in this process or before a limit of requests.
	Queue
	// OpenStack is the wait for answers of services other than Octavia.
	OpenStack
	// Octavia is the wait for answers of Octavia, and for its work between them.
	Octavia

	parts
)

// Parts returns all parts.
func Parts() []Part { return []Part{Controller, Queue, OpenStack, Octavia} }

// String returns the part as a label of a metric.
func (p Part) String() string { return [...]string{"controller", "queue", "openstack", "octavia"}[p] }

// Times has the duration of each part.
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
	since  time.Time // the time until which times are complete
	times  Times
}

// key is that of a context for its Watch.
type key struct{}

// Start returns a context with a Watch, and the Watch. If the context has one already, it returns
// that.
func Start(ctx context.Context, clk clock.PassiveClock) (context.Context, *Watch) {
	if w, ok := ctx.Value(key{}).(*Watch); ok {
		return ctx, w
	}
	w := &Watch{clock: clk, since: clk.Now()}
	return context.WithValue(ctx, key{}, w), w
}

// In counts the time of the work of a context for a part until out is called. Without a Watch it
// does nothing.
func In(ctx context.Context, part Part) (out func()) {
	w, ok := ctx.Value(key{}).(*Watch)
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

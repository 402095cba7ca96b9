package stopwatch

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Part is where time goes.
type Part int

// The parts of a piece of work.
const (
	// Controller is what is in none of the others: this process at work.
	Controller Part = iota
	// Queue is the wait for other work, in this process or before a limit of requests.
	Queue
	// OpenStack is the wait for answers of other services than Octavia.
	OpenStack
	// Octavia is the wait for answers of Octavia, and for what it does between them.
	Octavia

	parts
)

// Parts returns all parts.
func Parts() []Part { return []Part{Controller, Queue, OpenStack, Octavia} }

// String returns the part as the label of a metric has it.
func (p Part) String() string { return [...]string{"controller", "queue", "openstack", "octavia"}[p] }

// Times are how long a piece of work was in each part.
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
	since  time.Time // of what is counted in times
	times  Times
}

// key is that of a context for its Watch.
type key struct{}

// Start returns a Watch of the work that is done with the context that it returns: the one that the
// context has, if any, else a new one.
func Start(ctx context.Context, clk clock.PassiveClock) (context.Context, *Watch) {
	if w, ok := ctx.Value(key{}).(*Watch); ok {
		return ctx, w
	}
	w := &Watch{clock: clk, since: clk.Now()}
	return context.WithValue(ctx, key{}, w), w
}

// In says that the work of a context is in a part until out is called. Without a Watch it does
// nothing.
func In(ctx context.Context, part Part) (out func()) {
	w, ok := ctx.Value(key{}).(*Watch)
	if !ok {
		return func() {}
	}
	w.enter(part, 1)
	return func() { w.enter(part, -1) }
}

// Times returns how long the work was in each part until now.
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

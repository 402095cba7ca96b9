package async

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Workers decides how long calls may hold the workers that make them. While workers
// are plentiful a call holds its own for MostHeld. When only a tenth is free, the
// group (a namespace) that holds most gives back first, and of its calls the one that
// has waited longest, but none before LeastHeld. Methods may be called from many
// goroutines.
type Workers struct {
	clock clock.WithTicker
	spare int // how many may be held; negative: any number

	mu    sync.Mutex
	calls int                // how many there ever were
	held  map[string][]*hold // by group, the oldest first; without those that are wanted back
	many  int                // how many held has
}

// The times that a call may hold its worker.
const (
	// MostHeld is longer than a load balancer takes to be made or deleted.
	MostHeld = 2 * time.Minute
	// LeastHeld lets even a single worker begin two pieces of work a second.
	LeastHeld = 500 * time.Millisecond
)

// hold is a worker that is held.
type hold struct {
	group  string
	call   int           // grows from hold to hold
	wanted chan struct{} // closed when the worker is wanted back
}

// NewWorkers returns Workers for so many; 0 and less: nobody counts them, and they are
// always plentiful.
func NewWorkers(workers int, clk clock.WithTicker) *Workers {
	spare := -1
	if workers > 0 {
		spare = workers - max(workers/10, 1)
	}
	return &Workers{clock: clk, spare: spare, held: map[string][]*hold{}}
}

// Hold counts a worker that a group holds from now on, for at most so long. The channel
// is closed when it is to be given back, and stays open once the context has ended;
// release says that it is back, and must be called.
func (w *Workers) Hold(ctx context.Context, group string, most time.Duration) (back <-chan struct{}, release func()) {
	h := w.add(group)
	ctx, end := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		if w.until(ctx, h, most) {
			close(over)
		}
	}()
	return over, func() {
		end()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.drop(h)
	}
}

func (w *Workers) add(group string) *hold {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	h := &hold{group: group, call: w.calls, wanted: make(chan struct{})}
	w.held[group] = append(w.held[group], h)
	w.many++
	if w.spare >= 0 && w.many > w.spare {
		longest := w.longest()
		close(longest.wanted)
		w.drop(longest)
	}
	return h
}

// longest returns the oldest hold of the group that has most; of several groups, the
// oldest of all.
func (w *Workers) longest() *hold {
	var most []*hold
	for _, group := range w.held {
		if len(group) > len(most) || len(group) == len(most) && group[0].call < most[0].call {
			most = group
		}
	}
	return most[0]
}

// drop forgets a hold, if it is not forgotten yet.
func (w *Workers) drop(h *hold) {
	group := w.held[h.group]
	i := slices.Index(group, h)
	if i < 0 {
		return
	}
	w.many--
	if len(group) == 1 {
		delete(w.held, h.group)
		return
	}
	w.held[h.group] = slices.Delete(group, i, i+1)
}

// until waits until a worker is to be given back. It is false when it is back before.
func (w *Workers) until(ctx context.Context, h *hold, most time.Duration) bool {
	least, longest := w.clock.NewTimer(min(LeastHeld, most)), w.clock.NewTimer(most)
	defer least.Stop()
	defer longest.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-longest.C():
		return true
	case <-h.wanted:
	}
	select {
	case <-ctx.Done():
		return false
	case <-least.C():
		return true
	}
}

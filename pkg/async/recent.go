package async

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Recent shares a value among callers for which it is young enough. The zero value is ready; methods
// may be called from many goroutines.
type Recent[T any] struct {
	reads Flight[T]

	mu    sync.Mutex
	value T
	// began is the time before the read of value, zero without one.
	began time.Time
}

// Get returns the last value if its read began at most age ago, else what read returns for the time
// at which it begins. Concurrent callers share one read (Flight). Errors are not kept.
func (r *Recent[T]) Get(ctx context.Context, clk clock.PassiveClock, age time.Duration, read func(context.Context, time.Time) (T, error)) (T, error) {
	r.mu.Lock()
	value, began := r.value, r.began
	r.mu.Unlock()
	if !began.IsZero() && clk.Since(began) <= age {
		return value, nil
	}
	return r.reads.Do(ctx, "", func(ctx context.Context) (T, error) {
		began := clk.Now()
		value, err := read(ctx, began)
		if err == nil {
			r.set(value, began)
		}
		return value, err
	})
}

// Last returns the last value; the zero value if there is none.
func (r *Recent[T]) Last() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.value
}

// Drop drops the value if its read began at this time, and keeps a newer one.
func (r *Recent[T]) Drop(began time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.began.Equal(began) {
		var none T
		r.value, r.began = none, time.Time{}
	}
}

func (r *Recent[T]) set(value T, began time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.value, r.began = value, began
}

// Wait returns when no read is pending.
func (r *Recent[T]) Wait() { r.reads.Wait() }

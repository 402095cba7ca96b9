package async

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// ErrWaiting is returned by work that waits: its Slot wakes its owner, who calls it again.
var ErrWaiting = errors.New("waiting")

// IsWaiting reports whether work waits and must be called again. Such an error is no failure.
func IsWaiting(err error) bool { return errors.Is(err, ErrWaiting) }

// Failure returns an error of work, and nil if the work waits.
func Failure(err error) error {
	if IsWaiting(err) {
		return nil
	}
	return err
}

// Slot holds the one wait of a piece of work between two calls of it. It is not for several goroutines.
type Slot struct {
	// Wake is called, at most once for each ErrWaiting, when the work can go on. It must not block.
	Wake func()

	key  string
	wait interface{ drop(err error) }
}

// slotKey is the key of a context for its Slot.
type slotKey struct{}

// WithSlot returns a context with which Await returns ErrWaiting where it would block.
func WithSlot(ctx context.Context, slot *Slot) context.Context {
	return context.WithValue(ctx, slotKey{}, slot)
}

// Clear ends the wait, if there is one.
func (s *Slot) Clear() {
	if s.wait != nil {
		s.wait.drop(context.Canceled)
	}
	s.key, s.wait = "", nil
}

// Future is a result that comes later. The zero value is not usable: see NewFuture.
type Future[T any] struct {
	// abandon ends the wait for the result, and returns the error to report instead of err. If it
	// is nil, err is reported.
	abandon func(err error) error
	leave   func() // ends the wait's part of the Watch

	mu    sync.Mutex
	done  chan struct{}
	wake  func()
	value T
	err   error
}

// NewFuture returns a Future without a result. Abandon, if it is not nil, is called when the wait
// ends before the result is taken.
func NewFuture[T any](abandon func(err error) error) *Future[T] {
	return &Future[T]{abandon: abandon, done: make(chan struct{})}
}

// Resolve sets the result. Only the first call has an effect.
func (f *Future[T]) Resolve(value T, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended() {
		return
	}
	f.value, f.err = value, err
	close(f.done)
	if f.wake != nil {
		f.wake()
	}
}

func (f *Future[T]) ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// notify registers wake, which is called with the result. It returns false if the result exists.
func (f *Future[T]) notify(wake func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wake = wake
	return !f.ended()
}

// end returns the result, or the error of an abandoned wait.
func (f *Future[T]) end(err error) (T, error) {
	f.mu.Lock()
	f.wake = nil
	ended := f.ended()
	f.mu.Unlock()
	f.leave()
	if ended {
		return f.value, f.err
	}
	var none T
	if f.abandon != nil {
		err = f.abandon(err)
	}
	return none, err
}

// drop ends the wait, and gives up the result if it exists.
func (f *Future[T]) drop(err error) {
	f.mu.Lock()
	f.wake = nil
	f.mu.Unlock()
	f.leave()
	if f.abandon != nil {
		_ = f.abandon(err)
	}
}

// Await returns the result of the work that begin starts. If the context has a Slot (WithSlot), it
// returns ErrWaiting until the result exists; the next call with the same key then gets it. Without
// a Slot it blocks. The error is that of the result, or the context's. The time counts as part.
func Await[T any](ctx context.Context, part telemetry.Part, key string, begin func() *Future[T]) (T, error) {
	slot, _ := ctx.Value(slotKey{}).(*Slot)
	if slot == nil {
		f := begin()
		f.leave = telemetry.In(ctx, part)
		select {
		case <-f.done:
		case <-ctx.Done():
		}
		return f.end(ctx.Err())
	}
	f, begun := resumed[T](ctx, key)
	if !begun {
		slot.Clear()
		f = begin()
		f.leave = telemetry.In(ctx, part)
		slot.key, slot.wait = key, f
	}
	if ctx.Err() != nil || !f.notify(slot.Wake) {
		slot.key, slot.wait = "", nil
		return f.end(ctx.Err())
	}
	var none T
	return none, ErrWaiting
}

// resumed returns the Future with a key that the work of a context waits for.
func resumed[T any](ctx context.Context, key string) (f *Future[T], ok bool) {
	slot, _ := ctx.Value(slotKey{}).(*Slot)
	if slot == nil || slot.key != key {
		return nil, false
	}
	f, ok = slot.wait.(*Future[T])
	return f, ok
}

// Sleep waits for some time, as Await does. Key distinguishes it from the other waits of the work.
func Sleep(ctx context.Context, clk clock.WithDelayedExecution, part telemetry.Part, key string, d time.Duration) error {
	_, err := Await(ctx, part, "sleep "+key, func() *Future[struct{}] {
		var timer clock.Timer
		f := NewFuture[struct{}](func(err error) error {
			timer.Stop()
			return err
		})
		timer = clk.AfterFunc(d, func() { f.Resolve(struct{}{}, nil) })
		return f
	})
	return err
}

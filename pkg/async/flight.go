package async

import (
	"context"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Flight shares reads among concurrent callers with the same key. Its zero value is ready; methods
// may be called from many goroutines.
type Flight[T any] struct {
	group singleflight.Group

	mu sync.Mutex
	// calls counts the reads without an answer, also those without a caller left. Idle is closed
	// when calls becomes 0; it is nil unless Wait needs it.
	calls int
	idle  chan struct{}
}

// Do returns the result of read for a key. Callers that come during a read of the same key share
// it. Read gets the values of the first caller's context, but not its end: a caller with an ended
// context gets the context's error, and the others get the result.
func (f *Flight[T]) Do(ctx context.Context, key string, read func(context.Context) (T, error)) (T, error) {
	f.count(1)
	defer telemetry.In(ctx, telemetry.OpenStack)()
	answer := f.group.DoChan(key, func() (any, error) { return read(context.WithoutCancel(ctx)) })
	select {
	case got := <-answer:
		f.count(-1)
		value, _ := got.Val.(T)
		return value, got.Err
	case <-ctx.Done():
		go func() {
			<-answer
			f.count(-1)
		}()
		var none T
		return none, ctx.Err()
	}
}

// Wait returns when no read is under way, including those without a caller left.
func (f *Flight[T]) Wait() {
	if idle := f.busy(); idle != nil {
		<-idle
	}
}

func (f *Flight[T]) count(by int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls += by; f.calls == 0 && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

// busy returns a channel that is closed when no read is under way; nil if none is now.
func (f *Flight[T]) busy() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls > 0 && f.idle == nil {
		f.idle = make(chan struct{})
	}
	return f.idle
}

package async

import (
	"context"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/openstack-ccm/openstack-ccm/pkg/stopwatch"
)

// Flight shares reads among the callers that ask for the same at the same time. Its zero
// value is ready; methods may be called from many goroutines.
type Flight[T any] struct {
	group singleflight.Group

	mu sync.Mutex
	// calls have no answer yet, also those of callers that have left. Idle is closed when
	// there are none any more; nil while nobody waits for that.
	calls int
	idle  chan struct{}
}

// Do returns what read returns for a key. While a read of the key is on its way, a further
// caller shares it. Read gets the values of the first caller's context, and not its end: a
// caller whose context ends gets the context's error, and the others get the answer.
func (f *Flight[T]) Do(ctx context.Context, key string, read func(context.Context) (T, error)) (T, error) {
	f.count(1)
	defer stopwatch.In(ctx, stopwatch.OpenStack)()
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

// Wait returns when no read is on its way any more, not even one whose callers have all left.
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

// busy returns what is closed when there are no calls any more; nil where there are none.
func (f *Flight[T]) busy() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls > 0 && f.idle == nil {
		f.idle = make(chan struct{})
	}
	return f.idle
}

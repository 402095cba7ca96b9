package async

import (
	"context"
	"sync"

	"golang.org/x/sync/singleflight"
)

// Flight shares reads among the callers that ask for the same at the same time. Its zero
// value is ready; methods may be called from many goroutines.
type Flight[T any] struct {
	group singleflight.Group
	under sync.WaitGroup // calls that have no answer yet, also of callers that have left
}

// Do returns what read returns for a key. While a read of the key is on its way, a further
// caller shares it. Read gets the values of the first caller's context, and not its end: a
// caller whose context ends gets the context's error, and the others get the answer.
func (f *Flight[T]) Do(ctx context.Context, key string, read func(context.Context) (T, error)) (T, error) {
	f.under.Add(1)
	answer := f.group.DoChan(key, func() (any, error) { return read(context.WithoutCancel(ctx)) })
	select {
	case got := <-answer:
		f.under.Done()
		value, _ := got.Val.(T)
		return value, got.Err
	case <-ctx.Done():
		go func() {
			<-answer
			f.under.Done()
		}()
		var none T
		return none, ctx.Err()
	}
}

// Wait returns when no read is on its way any more, not even one whose callers have all left.
func (f *Flight[T]) Wait() { f.under.Wait() }

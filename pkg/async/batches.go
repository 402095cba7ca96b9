package async

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Batches shares reads of many keys among concurrent callers: at any time there is one read, and the keys
// of all callers that come meanwhile are in the next one. Its zero value is ready; methods may be called
// from many goroutines.
type Batches[T any] struct {
	mu sync.Mutex
	// running is the present read, and next the one after it; nil for none.
	running, next *batch[T]
}

// batch is a read of many keys, in the context of its first caller. Its results are valid when done is
// closed.
type batch[T any] struct {
	keys  map[string]bool
	read  func(keys []string) (map[string]T, error)
	done  chan struct{}
	found map[string]T
	err   error
}

// Do returns the results of read for keys; it lacks those without a result. Read gets the keys of several
// callers, sorted, and the values of the first one's context, but not its end: a caller with an ended context
// gets the context's error, and the others get the results. All callers of one read get its error.
func (b *Batches[T]) Do(ctx context.Context, keys []string, read func(context.Context, []string) (map[string]T, error)) (map[string]T, error) {
	defer telemetry.In(ctx, telemetry.OpenStack)()
	found := map[string]T{}
	for _, one := range b.join(ctx, keys, read) {
		select {
		case <-one.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if one.err != nil {
			return nil, one.err
		}
		for _, key := range keys {
			if value, is := one.found[key]; is {
				found[key] = value
			}
		}
	}
	return found, nil
}

// join returns the reads that have some keys, and begins the first one.
func (b *Batches[T]) join(ctx context.Context, keys []string, read func(context.Context, []string) (map[string]T, error)) (awaited []*batch[T]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range keys {
		in := b.running
		if in == nil || !in.keys[key] {
			if b.next == nil {
				b.next = &batch[T]{keys: map[string]bool{}, done: make(chan struct{}), read: func(keys []string) (map[string]T, error) {
					return read(context.WithoutCancel(ctx), keys)
				}}
			}
			in = b.next
			in.keys[key] = true
		}
		if !slices.Contains(awaited, in) {
			awaited = append(awaited, in)
		}
	}
	if b.running == nil && b.next != nil {
		b.running, b.next = b.next, nil
		go b.work(b.running)
	}
	return awaited
}

// work reads a batch, and those after it.
func (b *Batches[T]) work(one *batch[T]) {
	for one != nil {
		one.found, one.err = one.read(slices.Sorted(maps.Keys(one.keys)))
		b.mu.Lock()
		close(one.done)
		b.running, b.next = b.next, nil
		one = b.running
		b.mu.Unlock()
	}
}

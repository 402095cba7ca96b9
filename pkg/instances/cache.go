package instances

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
)

// cache keeps answers of the cloud for a short while, and asks once for all who ask
// at the same time: the questions about one node in a row (exists? shut down?
// addresses?) cost one request, and so does a list that many nodes need. A
// refusal, and that a server is not there, are never kept.
type cache[T any] struct {
	clock  clock.PassiveClock
	age    time.Duration
	flight singleflight.Group

	mu      sync.Mutex
	entries map[string]entry[T]
}

type entry[T any] struct {
	value   T
	expires time.Time
}

func newCache[T any](clock clock.PassiveClock, age time.Duration) *cache[T] {
	return &cache[T]{clock: clock, age: age, entries: map[string]entry[T]{}}
}

// get returns the answer kept under the key, or fetches it. It must not be changed.
func (c *cache[T]) get(ctx context.Context, key string, fetch func(context.Context) (T, error)) (T, error) {
	var none T
	for {
		if value, ok := c.kept(key); ok {
			return value, nil
		}
		answer := c.flight.DoChan(key, func() (any, error) {
			value, err := fetch(ctx)
			if err == nil {
				c.keep(key, value)
			}
			return value, err
		})
		select {
		case <-ctx.Done():
			return none, ctx.Err()
		case result := <-answer:
			if result.Err == nil {
				value, _ := result.Val.(T)
				return value, nil
			}
			if ctx.Err() == nil && result.Shared && errors.Is(result.Err, context.Canceled) {
				continue // whoever asked for all of us has left
			}
			return none, result.Err
		}
	}
}

func (c *cache[T]) kept(key string) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.entries[key]
	if !ok || !c.clock.Now().Before(found.expires) {
		var none T
		return none, false
	}
	return found.value, true
}

func (c *cache[T]) keep(key string, value T) {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for old, kept := range c.entries {
		if !now.Before(kept.expires) {
			delete(c.entries, old)
		}
	}
	c.entries[key] = entry[T]{value: value, expires: now.Add(c.age)}
}

package instances

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// cache stores answers of the cloud for a short time, and merges concurrent requests. The
// consecutive calls for one node (exists, shut down, addresses) then cost one request, and so does
// a list that many nodes need. It does not store errors, nor that a server does not exist. The
// first caller's trace has the span of the request; the spans of the others have links to it.
type cache[T any] struct {
	name   string
	clock  clock.PassiveClock
	age    time.Duration
	flight singleflight.Group

	mu      sync.Mutex
	entries map[string]entry[T]
}

type entry[T any] struct {
	value   T
	span    trace.SpanContext
	expires time.Time
}

func newCache[T any](name string, clock clock.PassiveClock, age time.Duration) *cache[T] {
	return &cache[T]{name: name, clock: clock, age: age, entries: map[string]entry[T]{}}
}

// get returns the stored answer, or fetches it. Callers must not modify the answer.
func (c *cache[T]) get(ctx context.Context, key string, fetch func(context.Context) (T, error)) (T, error) {
	var none T
	for {
		if found, ok := c.kept(key); ok {
			telemetry.Link(ctx, found.span)
			return found.value, nil
		}
		answer := c.flight.DoChan(key, func() (any, error) {
			ctx, end := telemetry.Span(ctx, c.name)
			value, err := fetch(ctx)
			end(err)
			found := entry[T]{value: value, span: telemetry.Here(ctx)}
			if err == nil {
				c.keep(key, found)
			}
			return found, err
		})
		select {
		case <-ctx.Done():
			return none, ctx.Err()
		case result := <-answer:
			found, _ := result.Val.(entry[T])
			telemetry.Link(ctx, found.span)
			if result.Err == nil {
				return found.value, nil
			}
			if ctx.Err() == nil && result.Shared && errors.Is(result.Err, context.Canceled) {
				continue // the caller that fetched for all of us has gone
			}
			return none, result.Err
		}
	}
}

func (c *cache[T]) kept(key string) (entry[T], bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.entries[key]
	return found, ok && c.clock.Now().Before(found.expires)
}

func (c *cache[T]) keep(key string, found entry[T]) {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for old, kept := range c.entries {
		if !now.Before(kept.expires) {
			delete(c.entries, old)
		}
	}
	found.expires = now.Add(c.age)
	c.entries[key] = found
}

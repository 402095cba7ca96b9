package lookup

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
)

// cache stores answers for a limited time. It does not store errors.
type cache[T any] struct {
	clock clock.PassiveClock
	age   time.Duration
	reads async.Flight[T]
	many  async.Batches[T]
	// changes counts the stored and dropped entries.
	changes atomic.Uint64

	mu      sync.Mutex
	entries map[string]entry[T]
	// full is the number of entries at which expired ones are dropped.
	full int
}

type entry[T any] struct {
	value T
	until time.Time
}

func newCache[T any](clk clock.PassiveClock, age time.Duration) *cache[T] {
	return &cache[T]{clock: clk, age: age, entries: map[string]entry[T]{}}
}

// get returns the value of a key, or reads it. Concurrent callers share one read; a caller that
// gives up does not cancel it for the others.
func (c *cache[T]) get(ctx context.Context, key string, read func(context.Context, string) (T, error)) (T, error) {
	if value, ok := c.kept(key); ok {
		return value, nil
	}
	return c.reads.Do(ctx, key, func(ctx context.Context) (T, error) {
		value, err := read(ctx, key)
		if err == nil {
			c.keep(key, value)
		}
		return value, err
	})
}

// getMany returns the values of many keys, and reads the missing ones at once, together with those of
// concurrent callers: thousands of Services that begin together share some reads. The result lacks the
// keys without an answer.
func (c *cache[T]) getMany(ctx context.Context, keys []string, read func(context.Context, []string) (map[string]T, error)) (map[string]T, error) {
	found := map[string]T{}
	var missing []string
	for _, key := range keys {
		if value, ok := c.kept(key); ok {
			found[key] = value
		} else {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	answer, err := c.many.Do(ctx, missing, func(ctx context.Context, keys []string) (map[string]T, error) {
		answer, err := read(ctx, keys)
		if err == nil {
			for key, value := range answer {
				c.keep(key, value)
			}
		}
		return answer, err
	})
	if err != nil {
		return nil, err
	}
	maps.Copy(found, answer)
	return found, nil
}

func (c *cache[T]) kept(key string) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, ok := c.entries[key]
	if !ok || c.clock.Now().After(kept.until) {
		delete(c.entries, key)
		var none T
		return none, false
	}
	return kept.value, true
}

func (c *cache[T]) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes.Add(1)
	delete(c.entries, key)
}

// forgetOlder drops a value that was stored at least some time ago, and reports whether it did.
func (c *cache[T]) forgetOlder(key string, than time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, ok := c.entries[key]
	if !ok || kept.until.Sub(c.clock.Now()) > c.age-than {
		return false
	}
	c.changes.Add(1)
	delete(c.entries, key)
	return true
}

// keptUntil returns the time until which the values of all keys are valid. It returns false if one
// has expired or is missing.
func (c *cache[T]) keptUntil(keys []string) (until time.Time, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for _, key := range keys {
		kept, ok := c.entries[key]
		if !ok || now.After(kept.until) {
			return time.Time{}, false
		}
		if until.IsZero() || kept.until.Before(until) {
			until = kept.until
		}
	}
	return until, len(keys) > 0
}

func (c *cache[T]) keep(key string, value T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, value, c.clock.Now())
}

// keepNewer stores a value unless a newer one is stored.
func (c *cache[T]) keepNewer(key string, value T, newer func(a, b T) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	if kept, ok := c.entries[key]; ok && !now.After(kept.until) && newer(kept.value, value) {
		value = kept.value
	}
	c.put(key, value, now)
}

// put stores a value, and drops expired entries from time to time, because some keys are never read
// again, such as the ports of a deleted server. The number of entries is at most twice the number
// of valid ones, or a small constant.
func (c *cache[T]) put(key string, value T, now time.Time) {
	c.changes.Add(1)
	c.entries[key] = entry[T]{value, now.Add(c.age)}
	if len(c.entries) <= c.full {
		return
	}
	for other, e := range c.entries {
		if now.After(e.until) {
			delete(c.entries, other)
		}
	}
	const few = 32
	c.full = max(few, 2*len(c.entries))
}

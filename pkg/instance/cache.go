package instance

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// cache keeps servers that were found, for a short while, so that upstream's
// questions about one node in a row (exists? shut down? addresses?) cost one
// request, and asks once for all who ask at the same time. That something is not
// there is never kept.
type cache struct {
	clock  clock.PassiveClock
	age    time.Duration
	flight singleflight.Group

	mu      sync.Mutex
	entries map[string]entry
}

type entry struct {
	server  *openstack.Server
	expires time.Time
}

func newCache(clock clock.PassiveClock, age time.Duration) *cache {
	return &cache{clock: clock, age: age, entries: map[string]entry{}}
}

// get gives the server kept under the key, or fetches it. Nobody may change it.
func (c *cache) get(ctx context.Context, key string, fetch func(context.Context) (*openstack.Server, error)) (*openstack.Server, error) {
	for {
		if server := c.kept(key); server != nil {
			return server, nil
		}
		answer := c.flight.DoChan(key, func() (any, error) {
			server, err := fetch(ctx)
			if err == nil {
				c.keep(key, server)
			}
			return server, err
		})
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case result := <-answer:
			if result.Err == nil {
				server, _ := result.Val.(*openstack.Server)
				return server, nil
			}
			if ctx.Err() == nil && result.Shared && errors.Is(result.Err, context.Canceled) {
				continue // whoever asked for all of us has left
			}
			return nil, result.Err
		}
	}
}

func (c *cache) kept(key string) *openstack.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.entries[key]; ok && c.clock.Now().Before(found.expires) {
		return found.server
	}
	return nil
}

func (c *cache) keep(key string, server *openstack.Server) {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for old, kept := range c.entries {
		if !now.Before(kept.expires) {
			delete(c.entries, old)
		}
	}
	c.entries[key] = entry{server: server, expires: now.Add(c.age)}
}

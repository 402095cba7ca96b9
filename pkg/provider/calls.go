package provider

import (
	"context"
	"fmt"
	"sync"
)

// calls ties the calls of upstream's controllers, some of which come with a
// context that never ends, to the life of the process.
type calls struct {
	process context.Context
	stop    context.CancelFunc

	mu       sync.Mutex
	draining bool
	running  sync.WaitGroup
}

func newCalls(ctx context.Context) *calls {
	process, stop := context.WithCancel(ctx)
	return &calls{process: process, stop: stop}
}

// begin gives a call a context that also ends with the process. When the error is
// nil, the call must be ended with end.
func (c *calls) begin(ctx context.Context) (tied context.Context, end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining || c.process.Err() != nil {
		return nil, nil, ErrStopping
	}
	c.running.Add(1)
	tied, cancel := context.WithCancel(ctx)
	untie := context.AfterFunc(c.process, cancel)
	return tied, func() {
		untie()
		cancel()
		c.running.Done()
	}, nil
}

// drain ends all calls and waits for them.
func (c *calls) drain(ctx context.Context) error {
	c.mu.Lock()
	c.draining = true
	c.mu.Unlock()
	c.stop()
	idle := make(chan struct{})
	go func() {
		c.running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("calls are still running: %w", ctx.Err())
	}
}

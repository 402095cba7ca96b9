package transport

import (
	"context"
	"errors"
	"sync"
)

// ErrDraining is the error of a request that would create an object and was not sent, because the
// process ends.
var ErrDraining = errors.New("no more objects are created: the controller is shutting down")

// drain waits for the answers of requests that create objects before the process ends, so that the
// next process finds the objects and does not create them again. The zero value is ready to use;
// nil admits everything.
type drain struct {
	mu      sync.Mutex
	running int
	// closed is non-nil once requests are refused, and closed when none is pending.
	closed chan struct{}
}

// begin admits a request; the caller must then call end. It returns false if the process ends.
func (d *drain) begin() bool {
	if d == nil {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed != nil {
		return false
	}
	d.running++
	return true
}

func (d *drain) end() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running--
	if d.closed != nil && d.running == 0 {
		close(d.closed)
	}
}

// wait refuses new requests, and returns when the pending ones have ended, or with the error of the
// context.
func (d *drain) wait(ctx context.Context) error {
	d.mu.Lock()
	if d.closed == nil {
		d.closed = make(chan struct{})
		if d.running == 0 {
			close(d.closed)
		}
	}
	empty := d.closed
	d.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

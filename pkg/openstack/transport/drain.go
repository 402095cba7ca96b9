package transport

import (
	"context"
	"errors"
	"sync"
)

// ErrDraining is the error of a request that would create something and was not sent,
// because the process ends.
var ErrDraining = errors.New("nothing is created any more: the controller is shutting down")

// drain gives requests that create something the time for their answer before the
// process ends: the next one finds what was created, and does not create it again. Its
// zero value is ready; a nil one admits everything.
type drain struct {
	mu      sync.Mutex
	running int
	// closed is not nil once nothing is admitted any more, and closed when nothing runs.
	closed chan struct{}
}

// begin admits a request, which must end then. It returns false when the process ends.
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

// wait admits nothing any more, and returns when all that runs has ended, or with the
// error of the context.
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

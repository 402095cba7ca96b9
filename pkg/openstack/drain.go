package openstack

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// ErrDraining tells that a request that would create something was not sent, because
// the process ends.
var ErrDraining = errors.New("nothing is created any more: the controller is shutting down")

// drain lets requests that create something have their answer before the process ends:
// who comes next finds what was made, and does not make it again. Its zero value is
// ready; a nil one lets everybody in.
type drain struct {
	mu      sync.Mutex
	running int
	closed  chan struct{} // not nil once nothing is let in any more; closed when nobody is in
}

// creates tells requests that create something; a token is nothing that is left behind.
func creates(method string, kind request.Kind) bool {
	return method == http.MethodPost && kind.Class != request.Token
}

// enter lets a request in, which must leave then. It is false when the process ends.
func (d *drain) enter() bool {
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

func (d *drain) leave() {
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

// wait lets nobody in any more, and waits until all have left, or for the context.
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

// Drain refuses requests that create something from now on, with ErrDraining, and
// waits until those under way have their answer. The error is the context's.
func (s *Session) Drain(ctx context.Context) error { return s.drain.wait(ctx) }

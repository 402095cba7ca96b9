package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

var (
	// ErrInProgress is returned by Call for a new load balancer that is not ready yet: Options.Ended is called
	// at the end of the round.
	ErrInProgress = errors.New("the load balancer is being created, " + reason.GoesOn)
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("the controller is shutting down")
)

// Deleted reports whether a deletion has succeeded, and its result was not fetched yet. It fetches
// the result. The error of a failed deletion is left for the next Call: the service controller
// calls this before each deletion, and would have no delay between failed deletions otherwise.
func (d *Dispatcher) Deleted(uid string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.left[uid]
	if t == nil || t.request.Operation == Delete && t.err != nil {
		return false
	}
	delete(d.left, uid)
	return t.request.Operation == Delete
}

// Forget drops the result of the last round of a Service without further calls.
func (d *Dispatcher) Forget(uid string) { d.fetch(uid) }

// fetch returns and forgets the result of the last round of a Service if no caller waited for it;
// nil for none.
func (d *Dispatcher) fetch(uid string) *task {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.left[uid]
	delete(d.left, uid)
	return t
}

// Call serves a call of the service controller: see Options.Hold. If the round continues, the error
// is ErrInProgress or an *api.RetryError, and the next call returns the result. Until then, calls of
// the same kind wait for the same round. The error is ErrClosed after Close.
func (d *Dispatcher) Call(ctx context.Context, r Request) (*v1.LoadBalancerStatus, error) {
	before := d.fetch(string(r.Service.UID))
	if before != nil && before.request.answers(r, d.options.Written) {
		return before.status, before.err
	}
	t, err := d.submit(ctx, r)
	if err != nil {
		return nil, err
	}
	crowded, leave := d.callers.enter()
	defer leave()
	waits := t.waits
	if !crowded {
		waits = nil
	}
	timer := d.options.Clock.NewTimer(d.options.Hold)
	defer timer.Stop()
	select {
	case <-t.done:
		return t.status, t.err
	case <-ctx.Done():
		return d.abandon(ctx, t)
	case <-timer.C():
	case <-waits:
	}
	r, left := d.leave(t)
	switch ends := d.options.Ended != nil; {
	case !left:
		return t.status, t.err
	case !ends: // the next call comes after as much time as the round has taken so far
		return nil, goesOn(r, min(max(d.options.Clock.Since(t.since), soonestCall), latestCall).Round(time.Second))
	case r.Operation == Ensure && d.options.New(r.Service):
		return nil, ErrInProgress
	}
	return nil, goesOn(r, latestCall)
}

// Wait serves a request, and returns its result.
func (d *Dispatcher) Wait(ctx context.Context, r Request) (*v1.LoadBalancerStatus, error) {
	t, err := d.submit(ctx, r)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.done:
		return t.status, t.err
	case <-ctx.Done():
		return d.abandon(ctx, t)
	}
}

// Submit serves a request, and calls ended at the end of its round. The error is ErrClosed after Close:
// ended is not called then.
func (d *Dispatcher) Submit(ctx context.Context, r Request, ended func(*v1.LoadBalancerStatus, error)) error {
	t, err := d.submit(ctx, r)
	if err != nil {
		return err
	}
	d.mu.Lock()
	over := t.over()
	if !over {
		t.ended = append(t.ended, ended)
	}
	d.mu.Unlock()
	if over {
		ended(t.status, t.err)
	}
	return nil
}

// leave detaches a caller from its round, and returns the request. It is false if the round has
// ended.
func (d *Dispatcher) leave(t *task) (r Request, left bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.over() {
		return r, false
	}
	t.waiting--
	t.detached = d.options.Ended != nil
	return t.request, true
}

// abandon ends the round of a caller with an ended context, unless another caller waits.
func (d *Dispatcher) abandon(ctx context.Context, t *task) (*v1.LoadBalancerStatus, error) {
	d.mu.Lock()
	if t.waiting > 1 || t.detached {
		t.waiting--
		d.mu.Unlock()
		return nil, ctx.Err()
	}
	t.cancel(ctx.Err())
	withdrawn := d.lines.withdraw(t)
	d.mu.Unlock()
	if withdrawn {
		d.open.Done()
		return nil, ctx.Err()
	}
	<-t.done
	return t.status, t.err
}

// Without Options.Ended, a call is repeated after soonestCall to latestCall.
const soonestCall, latestCall = 3 * time.Second, 5 * time.Minute

// goesOn returns the error of a call if its round continues; again is the time until the next call.
func goesOn(r Request, again time.Duration) error {
	doing := "brought up to date"
	switch {
	case r.Operation == Delete:
		doing = "deleted"
	case len(r.Service.Status.LoadBalancer.Ingress) == 0:
		doing = "created"
	}
	return api.NewRetryError(fmt.Sprintf("the load balancer is being %s, %s: looking again in %s at the latest", doing, reason.GoesOn, again), again)
}

// crowd counts the calls that wait.
type crowd struct {
	workers int // Options.Workers

	mu   sync.Mutex
	held int
}

// enter counts a call until leave is called. It is crowded if too many wait.
func (c *crowd) enter() (crowded bool, leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held++
	return c.workers > 0 && c.held > c.workers-max(c.workers/10, 1), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held--
	}
}

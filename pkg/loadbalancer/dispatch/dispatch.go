// Package dispatch is the queue of rounds: one at a time for each Service, begun with its newest state,
// and shared by the callers that request the same. A round that waits for the cloud is a value in the
// queue: it has no goroutine, and holds no worker.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/cloud-provider/api"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/pkg/stopwatch"
)

const (
	// workers is the number of concurrent steps. A round with many members counts as several,
	// because a step takes about two KiB for each member.
	workers         = 100
	membersPerShare = 300
)

var (
	// ErrGoesOn is returned by Call for a new load balancer that is not ready yet: Options.Ended is called
	// at the end of the round.
	ErrGoesOn = errors.New("the load balancer is being created, " + reason.GoesOn)
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("the controller is shutting down")
)

// Round is the work for one request.
type Round interface {
	// Step does everything that is possible now. After async.ErrWaiting it is called again, once
	// the condition of the wait holds or the context has ended. The status is published, also if
	// there is an error.
	Step(ctx context.Context) (*v1.LoadBalancerStatus, error)
}

// Options are the dependencies and settings of a Dispatcher.
type Options struct {
	Clock clock.WithTicker
	// Timeout is the maximum duration of a round, without the wait for its turn.
	Timeout time.Duration
	// Hold is how long a Call waits for the end of its round. If at most a tenth of the Workers of
	// the service controller is free, a Call returns as soon as its round waits. Workers is 0 for
	// unlimited.
	Hold    time.Duration
	Workers int
	// Newest returns the current state of a Service and of its nodes, nil if the Service is gone.
	// If nil, the state in the request is the current one.
	Newest func(*v1.Service) (*v1.Service, []*v1.Node)
	// Begin returns the round of a request. The context has the values of the steps.
	Begin func(ctx context.Context, r Request) (context.Context, Round)
	// Members returns the number of members of a request; nil means few.
	Members func(Request) int
	// Written reports whether two states of a Service differ only in values that rounds write; nil
	// means that they write nothing.
	Written func(before, now *v1.Service) bool
	// New reports whether a Call of Ensure may return ErrGoesOn. Ended is called at the end of a
	// round if its Call has not waited: the next Call returns its result. If nil, Call returns the
	// time to call again.
	New   func(*v1.Service) bool
	Ended func(*v1.Service)
	// Served records the resource version of each Service at the beginning of its last round.
	Served Versions
}

// Versions records resource versions by Service.
type Versions interface {
	// Advance records the version of a Service. It is false if a newer one is recorded.
	Advance(svc *v1.Service) bool
}

// Dispatcher serves requests. It is safe for concurrent use.
type Dispatcher struct {
	options Options
	queue   workqueue.TypedInterface[string]
	shares  *semaphore.Weighted
	nodes   nodeLists

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	working sync.WaitGroup // workers
	open    sync.WaitGroup // requests

	mu    sync.Mutex
	lines map[string][]*task // by UID; the first is worked on
	left  map[string]*task   // ended while no caller waited
	held  int                // calls that wait
}

// task is a request with its round.
type task struct {
	request Request // written under the lock of the Dispatcher, as ctx is
	ctx     context.Context
	cancel  context.CancelCauseFunc
	slot    async.Slot
	since   time.Time
	// round is nil before the first step, steps is the context of the steps, end releases its
	// resources. Only the worker that has the task uses them.
	round Round
	steps context.Context
	end   func()

	// waits is closed when the round waits for the first time, or ends.
	waits  chan struct{}
	waited sync.Once
	done   chan struct{} // closed at the end; then status and err are set
	status *v1.LoadBalancerStatus
	err    error

	// Under the lock of the Dispatcher:
	waiting  int
	ended    []func(*v1.LoadBalancerStatus, error)
	detached bool // Options.Ended is called at the end
}

// New returns a Dispatcher. Close ends it.
func New(options Options) *Dispatcher {
	d := &Dispatcher{
		options: options, shares: semaphore.NewWeighted(workers),
		queue: workqueue.NewTyped[string](),
		lines: map[string][]*task{}, left: map[string]*task{},
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	for range workers {
		d.working.Go(d.work)
	}
	return d
}

// Close ends all rounds, and waits for their end.
func (d *Dispatcher) Close() {
	d.mu.Lock()
	d.cancel()
	for _, line := range d.lines {
		line[0].cancel(context.Canceled)
	}
	d.mu.Unlock()
	d.open.Wait()
	d.queue.ShutDown()
	d.working.Wait()
}

// Busy reports whether a Service has a round.
func (d *Dispatcher) Busy(uid string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.lines[uid]) > 0
}

// Size returns the number of Services with a round, and of those with a result that no call has
// fetched yet.
func (d *Dispatcher) Size() (working, unfetched int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.lines), len(d.left)
}

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
// is ErrGoesOn or an *api.RetryError, and the next call returns the result. Until then, calls of
// the same kind wait for the same round. The error is ErrClosed after Close.
func (d *Dispatcher) Call(ctx context.Context, r Request) (*v1.LoadBalancerStatus, error) {
	before := d.fetch(string(r.Service.UID))
	if before != nil && before.request.Operation == r.Operation && (r.Operation == Delete || d.asksFor(before.request, r.Service)) {
		return before.status, before.err
	}
	t, err := d.submit(ctx, r)
	if err != nil {
		return nil, err
	}
	crowd, release := d.hold()
	defer release()
	waits := t.waits
	if !crowd {
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
	if !left {
		return t.status, t.err
	}
	return nil, d.goesOn(r, t.since)
}

// hold counts a waiting call until release is called. It is a crowd if too many wait.
func (d *Dispatcher) hold() (crowd bool, release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held++
	return d.options.Workers > 0 && d.held > d.options.Workers-max(d.options.Workers/10, 1), func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.held--
	}
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

// submit queues a request, or merges it into a queued one. The caller counts as waiting.
func (d *Dispatcher) submit(ctx context.Context, r Request) (*task, error) {
	if d.options.Newest == nil { // the caller's Service may change, unlike an informer's
		r.Service = r.Service.DeepCopy()
	}
	key := string(r.Service.UID)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx.Err() != nil {
		return nil, ErrClosed
	}
	t := d.join(key, r)
	if t == nil {
		t = &task{request: r, since: d.options.Clock.Now(), waits: make(chan struct{}), done: make(chan struct{})}
		t.ctx, t.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
		t.slot.Wake = func() { d.queue.Add(key) }
		d.open.Add(1)
		d.lines[key] = append(d.lines[key], t)
		if len(d.lines[key]) == 1 {
			d.queue.Add(key)
		}
	}
	t.waiting++
	return t, nil
}

// join returns the task of a Service that also serves a request; nil for none.
func (d *Dispatcher) join(key string, r Request) *task {
	line := d.lines[key]
	switch len(line) {
	case 0:
		return nil
	case 1:
		if first := line[0]; first.ctx.Err() == nil && d.joins(first.request, r) {
			first.detached = false // this caller gets the result, or leaves too
			return first
		}
		return nil
	}
	last := line[len(line)-1]
	merged, ok := merge(last.request, r)
	if !ok {
		return nil
	}
	last.request = merged
	if r.Operation == Ensure || r.Operation == Delete {
		last.detached = false
	}
	return last
}

func (t *task) over() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
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
	key := string(t.request.Service.UID)
	if i := slices.Index(d.lines[key], t); i > 0 { // it has not begun
		d.lines[key] = slices.Delete(d.lines[key], i, i+1)
		d.open.Done()
		d.mu.Unlock()
		return nil, ctx.Err()
	}
	d.mu.Unlock()
	<-t.done
	return t.status, t.err
}

// goesOn returns the error of a call if its round, begun at a time, continues. Without
// Options.Ended, the next call comes after as much time as the round has taken so far.
func (d *Dispatcher) goesOn(r Request, since time.Time) error {
	svc, operation := r.Service, r.Operation
	ends := d.options.Ended != nil
	if operation == Ensure && ends && d.options.New(svc) {
		return ErrGoesOn
	}
	doing := "brought up to date"
	switch {
	case operation == Delete:
		doing = "deleted"
	case len(svc.Status.LoadBalancer.Ingress) == 0:
		doing = "created"
	}
	const soonest, latest = 3 * time.Second, 5 * time.Minute
	again := latest
	if !ends {
		again = min(max(d.options.Clock.Since(since), soonest), latest).Round(time.Second)
	}
	return api.NewRetryError(fmt.Sprintf("the load balancer is being %s, %s: looking again in %s at the latest", doing, reason.GoesOn, again), again)
}

func (d *Dispatcher) work() {
	for {
		key, shutdown := d.queue.Get()
		if shutdown {
			return
		}
		d.advance(key)
		d.queue.Done(key)
	}
}

// advance does a step of the first round of a Service.
func (d *Dispatcher) advance(key string) {
	d.mu.Lock()
	line := d.lines[key]
	d.mu.Unlock()
	if len(line) == 0 {
		return // its wait had already ended
	}
	t := line[0]
	status, err := d.step(t)
	if async.IsWaiting(err) {
		t.waited.Do(func() { close(t.waits) })
		return
	}
	t.status, t.err = status, err
	d.finish(key, t)
}

func (d *Dispatcher) step(t *task) (*v1.LoadBalancerStatus, error) {
	if t.round == nil {
		if status, err, due := d.begin(t); !due {
			return status, err
		}
	}
	share := int64(1)
	if d.options.Members != nil && t.request.Operation != Delete { // a deletion needs no members
		share = min(share+int64(d.options.Members(t.request)/membersPerShare), workers)
	}
	if err := d.shares.Acquire(t.ctx, share); err != nil {
		share = 0 // after the end of its context, a step does little
	}
	defer d.shares.Release(share)
	return t.round.Step(t.steps)
}

// begin starts a round with the current state of its Service. It is not due if there is nothing to
// do.
func (d *Dispatcher) begin(t *task) (status *v1.LoadBalancerStatus, err error, due bool) {
	if t.ctx.Err() != nil || d.ctx.Err() != nil {
		return nil, context.Canceled, false
	}
	d.mu.Lock()
	r := t.request
	d.mu.Unlock()
	if r.Operation != Delete {
		if r, due = d.newest(r); !due {
			return r.Service.Status.LoadBalancer.DeepCopy(), nil, false
		}
	}
	d.mu.Lock()
	t.request = r
	d.mu.Unlock()
	ctx, watch := stopwatch.Start(async.WithSlot(t.ctx, &t.slot), d.options.Clock)
	t.steps, t.round = d.options.Begin(ctx, r)
	timer, wakes := d.patient(t, watch), context.AfterFunc(t.ctx, t.slot.Wake)
	t.end = func() {
		timer()
		wakes()
	}
	return nil, nil, true
}

// finish ends a task, and starts the next one of its Service.
func (d *Dispatcher) finish(key string, t *task) {
	t.slot.Clear()
	if t.end != nil {
		t.end()
	}
	t.waited.Do(func() { close(t.waits) })
	d.mu.Lock()
	delete(d.left, key)
	if t.waiting == 0 || t.detached { // else those that wait have the result
		d.left[key] = t
	}
	close(t.done)
	ended, detached := t.ended, t.detached
	if line := slices.Delete(d.lines[key], 0, 1); len(line) == 0 {
		delete(d.lines, key)
	} else {
		d.lines[key] = line
		d.queue.Add(key)
	}
	t.cancel(nil)
	d.mu.Unlock()
	for _, call := range ended {
		call(t.status, t.err)
	}
	if detached && d.ctx.Err() == nil {
		d.options.Ended(t.request.Service)
	}
	d.open.Done()
}

// newest returns a request with the current state of its Service and its nodes. It is false if
// there is nothing to do: the Service wants no load balancer any more, or a round has begun with a
// newer state of it.
func (d *Dispatcher) newest(r Request) (Request, bool) {
	d.nodes.mu.Lock() // so that a later round has later nodes
	defer d.nodes.mu.Unlock()
	if d.options.Newest == nil {
		r.current = d.nodes.begin(r.Nodes)
	} else {
		switch now, all := d.options.Newest(r.Service); {
		case now == nil && r.Nodes == nil: // it is gone
			return r, false
		case now == nil: // the age of the nodes is unknown
			r.current = func() bool { return false }
		default:
			r.Nodes, r.current = all, d.nodes.begin(all)
			if !Older(now, r.Service) {
				r.Service = now
			}
		}
	}
	return r, Wanted(r.Service) && d.options.Served.Advance(r.Service)
}

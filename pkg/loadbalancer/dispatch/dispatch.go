package dispatch

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

const (
	// workers is the number of concurrent steps of each lane. A round with many members counts as
	// several, because a step takes about two KiB for each member.
	workers         = 100
	membersPerShare = 300
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
	// New reports whether a Call of Ensure may return ErrInProgress. Ended is called at the end of a
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
	Advance(service types.UID, version string) bool
}

// Dispatcher serves requests. It is safe for concurrent use.
type Dispatcher struct {
	options Options
	// calls has the rounds of calls of the service controller, own the others: neither kind delays the other.
	calls, own lane
	states     states
	callers    crowd

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	working sync.WaitGroup // workers
	open    sync.WaitGroup // requests

	mu    sync.Mutex
	lines lines
	left  map[string]*task // ended while no caller waited
}

// New returns a Dispatcher. Close ends it.
func New(options Options) *Dispatcher {
	d := &Dispatcher{
		options: options, calls: newLane(), own: newLane(),
		states:  states{newest: options.Newest, served: options.Served},
		callers: crowd{workers: options.Workers},
		lines:   lines{}, left: map[string]*task{},
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	for range workers {
		d.working.Go(func() { d.work(&d.calls) })
		d.working.Go(func() { d.work(&d.own) })
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
	d.calls.queue.ShutDown()
	d.own.queue.ShutDown()
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

// submit queues a request, or merges it into a queued one. The caller counts as waiting.
func (d *Dispatcher) submit(ctx context.Context, r Request) (*task, error) {
	if d.options.Newest == nil { // the caller's Service may change, unlike an informer's
		r.Service = r.Service.DeepCopy()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx.Err() != nil {
		return nil, ErrClosed
	}
	t := d.lines.join(r, d.options.Written)
	if t == nil {
		t = &task{request: r, since: d.options.Clock.Now(), waits: make(chan struct{}), done: make(chan struct{})}
		t.ctx, t.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
		d.open.Add(1)
		if d.lines.add(t) {
			d.enqueue(t)
		}
	}
	t.waiting++
	if first := d.lines[string(r.Service.UID)][0]; first.late && d.lines.outdated(first) {
		first.cancel(ErrTimeout)
	}
	return t, nil
}

// lane is a queue of rounds, by the UID of their Services, with its workers.
type lane struct {
	queue  workqueue.TypedInterface[string]
	shares *semaphore.Weighted
}

func newLane() lane {
	return lane{workqueue.NewTyped[string](), semaphore.NewWeighted(workers)}
}

// enqueue has the first task of a Service begin.
func (d *Dispatcher) enqueue(t *task) {
	t.lane = &d.calls
	if t.request.Operation == Repair {
		t.lane = &d.own
	}
	key := string(t.request.Service.UID)
	t.slot.Wake = func() { t.lane.queue.Add(key) }
	t.slot.Wake()
}

// work works on the rounds of a lane until its queue is shut down.
func (d *Dispatcher) work(l *lane) {
	for {
		key, shutdown := l.queue.Get()
		if shutdown {
			return
		}
		d.advance(l, key)
		l.queue.Done(key)
	}
}

// advance does a step of the first round of a Service.
func (d *Dispatcher) advance(l *lane, key string) {
	d.mu.Lock()
	var t *task
	if line := d.lines[key]; len(line) > 0 && line[0].lane == l {
		t = line[0]
	}
	d.mu.Unlock()
	if t == nil {
		return // it was woken for a wait that had ended
	}
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
	shares := t.lane.shares
	if err := shares.Acquire(t.ctx, share); err != nil {
		share = 0 // work with a context that has ended does little more than return
	}
	defer shares.Release(share)
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
		if r, due = d.states.update(r); !due {
			return r.Service.Status.LoadBalancer.DeepCopy(), nil, false
		}
	}
	d.mu.Lock()
	t.request = r
	d.mu.Unlock()
	ctx, watch := telemetry.Measure(async.WithSlot(t.ctx, &t.slot), d.options.Clock)
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
	d.mu.Lock()
	delete(d.left, key)
	if t.waiting == 0 || t.detached { // else those that wait have the result
		d.left[key] = t
	}
	close(t.done)
	ended, detached := t.ended, t.detached
	if next := d.lines.end(key); next != nil {
		d.enqueue(next)
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

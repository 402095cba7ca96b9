package dispatch

import (
	"context"
	"slices"
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
	nodes      nodeLists

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
	request Request // written under the lock of the Dispatcher
	ctx     context.Context
	cancel  context.CancelCauseFunc
	lane    *lane // of the first task of a Service
	slot    async.Slot
	since   time.Time
	// round is nil before the first step, steps is the context of the steps, end releases its
	// resources. Only the worker that has the task uses them.
	round Round
	steps context.Context
	end   func()

	// waits is closed when the round waits for the first time.
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
		options: options, calls: newLane(), own: newLane(),
		lines: map[string][]*task{}, left: map[string]*task{},
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
		d.open.Add(1)
		d.lines[key] = append(d.lines[key], t)
		if len(d.lines[key]) == 1 {
			d.enqueue(key, t)
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

// lane is a queue of rounds, by the UID of their Services, with its workers.
type lane struct {
	queue  workqueue.TypedInterface[string]
	shares *semaphore.Weighted
}

func newLane() lane {
	return lane{workqueue.NewTyped[string](), semaphore.NewWeighted(workers)}
}

// enqueue has the first task of a Service begin.
func (d *Dispatcher) enqueue(key string, t *task) {
	t.lane = &d.calls
	if t.request.Operation == Repair {
		t.lane = &d.own
	}
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
		if r, due = d.newest(r); !due {
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
	if line := slices.Delete(d.lines[key], 0, 1); len(line) == 0 {
		delete(d.lines, key)
	} else {
		d.lines[key] = line
		d.enqueue(key, line[0])
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

// newest returns a request with its Service and its nodes as they are now. It is false if there is
// nothing to do: the Service wants no load balancer any more, or a round was begun with a newer state of it.
func (d *Dispatcher) newest(r Request) (Request, bool) {
	d.nodes.mu.Lock() // so that a later round has later nodes
	defer d.nodes.mu.Unlock()
	if d.options.Newest == nil {
		r.current = d.nodes.begin(r.Nodes)
	} else {
		switch now, all := d.options.Newest(r.Service); {
		case now == nil && (r.Operation == Repair || r.Nodes == nil): // it is gone
			return r, false
		case now == nil: // the service controller may know more than the informer
			r.current = func() bool { return false }
		default:
			r.Nodes, r.current = all, d.nodes.begin(all)
			if !Older(now, r.Service) {
				r.Service = now
			}
		}
	}
	return r, Wanted(r.Service) && d.options.Served.Advance(r.Service.UID, r.Service.ResourceVersion)
}

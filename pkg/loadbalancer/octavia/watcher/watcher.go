package watcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// Octavia is the part of the load balancer service that this package uses.
type Octavia interface {
	LoadBalancerState(ctx context.Context, id string) (octavia.LoadBalancerState, error)
	LoadBalancerStates(ctx context.Context, provisioningStatus string) ([]octavia.LoadBalancerState, error)
	StatusTree(ctx context.Context, loadBalancerID string) (*octavia.StatusTree, error)
}

// ErrClosed reports that the watcher is closed.
var ErrClosed = errors.New("the controller is shutting down")

// Pace defines the delays of polls: First before the first, Step before the second (First if it is
// 0), and then half as long again for each, up to Cap. Load balancers that start to wait together
// are polled every Step at first.
type Pace struct {
	First, Step, Cap time.Duration
	// Pending is the known status of the load balancer, or "": if there are many, the watcher lists
	// only those of that status.
	Pending string
	// Kind is the kind of operation. The watcher learns its duration and delays the first poll
	// accordingly. The zero value is never learned.
	Kind Kind
}

// Every returns the pace for an interval of a driver.
func Every(interval driver.PollInterval) Pace {
	return Pace{First: interval.First, Step: interval.Step, Cap: interval.Cap}
}

// Token is the state of a load balancer at one time.
type Token struct {
	// Gone is set if the load balancer does not exist.
	Gone   bool
	Status model.Status
	// UpdatedAt changes with every change of any part of the load balancer.
	UpdatedAt time.Time
}

// Watcher polls load balancers for waiters. The zero value is not usable: see New.
type Watcher struct {
	octavia Octavia
	clock   clock.WithTickerAndDelayedExecution

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wake   chan struct{}
	done   sync.WaitGroup

	// total is the length of the last list of all load balancers; only rounds use it.
	total int

	mu      sync.Mutex
	parked  map[*waiter]struct{}
	took    durations
	running bool
	// planned is the planned time of the next round, before others started to wait.
	planned time.Time
}

// waiter is a wait for a load balancer.
type waiter struct {
	id       string
	pace     Pace   // as given
	pending  string // the last known status
	parked   time.Time
	due      time.Time
	interval time.Duration
	leeway   time.Duration // how late it may be polled in a crowd
	polled   bool          // its own first poll is over
	seen     time.Time     // the last time it was PENDING
	since    time.Time     // its updated_at at that time
	last     error         // the error of the last failed request
	end      func(error)   // ends the span
	*async.Future[Token]
}

type answer struct {
	token Token
	err   error
}

// New returns a watcher. Close ends it, and every wait.
func New(octaviaAPI Octavia, clk clock.WithTickerAndDelayedExecution) *Watcher {
	ctx, cancel := context.WithCancel(context.Background())
	return &Watcher{
		octavia: octaviaAPI,
		clock:   clk,
		ctx:     ctx,
		cancel:  cancel,
		wake:    make(chan struct{}, 1),
		parked:  map[*waiter]struct{}{},
		took:    durations{},
	}
}

// Close ends the watcher; all waits return ErrClosed.
func (w *Watcher) Close() {
	w.mu.Lock()
	w.cancel() // park starts nothing afterwards
	for p := range w.parked {
		delete(w.parked, p)
		p.Resolve(Token{}, ErrClosed)
	}
	w.mu.Unlock()
	w.done.Wait()
}

// Settled waits until a load balancer is not PENDING, or gone, as async.Await does. An error ends the wait
// only if it would occur again; otherwise the context does.
func (w *Watcher) Settled(ctx context.Context, id string, pace Pace) (Token, error) {
	return async.Await(ctx, telemetry.Octavia, "settled "+id, func() *async.Future[Token] {
		_, end := telemetry.Span(ctx, "wait", attribute.String("loadbalancer", id))
		me := &waiter{id: id, pace: pace, pending: pace.Pending, parked: w.clock.Now(), end: end}
		me.Future = async.NewFuture[Token](func(err error) error {
			err = w.unpark(me, err)
			end(err)
			return err
		})
		w.park(me)
		return me.Future
	})
}

// StatusTree returns the status tree of a load balancer as it is after a time, 0 for now. This wait
// shares no requests: Octavia has no list of status trees. The error is that of the request or of the
// context.
func (w *Watcher) StatusTree(ctx context.Context, id string, after time.Duration) (*octavia.StatusTree, error) {
	if after > 0 {
		if err := async.Sleep(ctx, w.clock, telemetry.Octavia, "children "+id, after); err != nil {
			return nil, err
		}
	}
	return w.octavia.StatusTree(ctx, id)
}

// Waiting returns the number of waits.
func (w *Watcher) Waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.parked)
}

// Took returns how long recent operations of a kind took, false if there was none.
func (w *Watcher) Took(k Kind) (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.took.median(k)
}

// Record adds how long an operation took for which the caller has waited.
func (w *Watcher) Record(k Kind, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.took.observe(k, sample{done: took})
}

// park adds a waiter and starts the watcher if necessary.
func (w *Watcher) park(me *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		me.Resolve(Token{}, ErrClosed)
		return
	}
	w.parked[me] = struct{}{}
	w.schedule(me)
	if w.running {
		if !w.latest(me).Before(w.planned) {
			return
		}
		select {
		case w.wake <- struct{}{}:
		default:
		}
		return
	}
	w.running = true
	w.done.Add(1)
	go w.run()
}

// PendingError reports that a wait has ended while the load balancer was still PENDING.
type PendingError struct {
	ID, Status string
	// Since is the start of that status according to Octavia; zero if it is unknown.
	Since time.Time
	// Err is the reason for the end of the wait.
	Err error
}

// Error implements error.
func (e *PendingError) Error() string { return e.What() + ": " + e.Err.Error() }

// Unwrap returns the reason for the end of the wait.
func (e *PendingError) Unwrap() error { return e.Err }

// What returns since when the load balancer is PENDING, and who can resolve it. The text does not
// change while the status lasts.
func (e *PendingError) What() string {
	since := ""
	if !e.Since.IsZero() {
		since = " since " + e.Since.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("load balancer %s is %s%s: Octavia accepts no other change before it has finished, and the controller waits for that; "+
		"if it never does, only the cloud's operator can set the load balancer to ERROR and fail it over", e.ID, e.Status, since)
}

// unpark removes a waiter, and returns why with the error of the last request.
func (w *Watcher) unpark(me *waiter, why error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.parked, me)
	why = errors.Join(why, me.last)
	if !me.seen.IsZero() {
		return &PendingError{me.id, me.pending, me.since, why}
	}
	return why
}

// run polls until there are no waiters.
func (w *Watcher) run() {
	defer w.done.Done()
	for {
		next, ok := w.next()
		if !ok {
			return
		}
		timer := w.clock.NewTimer(next.Sub(w.clock.Now()))
		select {
		case <-timer.C():
			w.round()
		case <-w.wake:
			timer.Stop()
		case <-w.ctx.Done():
			timer.Stop()
			return
		}
	}
}

// next returns the time of the next round, false without waiters.
func (w *Watcher) next() (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var first time.Time
	for p := range w.parked {
		if at := w.latest(p); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	w.running, w.planned = len(w.parked) > 0, first
	return first, w.running
}

// latest returns the latest time to poll a waiter. In a crowd of load balancers that are being
// created it is a little after the due time, so that several become due together: one request
// serves them, and the process wakes up once for their next steps.
func (w *Watcher) latest(p *waiter) time.Time {
	if len(w.parked) < crowd {
		return p.due
	}
	return p.due.Add(p.leeway)
}

// In a crowd, which one request serves, the intervals do not grow before eager, because a change of
// nodes waits in each of its cycles for the first poll after its end.
const (
	crowd = 10
	eager = 10 * time.Second
)

// round polls the load balancers that are due or nearly due. If a list contains others, waits for
// those that are ready end, and the next polls of the others are postponed.
func (w *Watcher) round() {
	due, others := w.due()
	if len(due) == 0 {
		return
	}
	poll := newPoll(w.octavia, w.total, due, others)
	poll.ask(w.ctx)
	w.total = poll.total
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	for _, p := range due {
		got := poll.answers[p.id]
		if !w.settle(p, got, now) {
			p.polled, p.last, p.due = true, got.err, now.Add(jitter(p.interval))
			if len(due) < crowd || now.Sub(p.parked) > eager {
				p.interval = min(p.interval+p.interval/2, p.pace.Cap)
			}
		}
	}
	for _, p := range others {
		got, listed := poll.answers[p.id]
		if listed && got.err == nil && !w.settle(p, got, now) && p.polled {
			p.due = now.Add(jitter(p.interval))
		}
	}
}

// schedule plans the polls of a waiter by the duration of its kind.
func (w *Watcher) schedule(p *waiter) {
	pace, known := w.took.intervals(p.pace)
	p.due, p.interval = p.parked.Add(pace.First), cmp.Or(pace.Step, pace.First)
	if known {
		p.leeway = pace.Kind.Operation.leeway(pace.First)
	}
}

// settle ends a wait if the answer permits, and reports whether it did.
func (w *Watcher) settle(p *waiter, got answer, now time.Time) bool {
	switch {
	case got.err != nil && !final(got.err):
		return false
	case got.err == nil && !got.token.Gone && got.token.Status.Pending():
		p.pending, p.seen, p.since = got.token.Status.Provisioning, now, got.token.UpdatedAt
		return false
	}
	if _, waits := w.parked[p]; waits {
		w.learn(p, got, now)
		delete(w.parked, p)
		p.end(got.err)
		p.Resolve(got.token, got.err)
	}
	return true
}

// learn records the duration of a wait that ends.
func (w *Watcher) learn(p *waiter, got answer, now time.Time) {
	if p.pace.Kind == (Kind{}) || got.err != nil || got.token.Status.Failed() {
		return
	}
	took := sample{done: now.Sub(p.parked)}
	if !p.seen.IsZero() {
		took.pending = p.seen.Sub(p.parked)
	}
	w.took.observe(p.pace.Kind, took)
}

// visible is how long after a change a poll may still return the previous state, if the database
// has replicas.
const visible = time.Second

// due returns the waiters of this round: waiters that are due within a third of their interval are
// included, because one request serves all. others are those that the answer may end.
func (w *Watcher) due() (due, others []*waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	for p := range w.parked {
		switch {
		case !p.due.After(now.Add(p.interval / 3)):
			due = append(due, p)
		case p.polled || now.Sub(p.parked) >= visible:
			others = append(others, p)
		}
	}
	return due, others
}

// final reports whether the next request would fail with the same error.
func final(err error) bool {
	return apierror.IsForbidden(err) || apierror.IsInvalid(err)
}

// jitter varies a duration by a tenth to either side.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}

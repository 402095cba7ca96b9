// Package watcher polls the load balancers that operations wait for: one request for
// all of them, however many operations wait.
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
	"github.com/openstack-ccm/openstack-ccm/pkg/stopwatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/tracing"
)

// Octavia is what the watcher asks of the load balancer service.
type Octavia interface {
	LoadBalancerState(ctx context.Context, id string) (octavia.LoadBalancerState, error)
	LoadBalancerStates(ctx context.Context, provisioningStatus string) ([]octavia.LoadBalancerState, error)
	StatusTree(ctx context.Context, loadBalancerID string) (*octavia.StatusTree, error)
}

// ErrClosed reports that the process ends.
var ErrClosed = errors.New("the controller is shutting down")

// Pace is how often the watcher asks for a load balancer: first after First, then
// after Step (or First, where it is 0), and from there after half as long again
// each time, at most Cap. Many that begin to wait together are asked for after Step each time at
// first.
type Pace struct {
	First, Step, Cap time.Duration
	// Pending is the status that the load balancer has meanwhile, if that is known:
	// where there are many, the watcher asks for those of that status only.
	Pending string
	// Kind is what is waited for. The watcher sees how long a kind takes, and asks first when that is
	// nearly over, for those that wait already as well; nothing follows from the zero value.
	Kind Kind
}

// Every returns the pace for a load balancer that a driver works on.
func Every(interval driver.PollInterval) Pace {
	return Pace{First: interval.First, Step: interval.Step, Cap: interval.Cap}
}

// Token is the state of a load balancer at one moment.
type Token struct {
	// Gone reports that there is no such load balancer (any more).
	Gone   bool
	Status model.Status
	// UpdatedAt moves with every change of anything in the load balancer.
	UpdatedAt time.Time
}

// Watcher asks for load balancers that are waited for. Its zero value is not
// usable: see New.
type Watcher struct {
	octavia Octavia
	clock   clock.WithTicker

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wake   chan struct{}
	done   sync.WaitGroup

	// total is how many load balancers the last list of all had; only rounds use it.
	total int

	mu      sync.Mutex
	parked  map[*waiter]struct{}
	took    durations
	running bool
	// planned is when the next round was to be, before others came to wait.
	planned time.Time
}

// waiter is a worker that waits for a load balancer.
type waiter struct {
	id       string
	pace     Pace   // as it was given
	pending  string // the status it was last seen in, or has as far as is known
	parked   time.Time
	due      time.Time
	interval time.Duration
	informed bool          // its polls follow from how long its kind takes
	leeway   time.Duration // how much later than due it can be asked for in a crowd
	polled   bool          // its own first poll is over
	seen     time.Time     // when it was last seen PENDING
	since    time.Time     // its updated_at then
	answer   chan answer   // holds one, so that a send never blocks
	last     error         // of the last request that failed
}

type answer struct {
	token Token
	err   error
}

// New returns a watcher. Close ends it, and every wait.
func New(octaviaAPI Octavia, clk clock.WithTicker) *Watcher {
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

// Close ends the watcher; waits return ErrClosed.
func (w *Watcher) Close() {
	w.mu.Lock()
	w.cancel() // park starts nothing after this
	w.mu.Unlock()
	w.done.Wait()
}

// Settled waits until nothing works on a load balancer any more: it is not
// PENDING, or is gone. An error ends the wait only when it would come again;
// otherwise, the context does. Who waits gives its place away (async.Yield).
func (w *Watcher) Settled(ctx context.Context, id string, pace Pace) (token Token, err error) {
	ctx, end := tracing.Start(ctx, "wait", attribute.String("loadbalancer", id))
	defer func() { end(err) }()
	me := &waiter{id: id, pace: pace, pending: pace.Pending, parked: w.clock.Now(), answer: make(chan answer, 1)}
	w.park(me)
	defer async.Yield(ctx)()
	defer stopwatch.In(ctx, stopwatch.Octavia)()
	select {
	case got := <-me.answer:
		return got.token, got.err
	case <-w.ctx.Done():
		return Token{}, ErrClosed
	case <-ctx.Done():
		return Token{}, w.unpark(me, ctx.Err())
	}
}

// StatusTree returns the status tree of a load balancer as it is after a time, 0 for now.
// This is the one wait that shares no requests: Octavia has no list of status trees. The
// error is that of the request or of the context, or ErrClosed.
func (w *Watcher) StatusTree(ctx context.Context, id string, after time.Duration) (*octavia.StatusTree, error) {
	if err := w.sleep(ctx, after); err != nil {
		return nil, err
	}
	return w.octavia.StatusTree(ctx, id)
}

// sleep waits as Settled does.
func (w *Watcher) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := w.clock.NewTimer(d)
	defer timer.Stop()
	defer async.Yield(ctx)()
	defer stopwatch.In(ctx, stopwatch.Octavia)()
	select {
	case <-timer.C():
		return nil
	case <-w.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Usual returns how long a kind of operation usually takes: as it did lately, or a guess before there
// was any.
func (w *Watcher) Usual(of Kind) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.took.usual(of)
}

// Waiting returns how many waits there are.
func (w *Watcher) Waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.parked)
}

// park adds a waiter and sees to it that the watcher runs.
func (w *Watcher) park(me *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parked[me] = struct{}{}
	w.schedule(me)
	if w.ctx.Err() != nil {
		return
	}
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

// PendingError reports that a wait has ended while something still worked on the load balancer.
type PendingError struct {
	ID, Status string
	// Since is when that began, as Octavia has it; zero where it does not say.
	Since time.Time
	// Err is why the wait has ended.
	Err error
}

// Error implements error.
func (e *PendingError) Error() string { return e.What() + ": " + e.Err.Error() }

// Unwrap returns why the wait has ended.
func (e *PendingError) Unwrap() error { return e.Err }

// What returns since when the load balancer is PENDING, and who can do something about it. It is
// the same text as long as it is.
func (e *PendingError) What() string {
	since := ""
	if !e.Since.IsZero() {
		since = " since " + e.Since.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("load balancer %s is %s%s: Octavia takes no other change before it has finished, which is waited for; "+
		"if it never does, only the cloud's operator can set the load balancer to ERROR and fail it over", e.ID, e.Status, since)
}

// unpark takes a waiter back, and returns why, with the error of its last request.
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

// run asks until nobody waits any more.
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

// next returns the time of the next round. Without a waiter the watcher ends.
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

// latest returns when a waiter is asked for at the latest. In a crowd of load balancers that are being
// created that is a little later than it is due, so that several come to their turn together: a request
// serves them, and the process, which has little else to do meanwhile, wakes up once for what follows.
func (w *Watcher) latest(p *waiter) time.Time {
	if len(w.parked) < crowd {
		return p.due
	}
	return p.due.Add(p.leeway)
}

// Where a crowd is asked for at a time, as one request serves all of it, their intervals stay as they
// are while they have waited no longer than eager: a change of nodes waits in each of its cycles for
// the first poll after its end.
const (
	crowd = 10
	eager = 10 * time.Second
)

// round asks for every load balancer that is due, or nearly. A list has others as well:
// waits for those that are ready end, and the others need not be asked for soon.
func (w *Watcher) round() {
	due, others := w.due()
	if len(due) == 0 {
		return
	}
	answers := w.ask(due)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	for _, p := range due {
		got := answers[p.id]
		if !w.settle(p, got, now) {
			p.polled, p.last, p.due = true, got.err, now.Add(jitter(p.interval))
			if len(due) < crowd || now.Sub(p.parked) > eager {
				p.interval = min(p.interval+p.interval/2, p.pace.Cap)
			}
		}
	}
	for _, p := range others {
		got, listed := answers[p.id]
		if listed && got.err == nil && !w.settle(p, got, now) && p.polled {
			p.due = now.Add(jitter(p.interval))
		}
	}
	w.inform(now)
}

// inform plans the polls of those that came to wait before anything was known of their kind, once
// something is: a change of nodes that is the first one after a start waits as a later one does for
// all but the first load balancers.
func (w *Watcher) inform(now time.Time) {
	for p := range w.parked {
		if p.seen.Equal(now) {
			w.took.stillPending(p.pace.Kind, now.Sub(p.parked))
		}
	}
	for p := range w.parked {
		if _, known := w.took[p.pace.Kind]; p.informed || !known {
			continue
		}
		if w.schedule(p); !p.due.After(now) {
			p.due = now.Add(jitter(p.interval))
		}
	}
}

// schedule plans the polls for a waiter by what is known of its kind.
func (w *Watcher) schedule(p *waiter) {
	pace, known := w.took.intervals(p.pace)
	p.due, p.interval, p.informed = p.parked.Add(pace.First), cmp.Or(pace.Step, pace.First), known
	if known {
		p.leeway = pace.Kind.Operation.leeway(pace.First)
	}
}

// settle ends a wait if the answer does, and reports whether it does.
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
		p.answer <- got
	}
	return true
}

// learn keeps how long a wait took that ends now.
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

// visible is how long after a change a poll may still show what was there before it,
// where the database has replicas.
const visible = time.Second

// due picks the waiters of this round: who would be due within a third of its
// interval comes along, as one request serves all. The others are those whose waits the
// answer may end.
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

// final reports errors that the next request would meet too.
func final(err error) bool {
	return apierror.IsForbidden(err) || apierror.IsInvalid(err)
}

// jitter spreads requests by a tenth to either side.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}

// Package dispatch turns calls for Services into rounds of reconciliation: one round at a
// time for each Service, begun with the newest state of it, shared by the calls that ask
// for the same. It bounds how many rounds are at work, and how long a call holds the worker
// that makes it. What a round does is not its business.
package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// rounds is how many rounds are at work at the same time, those of the service controller
// and those of our own; rounds that wait for the cloud do not count. One that has to do with
// many members takes the places of several: while it works, it has about two KiB of each.
const (
	rounds          = 100
	membersPerPlace = 100
)

// ErrGoesOn is returned by a call of Ensure whose round goes on by itself: Options.Ended is called
// at its end.
var ErrGoesOn = errors.New("the load balancer is being created, " + reason.GoesOn)

// Options are what a Dispatcher needs.
type Options struct {
	Clock clock.WithTicker
	// Timeout is how long a round may take, but for what it waits for its turn.
	Timeout time.Duration
	// Workers is how many workers the service controller has; 0: they are always
	// plentiful. Hold is how long a call may hold one of them.
	Workers int
	Hold    time.Duration
	// Newest returns a Service and its nodes as they are now, nil when there is no such
	// Service any more. Nil: what a call is given is the newest.
	Newest func(*v1.Service) (*v1.Service, []*v1.Node)
	// Reconcile does one round, and calls Request.Progress while it waits. The status is
	// what to publish, also beside an error.
	Reconcile func(ctx context.Context, r Request) (*v1.LoadBalancerStatus, error)
	// Members returns how many members a round for a request has to do with; nil: few.
	Members func(Request) int
	// Usual returns how long a round for a request usually takes.
	Usual func(Request) time.Duration
	// Written reports whether all that has changed of a Service is what rounds have written into it;
	// nil: they write nothing.
	Written func(before, now *v1.Service) bool
	// Detaches reports whether a call of Ensure for a Service may be ErrGoesOn. Ended is called at the
	// end of its round then, to have the next call made, which has the result. Nil: each call that
	// ends before its round says when to call again.
	Detaches func(*v1.Service) bool
	Ended    func(*v1.Service)
	// Served remembers the resource version of each Service that a round was begun with.
	Served Versions
}

// Versions remembers resource versions by Service.
type Versions interface {
	// Advance remembers the version of a Service. It is false where a newer one is
	// remembered already.
	Advance(svc *v1.Service) bool
}

// Dispatcher serves requests. Its methods may be called from many goroutines.
type Dispatcher struct {
	options    Options
	actors     *async.Actors[Request, *v1.LoadBalancerStatus]
	workers    *async.Workers
	calls, own *async.Places
	nodes      nodeLists
}

// New returns a Dispatcher. Close ends it.
func New(options Options) *Dispatcher {
	d := &Dispatcher{
		options: options,
		workers: async.NewWorkers(options.Workers, options.Clock),
		calls:   async.NewPlaces(rounds), own: async.NewPlaces(rounds),
	}
	behavior := async.Behavior[Request, *v1.LoadBalancerStatus]{Serve: d.serve, Merge: merge, Joins: d.joins}
	if options.Ended != nil {
		behavior.Detached = func(r Request) { options.Ended(r.Service) }
	}
	d.actors = async.NewActors(behavior)
	return d
}

// Close ends all rounds, and waits for their end.
func (d *Dispatcher) Close() { d.actors.Close() }

// Busy reports whether a round of a Service is under way or waits for its turn.
func (d *Dispatcher) Busy(uid string) bool { return d.actors.Busy(uid) }

// Unclaimed reports whether a Service has a round under way, or behind it, whose result only a call
// fetches that comes by itself.
func (d *Dispatcher) Unclaimed(uid string) bool { return d.actors.Unclaimed(uid) }

// Size returns how many Services have a round under way, and of how many there is a result
// that no call has fetched yet.
func (d *Dispatcher) Size() (working, unfetched int) { return d.actors.Size() }

// Deleted reports whether a deletion has succeeded whose result no call has fetched yet.
// It counts as fetched then.
func (d *Dispatcher) Deleted(uid string) bool {
	request, _, err, ok := d.actors.Left(uid)
	return ok && request.Operation == Delete && err == nil
}

// Call serves a call that holds a worker of the service controller, and waits for its end
// as long as the call may hold it. Past that the round goes on by itself, and the call ends
// with ErrGoesOn, or an *api.RetryError that asks for the next call at about the time of its
// end; that one has the result. Calls of the same kind that come meanwhile wait for the same end. The
// error is async.ErrClosed after Close.
func (d *Dispatcher) Call(ctx context.Context, r Request) (*v1.LoadBalancerStatus, error) {
	key := string(r.Service.UID)
	before, status, err, ok := d.actors.Left(key)
	if ok && before.Operation == r.Operation && (r.Operation == Delete || d.asksFor(before, r.Service)) {
		return status, err
	}
	task, err := d.submit(ctx, r)
	if err != nil {
		return nil, err
	}
	back, release := d.workers.Hold(ctx, r.Service.Namespace, d.options.Hold)
	defer release()
	status, ended, err := task.Wait(ctx, back)
	if ended {
		return status, err
	}
	if r.Operation == Ensure && d.options.Ended != nil && d.options.Detaches(r.Service) && task.Detach() {
		return nil, ErrGoesOn
	}
	return nil, d.requeue(r.Service, task.Request())
}

// Wait serves a request of our own controller, which holds no worker of anybody: it
// returns at the end of the round.
func (d *Dispatcher) Wait(ctx context.Context, r Request) (*v1.LoadBalancerStatus, error) {
	task, err := d.submit(ctx, r)
	if err != nil {
		return nil, err
	}
	status, _, err := task.Wait(ctx, nil)
	return status, err
}

func (d *Dispatcher) submit(ctx context.Context, r Request) (*async.Task[Request, *v1.LoadBalancerStatus], error) {
	if d.options.Newest == nil { // the Service is the caller's, and not an informer's, which stays as it is
		r.Service = r.Service.DeepCopy()
	}
	r.progress = &progress{clock: d.options.Clock, began: d.options.Clock.Now()}
	return d.actors.Submit(ctx, string(r.Service.UID), r)
}

// serve does the round of a request when the turn of its Service has come.
func (d *Dispatcher) serve(ctx context.Context, r Request) (*v1.LoadBalancerStatus, error) {
	ctx, end := d.patient(ctx, string(r.Service.UID))
	defer end()
	places := d.calls
	if r.Operation == Repair || r.Operation == Update {
		places = d.own
	}
	ctx, leave, err := places.Enter(ctx, d.width(r))
	if err != nil {
		return nil, err
	}
	defer leave()
	if r.Operation != Delete {
		var due bool
		if r, due = d.newest(r); !due {
			return r.Service.Status.LoadBalancer.DeepCopy(), nil
		}
	}
	return d.options.Reconcile(ctx, r)
}

// width returns how many places a round takes.
func (d *Dispatcher) width(r Request) int {
	if d.options.Members == nil || r.Operation == Delete { // which needs no members
		return 1
	}
	if len(r.Nodes) == 0 && d.options.Newest != nil {
		_, r.Nodes = d.options.Newest(r.Service) // as far as anyone can tell before its turn
	}
	return 1 + d.options.Members(r)/membersPerPlace
}

// newest returns a request with its Service and its nodes as they are now. It is false where
// nothing is to be done: the Service does not want a load balancer any more, or a newer
// state of it has been served.
func (d *Dispatcher) newest(r Request) (Request, bool) {
	d.nodes.mu.Lock() // so that of two rounds the later one has the later nodes
	defer d.nodes.mu.Unlock()
	if d.options.Newest == nil {
		r.current = d.nodes.begin(r.Nodes)
	} else {
		switch now, all := d.options.Newest(r.Service); {
		case now == nil && (r.Nodes == nil || r.Operation == Update): // it has gone
			return r, false
		case now == nil: // nobody knows how old the nodes are
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

// requeue returns the error that asks for the next call, which is to have the result: when the round
// is expected to have ended. A round that is late is asked for when it will be twice as late, a few
// seconds later first: nothing else publishes its address. One of which nobody knows the end, when
// it has taken twice as long: hundreds wait for minutes for their turn to be sent.
func (d *Dispatcher) requeue(svc *v1.Service, r Request) error {
	now := d.options.Clock.Now()
	taken := now.Sub(r.progress.began)
	left, atLeast := d.options.Usual(Request{Operation: r.Operation, Service: svc}), taken
	if at := r.progress.expected(); !at.IsZero() { // it waits for the cloud by now
		left, atLeast = at.Sub(now), now.Sub(at)
	}
	doing := "brought up to date"
	switch {
	case r.Operation == Delete:
		doing = "deleted"
	case len(svc.Status.LoadBalancer.Ingress) == 0:
		doing = "created"
	}
	const margin, soonest, latest = time.Second, 3 * time.Second, 5 * time.Minute
	again := max(left+margin, min(atLeast, latest), soonest).Round(time.Second)
	if left > 0 {
		return api.NewRetryError(fmt.Sprintf("the load balancer is being %s, %s: looking again in %s", doing, reason.GoesOn, again), again)
	}
	return api.NewRetryError(fmt.Sprintf("the load balancer is still being %s, after %s, which is longer than usual: looking again in %s",
		doing, taken.Round(time.Second), again), again)
}

package dispatch

import (
	"context"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
)

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
	late     bool // the round has exceeded Options.Timeout, with the wait for its turn
}

func (t *task) over() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// lines has the tasks of each Service, by its UID; the first is worked on. The caller of its methods holds the
// lock of the Dispatcher.
type lines map[string][]*task

// add adds a task, and reports whether it is the first of its Service.
func (l lines) add(t *task) (first bool) {
	key := string(t.request.Service.UID)
	l[key] = append(l[key], t)
	return len(l[key]) == 1
}

// join returns the task of a Service that also serves a request; nil for none.
func (l lines) join(r Request, written func(before, now *v1.Service) bool) *task {
	line := l[string(r.Service.UID)]
	switch len(line) {
	case 0:
		return nil
	case 1:
		if first := line[0]; first.ctx.Err() == nil && first.request.answers(r, written) {
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

// end removes the first task of a Service, and returns the next one; nil for none.
func (l lines) end(key string) (next *task) {
	line := slices.Delete(l[key], 0, 1)
	if len(line) == 0 {
		delete(l, key)
		return nil
	}
	l[key] = line
	return line[0]
}

// withdraw removes a task, and reports whether it has; one that is worked on stays.
func (l lines) withdraw(t *task) bool {
	key := string(t.request.Service.UID)
	i := slices.Index(l[key], t)
	if i <= 0 {
		return false
	}
	l[key] = slices.Delete(l[key], i, i+1)
	return true
}

// outdated reports whether a request for another state of the Service is queued behind a round.
func (l lines) outdated(t *task) bool {
	line := l[string(t.request.Service.UID)]
	return len(line) > 1 && slices.ContainsFunc(line[1:], func(behind *task) bool {
		return behind.request.Operation == Ensure || behind.request.Operation == Delete
	})
}

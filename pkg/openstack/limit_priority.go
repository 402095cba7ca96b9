package openstack

import (
	linked "container/list"
	"context"
	"net/http"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

// Priority orders the requests of one class that wait for a place.
type Priority int

const (
	// PriorityFirst is for deletes, which free quota, and for creates, which users
	// wait for.
	PriorityFirst Priority = iota
	// PriorityUsual is for changes and reads.
	PriorityUsual
	// PriorityLast is for what makes good things better: members for new nodes.
	PriorityLast

	priorities = iota
)

type priorityKey struct{}

// WithPriority overrules the priority that follows from method and path, for all
// requests with the context.
func WithPriority(ctx context.Context, priority Priority) context.Context {
	return context.WithValue(ctx, priorityKey{}, min(max(priority, PriorityFirst), PriorityLast))
}

// priorityOf gives the priority of a request.
func priorityOf(req *http.Request, kind request.Kind) Priority {
	if given, ok := req.Context().Value(priorityKey{}).(Priority); ok {
		return given
	}
	switch {
	case kind.Name == "loadbalancer_member_create", additive(req, kind):
		return PriorityLast
	case req.Method == http.MethodDelete, req.Method == http.MethodPost:
		return PriorityFirst
	default:
		return PriorityUsual
	}
}

// additive tells a batch that only adds and changes members. Octavia's parameter
// for it is a boolean.
func additive(req *http.Request, kind request.Kind) bool {
	if kind.Name != "loadbalancer_members_update" {
		return false
	}
	switch req.URL.Query().Get("additive_only") {
	case "true", "True", "1":
		return true
	}
	return false
}

// waiter is a request that waits for a place.
type waiter struct {
	priority Priority
	arrival  uint64
	element  *linked.Element
	// granted is closed when the waiter has a place.
	granted chan struct{}
	// look asks the waiter to look at the lane: a pause has begun.
	look chan struct{}
}

// fairTurn is how many times whoever has waited longest is passed over for a higher
// priority until it is its turn: nobody waits for ever behind a stream of others.
const fairTurn = 4

// queue is an order of waiters: by priority, then by arrival, except for the fair
// turns.
type queue struct {
	lines    [priorities]linked.List
	length   int
	arrivals uint64
	passed   int
}

func (q *queue) push(priority Priority) *waiter {
	q.arrivals++
	w := &waiter{
		priority: priority, arrival: q.arrivals,
		granted: make(chan struct{}), look: make(chan struct{}, 1),
	}
	w.element = q.lines[priority].PushBack(w)
	q.length++
	return w
}

func (q *queue) remove(w *waiter) {
	q.lines[w.priority].Remove(w.element)
	q.length--
}

// pop takes out the next one; nil when nobody waits.
func (q *queue) pop() *waiter {
	if q.length == 0 {
		return nil
	}
	w, oldest := q.first(), q.oldest()
	if w != oldest {
		q.passed++
	}
	if q.passed == fairTurn {
		w, q.passed = oldest, 0
	}
	q.remove(w)
	return w
}

// first is the one with the highest priority, nil when nobody waits.
func (q *queue) first() *waiter {
	for i := range q.lines {
		if front := q.lines[i].Front(); front != nil {
			return front.Value.(*waiter)
		}
	}
	return nil
}

func (q *queue) oldest() *waiter {
	var oldest *waiter
	for i := range q.lines {
		front := q.lines[i].Front()
		if front == nil {
			continue
		}
		if w := front.Value.(*waiter); oldest == nil || w.arrival < oldest.arrival {
			oldest = w
		}
	}
	return oldest
}

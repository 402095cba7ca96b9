package limiter

import linked "container/list"

// waiter is a request that waits for a slot.
type waiter struct {
	priority Priority
	arrival  uint64
	element  *linked.Element
	// granted is closed when the waiter has a slot.
	granted chan struct{}
	// look makes the waiter check again, because a pause has begun.
	look chan struct{}
}

// fairTurn is how many times the oldest waiter is passed over for a higher priority before it gets
// a slot, so that none waits forever.
const fairTurn = 4

// waitQueue orders waiters by priority, then by arrival, except for the fair turns.
type waitQueue struct {
	lines    [priorities]linked.List
	length   int
	arrivals uint64
	passed   int
}

func (q *waitQueue) push(priority Priority) *waiter {
	q.arrivals++
	w := &waiter{
		priority: priority, arrival: q.arrivals,
		granted: make(chan struct{}), look: make(chan struct{}, 1),
	}
	w.element = q.lines[priority].PushBack(w)
	q.length++
	return w
}

func (q *waitQueue) remove(w *waiter) {
	q.lines[w.priority].Remove(w.element)
	q.length--
}

// pop removes and returns the next waiter, nil if there is none.
func (q *waitQueue) pop() *waiter {
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

// first returns the waiter with the highest priority, nil if there is none.
func (q *waitQueue) first() *waiter {
	for i := range q.lines {
		if front := q.lines[i].Front(); front != nil {
			return front.Value.(*waiter)
		}
	}
	return nil
}

func (q *waitQueue) oldest() *waiter {
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

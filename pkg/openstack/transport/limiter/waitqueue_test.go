package limiter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// order pops all waiters, by the order of their arrival.
func order(q *waitQueue) []uint64 {
	var got []uint64
	for w := q.pop(); w != nil; w = q.pop() {
		got = append(got, w.arrival)
	}
	return got
}

func TestWaitQueue_OrdersByPriorityThenArrivalAndFairly(t *testing.T) {
	t.Parallel()
	q := &waitQueue{}
	for _, p := range []Priority{
		PriorityLow, PriorityNormal, PriorityHigh, PriorityHigh, PriorityLow, PriorityNormal, PriorityHigh, PriorityHigh,
	} {
		q.push(p)
	}
	// The fourth time that the first of all would be passed over it is its turn.
	if diff := cmp.Diff([]uint64{3, 4, 7, 1, 8, 2, 6, 5}, order(q)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestWaitQueue_ServesFirstComeFirstWithinPriority(t *testing.T) {
	t.Parallel()
	q := &waitQueue{}
	gone := map[uint64]bool{1: true, 4: true, 9: true}
	for range 10 {
		if w := q.push(PriorityNormal); gone[w.arrival] {
			q.remove(w)
		}
	}
	if q.length != 7 {
		t.Errorf("%d wait, want 7", q.length)
	}
	if diff := cmp.Diff([]uint64{2, 3, 5, 6, 7, 8, 10}, order(q)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// A stream of requests of a higher priority does not hold up the lowest for ever.
func TestWaitQueue_StarvesNobody(t *testing.T) {
	t.Parallel()
	q := &waitQueue{}
	patient := q.push(PriorityLow)
	q.push(PriorityHigh)
	for turn := 1; ; turn++ {
		q.push(PriorityHigh)
		if w := q.pop(); w == patient {
			return
		}
		if turn == fairTurn {
			t.Fatalf("still waiting after %d turns", turn)
		}
	}
}

package openstack

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/request"
)

func TestPriorities(t *testing.T) {
	t.Parallel()
	const first, usual, last = PriorityFirst, PriorityUsual, PriorityLast
	tests := []struct {
		method, path string
		want         Priority
	}{
		{"POST", "/v2.0/lbaas/loadbalancers", first},
		{"DELETE", "/v2.0/lbaas/loadbalancers/1?cascade=true", first},
		{"POST", "/v2.0/lbaas/listeners", first},
		{"DELETE", "/v2.0/lbaas/pools/1/members/2", first},
		{"PUT", "/v2.0/lbaas/listeners/1", usual},
		{"PUT", "/v2.0/lbaas/pools/1/members", usual},
		{"PUT", "/v2.0/lbaas/pools/1/members?additive_only=false", usual},
		{"PUT", "/v2.0/lbaas/pools/1/members?additive_only=true", last},
		{"PUT", "/v2.0/lbaas/pools/1/members?additive_only=True", last},
		{"PUT", "/v2.0/lbaas/listeners/1?additive_only=true", usual},
		{"POST", "/v2.0/lbaas/pools/1/members", last},
		{"POST", "/v2.0/floatingips", first},
		{"PUT", "/v2.0/floatingips/1", usual},
		{"GET", "/v2.0/lbaas/loadbalancers", usual},
	}
	for _, test := range tests {
		req, err := http.NewRequestWithContext(t.Context(), test.method, "http://127.0.0.1"+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := priorityOf(req, request.KindOf(test.method, req.URL.Path)); got != test.want {
			t.Errorf("%s %s: priority %d, want %d", test.method, test.path, got, test.want)
		}
	}
}

func TestPriorityOfTheContextWins(t *testing.T) {
	t.Parallel()
	for given, want := range map[Priority]Priority{
		PriorityFirst: PriorityFirst, PriorityLast: PriorityLast, -7: PriorityFirst, 7: PriorityLast,
	} {
		req, err := http.NewRequestWithContext(WithPriority(context.Background(), given), http.MethodPut, "http://127.0.0.1/v2.0/ports/1", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := priorityOf(req, request.KindOf(req.Method, req.URL.Path)); got != want {
			t.Errorf("given %d: %d, want %d", given, got, want)
		}
	}
}

// order pops all waiters, by the order of their arrival.
func order(q *queue) []uint64 {
	var got []uint64
	for w := q.pop(); w != nil; w = q.pop() {
		got = append(got, w.arrival)
	}
	return got
}

func TestOrderIsByPriorityThenByArrivalAndFair(t *testing.T) {
	t.Parallel()
	q := &queue{}
	for _, p := range []Priority{
		PriorityLast, PriorityUsual, PriorityFirst, PriorityFirst, PriorityLast, PriorityUsual, PriorityFirst, PriorityFirst,
	} {
		q.push(p)
	}
	// The fourth time that the first of all would be passed over it is its turn.
	if diff := cmp.Diff([]uint64{3, 4, 7, 1, 8, 2, 6, 5}, order(q)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestWithinAPriorityItIsFirstComeFirstServed(t *testing.T) {
	t.Parallel()
	q := &queue{}
	gone := map[uint64]bool{1: true, 4: true, 9: true}
	for range 10 {
		if w := q.push(PriorityUsual); gone[w.arrival] {
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
func TestNobodyStarves(t *testing.T) {
	t.Parallel()
	q := &queue{}
	patient := q.push(PriorityLast)
	q.push(PriorityFirst)
	for turn := 1; ; turn++ {
		q.push(PriorityFirst)
		if w := q.pop(); w == patient {
			return
		}
		if turn == fairTurn {
			t.Fatalf("still waiting after %d turns", turn)
		}
	}
}

package limiter

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// testClass returns the limiter of a class on a clock that stands still.
func testClass(start, most int) (*classLimiter, *clocktesting.FakeClock) {
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return newClassLimiter(rest.LoadBalancerUpdate, bounds{start, most}, clk, nil), clk
}

// answered returns the outcome of an attempt with an answer.
func answered(status int, retryAfter ...int) Outcome {
	resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody}
	for _, seconds := range retryAfter {
		resp.Header.Set("Retry-After", strconv.Itoa(seconds))
	}
	return Outcome{Response: resp}
}

// fill takes n slots.
func fill(t *testing.T, l *classLimiter, n int) []*Slot {
	t.Helper()
	var slots []*Slot
	for range n {
		p, err := l.acquire(t.Context(), "test", PriorityNormal)
		if err != nil {
			t.Fatal(err)
		}
		slots = append(slots, p)
	}
	return slots
}

// arrivals are requests that come to a class one after the other, and what becomes
// of them.
type arrivals struct {
	class   *classLimiter
	entered chan string
	all     sync.WaitGroup
	slots   sync.Map
}

func newArrivals(l *classLimiter) *arrivals {
	return &arrivals{class: l, entered: make(chan string, 100)}
}

// come lets one more wait, and returns when it does.
func (a *arrivals) come(t *testing.T, ctx context.Context, name string, priority Priority) {
	t.Helper()
	before := a.class.depth()
	a.all.Go(func() {
		p, err := a.class.acquire(ctx, "test", priority)
		if err != nil {
			a.entered <- name + ": " + err.Error()
			return
		}
		a.slots.Store(name, p)
		a.entered <- name
	})
	await.Condition(t, name+" waits", func() bool { return a.class.depth() == before+1 })
}

func (a *arrivals) release(t *testing.T, name string, out Outcome) {
	t.Helper()
	p, ok := a.slots.LoadAndDelete(name)
	if !ok {
		t.Fatalf("%s has no slot", name)
	}
	p.(*Slot).Release(t.Context(), out)
}

// expect waits for the next to enter.
func (a *arrivals) expect(t *testing.T, want string) {
	t.Helper()
	if got := <-a.entered; got != want {
		t.Errorf("entered: %s, want %s", got, want)
	}
}

func TestClass_AdmitsByPriorityAndArrival(t *testing.T) {
	t.Parallel()
	l, _ := testClass(1, 1)
	first := fill(t, l, 1)[0]
	a := newArrivals(l)
	for _, w := range []struct {
		name     string
		priority Priority
	}{
		{"add", PriorityLow}, {"change", PriorityNormal}, {"delete", PriorityHigh}, {"create", PriorityHigh},
	} {
		a.come(t, t.Context(), w.name, w.priority)
	}
	first.Release(t.Context(), answered(200))
	for _, name := range []string{"delete", "create", "change", "add"} {
		a.expect(t, name)
		a.release(t, name, answered(200))
	}
	a.all.Wait()
}

func TestClass_RemovesCanceledWaiterFromQueue(t *testing.T) {
	t.Parallel()
	l, _ := testClass(1, 1)
	first := fill(t, l, 1)[0]
	a := newArrivals(l)
	ctx, cancel := context.WithCancel(t.Context())
	a.come(t, ctx, "impatient", PriorityHigh)
	a.come(t, t.Context(), "patient", PriorityNormal)
	cancel()
	a.expect(t, "impatient: still waiting behind other requests (loadbalancer_update): context canceled")
	first.Release(t.Context(), answered(200))
	a.expect(t, "patient")
	a.release(t, "patient", answered(200))
	a.all.Wait()
	if inFlight, _ := l.state(); inFlight != 0 {
		t.Errorf("%d in flight after all have left", inFlight)
	}
}

// The slot may be granted in the very moment that the context ends.
func TestClass_FreesSlotGrantedToCanceledWaiter(t *testing.T) {
	t.Parallel()
	l, _ := testClass(1, 1)
	first := fill(t, l, 1)[0]
	l.mu.Lock()
	w := l.waiting.push(PriorityNormal)
	l.mu.Unlock()
	first.Release(t.Context(), answered(200))
	l.abandon(w)
	if inFlight, _ := l.state(); inFlight != 0 {
		t.Errorf("%d in flight, want 0", inFlight)
	}
	fill(t, l, 1)
}

func TestClass_HalvesLimitOnlyOnBadSigns(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		out   Outcome
		limit int
	}{
		"429":             {answered(429), 4},
		"500":             {answered(500), 4},
		"502":             {answered(502), 4},
		"503":             {answered(503), 4},
		"504":             {answered(504), 4},
		"501":             {answered(501), 8},
		"409":             {answered(409), 8},
		"404":             {answered(404), 8},
		"201":             {answered(201), 8},
		"timeout":         {Outcome{Err: &apierror.TimeoutError{After: time.Minute}}, 4},
		"connection lost": {Outcome{Err: errors.New("connection reset by peer")}, 4},
		"cancelled":       {Outcome{Err: context.Canceled}, 8},
		"deadline":        {Outcome{Err: context.DeadlineExceeded}, 8},
		"too large":       {Outcome{Err: &apierror.TooLargeError{Limit: 1}}, 8},
	}
	for name, test := range tests {
		l, _ := testClass(8, 16)
		fill(t, l, 1)[0].Release(t.Context(), test.out)
		if _, limit := l.state(); limit != test.limit {
			t.Errorf("%s: limit %d, want %d", name, limit, test.limit)
		}
	}
}

func TestClass_CountsFailuresTogetherAsOneBadSign(t *testing.T) {
	t.Parallel()
	l, _ := testClass(8, 16)
	for _, p := range fill(t, l, 8) {
		p.Release(t.Context(), answered(503))
	}
	if _, limit := l.state(); limit != 4 {
		t.Errorf("limit %d, want 4", limit)
	}
	for range 10 {
		for _, p := range fill(t, l, 1) {
			p.Release(t.Context(), answered(503))
		}
	}
	if _, limit := l.state(); limit != 1 {
		t.Errorf("limit %d, want 1: never below", limit)
	}
}

func TestClass_AdmitsNobodyAboveCutLimit(t *testing.T) {
	t.Parallel()
	l, _ := testClass(4, 8)
	slots := fill(t, l, 4)
	a := newArrivals(l)
	a.come(t, t.Context(), "next", PriorityNormal)
	slots[0].Release(t.Context(), answered(503))
	slots[1].Release(t.Context(), answered(200))
	if inFlight, limit := l.state(); inFlight != 2 || limit != 2 || l.depth() != 1 {
		t.Errorf("%d of %d in flight, %d wait; want 2 of 2, 1", inFlight, limit, l.depth())
	}
	slots[2].Release(t.Context(), answered(200))
	a.expect(t, "next")
	a.all.Wait()
}

func TestClass_IsSlowedByLatency(t *testing.T) {
	t.Parallel()
	l, clk := testClass(8, 8)
	takes := func(d time.Duration, n int) {
		for range n {
			p := fill(t, l, 1)[0]
			clk.Step(d)
			p.Release(t.Context(), answered(200))
		}
	}
	takes(time.Second, latencyWindow)
	takes(4*time.Second, latencyWindow-1)
	if _, limit := l.state(); limit != 8 {
		t.Errorf("limit %d before the window is over, want 8", limit)
	}
	takes(4*time.Second, 1)
	if _, limit := l.state(); limit != 4 {
		t.Errorf("limit %d, want 4", limit)
	}
}

// Refusals are quick: they say nothing of the time that the work takes.
func TestLatency_CountsOnlySuccess(t *testing.T) {
	t.Parallel()
	l, clk := testClass(8, 8)
	for range 10 {
		for range latencyWindow {
			fill(t, l, 1)[0].Release(t.Context(), answered(409))
		}
		p := fill(t, l, 1)[0]
		clk.Step(10 * time.Second)
		p.Release(t.Context(), answered(200))
	}
	if _, limit := l.state(); limit != 8 {
		t.Errorf("limit %d, want 8", limit)
	}
}

// Hundreds of requests with all that can happen to them: never more in flight than
// allowed, all end, nothing is lost.
func TestClass_LosesNoSlotUnderLoad(t *testing.T) {
	t.Parallel()
	const most = 8
	l := newClassLimiter(rest.LoadBalancerUpdate, bounds{4, most}, clock.RealClock{}, nil)
	var inFlight, entered, cancelled atomic.Int32
	var all sync.WaitGroup
	outcomes := []Outcome{
		answered(200), answered(200), answered(200), answered(201), answered(409), answered(503),
		{Err: context.Canceled}, {Err: errors.New("lost")},
	}
	for i := range 500 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if i%5 == 0 {
				go cancel()
			}
			p, err := l.acquire(ctx, "test", Priority(i%int(priorities)))
			if err != nil {
				cancelled.Add(1)
				return
			}
			if n := inFlight.Add(1); n > most {
				t.Errorf("%d in flight, at most %d are allowed", n, most)
			}
			entered.Add(1)
			if i%97 == 0 {
				l.mu.Lock()
				l.pause(l.clock.Now().Add(2 * time.Millisecond))
				l.mu.Unlock()
			}
			inFlight.Add(-1)
			p.Release(ctx, outcomes[rand.IntN(len(outcomes))])
		})
	}
	all.Wait()
	left, limit := l.state()
	if left != 0 || l.depth() != 0 || limit < 1 || limit > most || entered.Load()+cancelled.Load() != 500 {
		t.Errorf("%d in flight, %d wait, limit %d, %d entered, %d cancelled", left, l.depth(), limit, entered.Load(), cancelled.Load())
	}
	if entered.Load() < 400 {
		t.Errorf("only %d entered although 400 were never cancelled", entered.Load())
	}
}

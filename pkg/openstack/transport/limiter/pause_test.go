package limiter

import (
	"context"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

func TestPause_FollowsRetryAfter(t *testing.T) {
	t.Parallel()
	for _, status := range []int{429, 503} {
		l, clk := testClass(4, 8)
		slots := fill(t, l, 4)
		a := newArrivals(l)
		a.come(t, t.Context(), "waits already", PriorityHigh)
		slots[0].Release(t.Context(), answered(status, 20))
		for _, p := range slots[1:] {
			p.Release(t.Context(), answered(200))
		}
		a.come(t, t.Context(), "comes later", PriorityLow)
		await.Condition(t, "both keep the time", func() bool { return clk.Waiters() == 2 })
		clk.Step(20*time.Second - 1)
		if inFlight, _ := l.state(); inFlight != 0 {
			t.Errorf("%d: %d in flight in the pause", status, inFlight)
		}
		clk.Step(1)
		<-a.entered
		<-a.entered
		a.all.Wait()
	}
}

func TestPause_IsExtendedButNotShortened(t *testing.T) {
	t.Parallel()
	l, clk := testClass(4, 8)
	slots := fill(t, l, 4)
	a := newArrivals(l)
	a.come(t, t.Context(), "next", PriorityNormal)
	for i, seconds := range []int{10, 20, 5} {
		slots[i].Release(t.Context(), answered(503, seconds))
	}
	await.Condition(t, "the time is kept", clk.HasWaiters)
	clk.Step(10 * time.Second)
	await.Condition(t, "the time is kept on", clk.HasWaiters)
	if inFlight, _ := l.state(); inFlight != 1 {
		t.Errorf("%d in flight, want only the one from before", inFlight)
	}
	clk.Step(10 * time.Second)
	a.expect(t, "next")
	a.all.Wait()
}

func TestPause_IsBounded(t *testing.T) {
	t.Parallel()
	l, clk := testClass(1, 1)
	fill(t, l, 1)[0].Release(t.Context(), answered(503, 86400))
	a := newArrivals(l)
	a.come(t, t.Context(), "next", PriorityNormal)
	await.Condition(t, "the time is kept", clk.HasWaiters)
	clk.Step(LongestPause)
	a.expect(t, "next")
	a.all.Wait()
}

// Who keeps the time may leave; then another does.
func TestPause_EndsWhenFirstWaiterIsCanceled(t *testing.T) {
	t.Parallel()
	l, clk := testClass(1, 1)
	first := fill(t, l, 1)[0]
	a := newArrivals(l)
	ctx, cancel := context.WithCancel(t.Context())
	a.come(t, ctx, "impatient", PriorityHigh)
	a.come(t, t.Context(), "patient", PriorityLow)
	first.Release(t.Context(), answered(429, 30))
	await.Condition(t, "the first in the queue keeps the time", clk.HasWaiters)
	cancel()
	a.expect(t, "impatient: still waiting behind other requests (loadbalancer_update): context canceled")
	await.Condition(t, "the other one keeps the time", clk.HasWaiters)
	clk.Step(30 * time.Second)
	a.expect(t, "patient")
	a.all.Wait()
}

func TestPause_EndsWithoutWaiter(t *testing.T) {
	t.Parallel()
	l, clk := testClass(2, 2)
	fill(t, l, 1)[0].Release(t.Context(), answered(503, 30))
	clk.Step(30 * time.Second)
	fill(t, l, 1)
}

// A pause may end between the notification of a waiter and its next check.
func TestPause_MayEndBeforeItsWaiterLooks(t *testing.T) {
	t.Parallel()
	l, clk := testClass(1, 1)
	p := fill(t, l, 1)[0]
	l.mu.Lock()
	w := l.waiting.push(PriorityNormal)
	l.mu.Unlock()
	p.Release(t.Context(), answered(503, 30))
	clk.Step(time.Minute)
	if err := l.wait(t.Context(), w); err != nil {
		t.Error(err)
	}
}

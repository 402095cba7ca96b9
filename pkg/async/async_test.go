package async

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// slotted returns a context with a Slot, and how often it was woken.
func slotted(ctx context.Context) (context.Context, *Slot, *int) {
	woken := 0
	slot := &Slot{Wake: func() { woken++ }}
	return WithSlot(ctx, slot), slot, &woken
}

// waitFor awaits a Future that is begun once.
func waitFor(ctx context.Context, key string, f *Future[int]) (got, begun int, err error) {
	got, err = Await(ctx, telemetry.Queue, key, func() *Future[int] {
		begun++
		return f
	})
	return got, begun, err
}

func TestAwait_ReturnsUntilResultExistsAndBeginsOnce(t *testing.T) {
	t.Parallel()
	ctx, _, woken := slotted(t.Context())
	f := NewFuture[int](nil)
	for i, want := range []int{1, 0} {
		if _, begun, err := waitFor(ctx, "a", f); !IsWaiting(err) || begun != want {
			t.Fatalf("call %d: begun %d times, error %v", i, begun, err)
		}
	}
	f.Resolve(7, nil)
	f.Resolve(8, nil) // without effect
	if *woken != 1 {
		t.Errorf("woken %d times", *woken)
	}
	if got, begun, err := waitFor(ctx, "a", f); got != 7 || begun != 0 || err != nil {
		t.Errorf("got %d, begun %d times, error %v", got, begun, err)
	}
	if got, begun, err := waitFor(ctx, "a", f); got != 7 || begun != 1 || err != nil {
		t.Errorf("the next wait of the same kind: got %d, begun %d times, error %v", got, begun, err)
	}
}

func TestAwait_AbandonsWaitWithItsContextAndForAnotherWait(t *testing.T) {
	t.Parallel()
	abandoned := 0
	future := func() *Future[int] {
		return NewFuture[int](func(err error) error {
			abandoned++
			return fmt.Errorf("abandoned: %w", err)
		})
	}
	parent, cancel := context.WithCancel(t.Context())
	ctx, slot, _ := slotted(parent)
	for _, key := range []string{"a", "b"} {
		if _, _, err := waitFor(ctx, key, future()); !IsWaiting(err) {
			t.Fatal(err)
		}
	}
	if abandoned != 1 {
		t.Errorf("%d waits abandoned for another one, want 1", abandoned)
	}
	cancel()
	if _, _, err := waitFor(ctx, "b", nil); !errors.Is(err, context.Canceled) || abandoned != 2 {
		t.Errorf("error %v, %d waits abandoned", err, abandoned)
	}
	slot.Clear()
	if abandoned != 2 {
		t.Error("a wait that has ended is abandoned")
	}
}

func TestAwait_BlocksWithoutSlot(t *testing.T) {
	t.Parallel()
	f := NewFuture[int](nil)
	go f.Resolve(7, nil)
	if got, _, err := waitFor(t.Context(), "a", f); got != 7 || err != nil {
		t.Errorf("got %d, error %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := waitFor(ctx, "a", NewFuture[int](nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestSleep_EndsAfterItsTime(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakeClock(time.Unix(0, 0))
	wakes := make(chan struct{}, 1)
	slot := &Slot{Wake: func() { wakes <- struct{}{} }}
	ctx := WithSlot(t.Context(), slot)
	sleep := func() error { return Sleep(ctx, clk, telemetry.Queue, "a", time.Minute) }
	if err := sleep(); !IsWaiting(err) {
		t.Fatal(err)
	}
	clk.Step(time.Minute)
	<-wakes
	if err := sleep(); err != nil {
		t.Error(err)
	}
}

func TestSlots_BoundWorkInOrderOfArrival(t *testing.T) {
	t.Parallel()
	slots := NewSlots("batch", 1)
	release, err := slots.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, secondSlot, woken := slotted(t.Context())
	third, _, last := slotted(t.Context())
	for _, ctx := range []context.Context{second, third} {
		if _, err := slots.Take(ctx); !IsWaiting(err) {
			t.Fatalf("more work than slots: %v", err)
		}
	}
	release()
	release() // without effect
	if *woken != 1 || *last != 0 {
		t.Errorf("woken: the second %d times, the third %d times", *woken, *last)
	}
	secondSlot.Clear() // it does not take the slot that was granted to it
	if *last != 1 {
		t.Error("the slot of work that has ended is lost")
	}
	if release, err = slots.Take(third); err != nil {
		t.Fatal(err)
	}
	release()
}

func TestLocks_ReturnLockOfWorkThatEndsBeforeItTakesIt(t *testing.T) {
	t.Parallel()
	var locks Locks
	unlock, _, _ := locks.Lock(t.Context(), "a")
	ctx, slot, _ := slotted(t.Context())
	if _, waited, err := locks.Lock(ctx, "a"); !waited || !IsWaiting(err) {
		t.Fatalf("waited %v, error %v", waited, err)
	}
	unlock()
	slot.Clear()
	if locks.Held("a") {
		t.Error("the lock is held by work that has ended")
	}
}

func TestLocks_AreGrantedInOrderOfArrival(t *testing.T) {
	t.Parallel()
	var locks Locks
	unlock, waited, err := locks.Lock(t.Context(), "a")
	if waited || err != nil {
		t.Fatalf("waited %v, error %v", waited, err)
	}
	if free, waited, err := locks.Lock(t.Context(), "b"); waited || err != nil {
		t.Errorf("another key's lock: waited %v, error %v", waited, err)
	} else {
		free()
	}
	order := make(chan string, 2)
	queue := func(name string, ctx context.Context, place int) {
		go func() {
			unlock, waited, err := locks.Lock(ctx, "a")
			if err != nil {
				order <- err.Error()
				return
			}
			order <- fmt.Sprint(name, waited)
			unlock()
		}()
		await.Condition(t, name+" is in the line", func() bool {
			locks.mu.Lock()
			defer locks.mu.Unlock()
			return len(locks.lines["a"]) == place
		})
	}
	given, giveUp := context.WithCancel(t.Context())
	queue("second", given, 2)
	queue("third", t.Context(), 3)
	giveUp()
	if got := <-order; got != context.Canceled.Error() {
		t.Errorf("who gives up gets %q", got)
	}
	select {
	case got := <-order:
		t.Errorf("%s has the lock beside the first", got)
	default:
	}
	unlock()
	unlock() // does nothing
	if got := <-order; got != "thirdtrue" {
		t.Errorf("got %q", got)
	}
	await.Condition(t, "nothing is left", func() bool {
		locks.mu.Lock()
		defer locks.mu.Unlock()
		return len(locks.lines) == 0
	})
}

package async

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage serves requests, which are words, one step at a time.
type stage struct {
	*Actors[string, string]
	began chan string
	let   chan error // what the request that is served ends with
}

// newStage returns Actors that merge words into "a+b", and answer a word with what is
// served when both are the same.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{began: make(chan string, 100), let: make(chan error)}
	s.Actors = NewActors(Behavior[string, string]{
		Serve: func(ctx context.Context, request string) (string, error) {
			s.began <- request
			select {
			case err := <-s.let:
				return "done " + request, err
			case <-ctx.Done():
				return "", ctx.Err()
			}
		},
		Merge: func(queued, later string) (string, bool) { return queued + "+" + later, later != "alone" },
		Joins: func(serving, later string) bool { return serving == later },
	})
	t.Cleanup(s.Close)
	return s
}

func (s *stage) submit(t *testing.T, key, request string) *Task[string, string] {
	t.Helper()
	task, err := s.Submit(t.Context(), key, request)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestActors_ServeRequestsOfAKeyInOrder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first, second := s.submit(t, "a", "one"), s.submit(t, "a", "two")
	third, fourth := s.submit(t, "a", "three"), s.submit(t, "a", "alone")
	other := s.submit(t, "b", "other")
	if got := []string{<-s.began, <-s.began}; !slices.Contains(got, "one") || !slices.Contains(got, "other") {
		t.Fatalf("served are %v: keys do not wait for each other", got)
	}
	for range 4 {
		s.let <- nil
	}
	for _, c := range []struct {
		task *Task[string, string]
		want string
	}{{first, "done one"}, {second, "done two+three"}, {third, "done two+three"}, {fourth, "done alone"}, {other, "done other"}} {
		if got, ended, err := c.task.Wait(t.Context(), nil); got != c.want || !ended || err != nil {
			t.Errorf("got %q, ended %v, error %v, want %q", got, ended, err, c.want)
		}
	}
	if got := []string{<-s.began, <-s.began}; got[0] != "two+three" || got[1] != "alone" {
		t.Errorf("then came %v", got)
	}
	if working, left := s.Size(); working+left > 0 || s.Busy("a") {
		t.Errorf("%d keys work, %d have a result that was heard", working, left)
	}
}

func TestActors_JoinRequestToSameOneBeingServed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first := s.submit(t, "a", "one")
	<-s.began
	second := s.submit(t, "a", "one")
	if !s.Busy("a") {
		t.Error("the key has no work")
	}
	s.let <- nil
	for _, task := range []*Task[string, string]{first, second} {
		if got, _, err := task.Wait(t.Context(), nil); got != "done one" || err != nil {
			t.Errorf("got %q, error %v", got, err)
		}
	}
}

func TestActors_ReturnUnawaitedResultOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	task := s.submit(t, "a", "one")
	back := make(chan struct{})
	close(back)
	if _, ended, err := task.Wait(t.Context(), back); ended || err != nil {
		t.Fatalf("ended %v, error %v", ended, err)
	}
	broken := errors.New("broken")
	s.let <- broken
	await.Condition(t, "the end", func() bool { return !s.Busy("a") })
	if request, result, err, ok := s.Left("a"); request != "one" || result != "done one" || !errors.Is(err, broken) || !ok {
		t.Errorf("left are %q, %q, %v, %v", request, result, err, ok)
	}
	if _, _, _, ok := s.Left("a"); ok {
		t.Error("the result is given twice")
	}
	again := s.submit(t, "a", "two")
	_, _, _ = s.submit(t, "a", "two").Wait(t.Context(), back)
	s.let <- nil
	if _, ended, err := again.Wait(t.Context(), nil); !ended || err != nil {
		t.Errorf("ended %v, error %v", ended, err)
	}
	if _, left := s.Size(); left > 0 {
		t.Error("a result that somebody waited for is kept")
	}
}

func TestActors_EndWorkWithItsLastWaitingCaller(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ctx, end := context.WithCancel(t.Context())
	alone, shared := s.submit(t, "alone", "one"), s.submit(t, "shared", "one")
	_ = s.submit(t, "shared", "one")
	queued := s.submit(t, "shared", "two")
	<-s.began
	<-s.began
	end()
	if _, ended, err := alone.Wait(ctx, nil); !ended || !errors.Is(err, context.Canceled) {
		t.Errorf("ended %v, error %v", ended, err)
	}
	if _, _, err := queued.Wait(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that has not begun: %v", err)
	}
	if _, _, err := shared.Wait(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	s.let <- nil // another caller waits for it
	await.Condition(t, "the end", func() bool { return !s.Busy("shared") && !s.Busy("alone") })
	if len(s.began) > 0 {
		t.Errorf("%q was begun for nobody", <-s.began)
	}
}

// The end of a detached request is reported, and it goes on though another caller gives up.
func TestActors_ReportTheEndOfDetachedRequests(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	told := make(chan string, 10)
	s.behavior.Detached = func(request string) { told <- request }
	detach := func(task *Task[string, string]) {
		t.Helper()
		back := make(chan struct{})
		close(back)
		if _, ended, err := task.Wait(t.Context(), back); ended || err != nil || !task.Detach() {
			t.Fatalf("ended %v, error %v", ended, err)
		}
	}
	first := s.submit(t, "a", "one")
	<-s.began
	if s.Unclaimed("a") {
		t.Error("a request is unclaimed while a caller waits")
	}
	detach(first)
	detach(s.submit(t, "a", "two"))
	given, end := context.WithCancel(t.Context())
	end()
	if _, _, err := s.submit(t, "a", "three").Wait(given, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if s.Unclaimed("a") {
		t.Error("a detached request is unclaimed")
	}
	s.let <- nil
	s.let <- nil
	if got := []string{<-told, <-told}; got[0] != "one" || got[1] != "two+three" {
		t.Errorf("told of %v", got)
	}
	await.Condition(t, "the end", func() bool { return !s.Busy("a") })
	if first.Detach() {
		t.Error("a request is detached that has ended")
	}
	if _, result, _, ok := s.Left("a"); result != "done two+three" || !ok {
		t.Errorf("left is %q, %v", result, ok)
	}
	waited := s.submit(t, "a", "four")
	if _, _, err := func() (string, bool, error) { s.let <- nil; return waited.Wait(t.Context(), nil) }(); err != nil || len(told) > 0 {
		t.Errorf("error %v, told of %d that were waited for", err, len(told))
	}
}

func TestActors_EndAllWorkOnClose(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	one, two := s.submit(t, "a", "one"), s.submit(t, "a", "two")
	<-s.began
	s.Close()
	for _, task := range []*Task[string, string]{one, two} {
		if _, _, err := task.Wait(t.Context(), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := s.Submit(t.Context(), "a", "three"); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestActors_ServeOneRequestOfAKeyAtATime(t *testing.T) {
	t.Parallel()
	var working, most atomic.Int32
	a := NewActors(Behavior[int, int]{
		Serve: func(_ context.Context, n int) (int, error) {
			most.Store(max(most.Load(), working.Add(1)))
			defer working.Add(-1)
			return n, nil
		},
		Merge: func(_, later int) (int, bool) { return later, true },
		Joins: func(int, int) bool { return false },
	})
	defer a.Close()
	var asking sync.WaitGroup
	for n := range 200 {
		asking.Go(func() {
			task, err := a.Submit(t.Context(), "key", n)
			if err != nil {
				t.Error(err)
				return
			}
			if _, ended, err := task.Wait(t.Context(), nil); !ended || err != nil {
				t.Errorf("ended %v, error %v", ended, err)
			}
		})
	}
	asking.Wait()
	if most.Load() != 1 {
		t.Errorf("%d at the same time", most.Load())
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

func TestYield_FreesPlaceUntilResumed(t *testing.T) {
	t.Parallel()
	places := NewPlaces(1)
	ctx, leave, err := places.Enter(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, _, err := places.Enter(soon, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second one has the only place: %v", err)
	}
	resume := Yield(ctx)
	_, other, err := places.Enter(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	back := make(chan struct{})
	go func() { resume(); close(back) }()
	select {
	case <-back:
		t.Error("it goes on without a place")
	case <-time.After(10 * time.Millisecond):
	}
	other()
	<-back
	leave()
	Yield(t.Context())() // without a place it does nothing
}

// Who has given its place away may wait for something else meanwhile.
func TestYield_GivesPlaceAwayOnce(t *testing.T) {
	t.Parallel()
	places := NewPlaces(1)
	ctx, leave, err := places.Enter(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	outer := Yield(ctx)
	Yield(ctx)()
	_, other, err := places.Enter(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	other()
	outer()
	leave()
	if !places.free.TryAcquire(1) || places.free.TryAcquire(1) {
		t.Error("there is not one place any more")
	}
}

func TestPlaces_AreTakenByWideWorkAsManyAsItIsWide(t *testing.T) {
	t.Parallel()
	places := NewPlaces(3)
	wide, leave, err := places.Enter(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	full := func() bool {
		soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, other, err := places.Enter(soon, 2)
		if err == nil {
			other()
		}
		return err != nil
	}
	if !full() {
		t.Error("four places are taken of three")
	}
	resume := Yield(wide)
	if full() {
		t.Error("who waits has not given all its places away")
	}
	resume()
	leave()
	_, all, err := places.Enter(t.Context(), 99) // of what is wider than all there are, one at a time goes on
	if err != nil {
		t.Fatal(err)
	}
	if !full() {
		t.Error("work that takes all places is not alone")
	}
	all()
}

// wanted returns which of some holds are to be given back, once so many are.
func wanted(t *testing.T, holds map[string]<-chan struct{}, want ...string) {
	t.Helper()
	var got []string
	await.Condition(t, fmt.Sprint("back are ", want), func() bool {
		got = nil
		for name, back := range holds {
			select {
			case <-back:
				got = append(got, name)
			default:
			}
		}
		return len(got) >= len(want)
	})
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("back are %v, want %v", got, want)
	}
}

func TestWorkers_AreHeldForTwoMinutesWhilePlentiful(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	w := NewWorkers(300, clock)
	holds := map[string]<-chan struct{}{}
	for i := range 200 {
		back, release := w.Hold(t.Context(), "default", MostHeld)
		defer release()
		holds[fmt.Sprint(i)] = back
	}
	await.Condition(t, "all wait", func() bool { return clock.Waiters() == 400 })
	clock.Step(MostHeld - time.Second)
	wanted(t, holds)
	clock.Step(time.Second)
	await.Condition(t, "all are back", func() bool {
		for _, back := range holds {
			select {
			case <-back:
			default:
				return false
			}
		}
		return true
	})
}

//proves:73
func TestWorkers_ReturnFromGroupThatHoldsMostWhenScarce(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	w := NewWorkers(6, clock) // five may be held
	holds := map[string]<-chan struct{}{}
	hold := func(name, namespace string) (release func()) {
		holds[name], release = w.Hold(t.Context(), namespace, MostHeld)
		return release
	}
	defer hold("quiet", "quiet")()
	defer hold("greedy1", "greedy")()
	releaseSecond := hold("greedy2", "greedy")
	defer hold("greedy3", "greedy")()
	defer hold("other", "other")()
	await.Condition(t, "all wait", func() bool { return clock.Waiters() == 10 })
	clock.Step(LeastHeld)
	wanted(t, holds)
	releaseSecond()
	defer hold("other2", "other")()
	wanted(t, holds)
	defer hold("other3", "other")() // one too many: other has most now
	wanted(t, holds, "other")
}

func TestWorkers_AreHeldForHalfASecondAtLeast(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	w := NewWorkers(1, clock)
	back, release := w.Hold(t.Context(), "default", MostHeld)
	defer release()
	holds := map[string]<-chan struct{}{"only": back}
	await.Condition(t, "it waits", func() bool { return clock.Waiters() == 2 })
	wanted(t, holds)
	clock.Step(LeastHeld)
	wanted(t, holds, "only")
}

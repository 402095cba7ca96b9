package watcher_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

func TestOneWaiterAsksForItsLoadBalancerOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pending("a", "b"))
	ended := w.waitAll("a")
	w.passUntil("asked three times", func() bool { return len(w.octavia.requests("a")) == 3 })
	w.octavia.set("ACTIVE", "a")
	w.passUntil("nobody waits", func() bool { return w.watcher.Parked() == 0 })
	got := w.ended(ended[0])
	if got.err != nil || got.token.Gone || got.token.Status.Provisioning != "ACTIVE" || !got.token.UpdatedAt.Equal(updatedAt("a")) {
		t.Errorf("ended with %+v", got)
	}
	if lists, others := len(w.octavia.requests("")), len(w.octavia.requests("b")); lists+others > 0 {
		t.Errorf("%d lists and %d requests for another load balancer", lists, others)
	}
}

func TestManyWaitersShareOneRequestARound(t *testing.T) {
	t.Parallel()
	const many = 200
	ids := names(many)
	w := newWorld(t, pending(ids...))
	ended := w.waitAll(ids...)
	w.pass(time.Minute)
	lists := w.octavia.requests("")
	if all := w.octavia.all(); all != len(lists) {
		t.Errorf("%d requests beside the lists", all-len(lists))
	}
	// Alone each would have asked some ten times in this minute.
	if len(lists) < 5 || len(lists) > 25 {
		t.Errorf("%d lists in a minute for %d waiters", len(lists), many)
	}
	w.octavia.set("ACTIVE", ids...)
	w.passUntil("nobody waits", func() bool { return w.watcher.Parked() == 0 })
	for i, c := range ended {
		if got := w.ended(c); got.err != nil || got.token.Status.Provisioning != "ACTIVE" {
			t.Fatalf("%s ended with %+v", ids[i], got)
		}
	}
}

func TestOfManyLoadBalancersOnlyThosePendingAreListed(t *testing.T) {
	t.Parallel()
	ids := names(500)
	w := newWorld(t, pending(ids...))
	w.octavia.set("ACTIVE", ids[40:]...)
	ended := w.waitAll(ids[:40]...)
	w.passUntil("the first round", func() bool { return w.octavia.all() > 0 }) // it tells how many there are
	w.pass(time.Minute)
	asked := w.octavia.requests("")
	if all := w.octavia.all(); all != len(asked) || all > 25 {
		t.Errorf("%d requests in a minute, %d of them lists", all, len(asked))
	}
	for _, list := range asked[1:] {
		if list.status != "PENDING_UPDATE" || list.size != 40 {
			t.Errorf("a list of %q gave %d", list.status, list.size)
		}
	}
	before := w.octavia.all()
	w.octavia.set("ACTIVE", ids[:2]...)
	w.passUntil("two have left", func() bool { return w.watcher.Parked() == 38 })
	w.octavia.set("PENDING_DELETE", ids[2])
	w.octavia.set("ACTIVE", ids[3:40]...)
	w.passUntil("one is left", func() bool { return w.watcher.Parked() == 1 })
	w.octavia.set("ERROR", ids[2])
	w.passUntil("nobody waits", func() bool { return w.watcher.Parked() == 0 })
	for i, c := range ended {
		want := "ACTIVE"
		if i == 2 {
			want = "ERROR"
		}
		if got := w.ended(c); got.err != nil || got.token.Status.Provisioning != want || !got.token.UpdatedAt.Equal(updatedAt(ids[i])) {
			t.Errorf("%s ended with %+v", ids[i], got)
		}
	}
	if n := w.octavia.all() - before; n > 10 {
		t.Errorf("%d requests to see 40 load balancers end", n)
	}
}

func TestTwoWaitersForOneLoadBalancerAreOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pending("a"))
	ended := w.waitAll("a", "a")
	w.octavia.set("ERROR", "a")
	w.passUntil("nobody waits", func() bool { return w.watcher.Parked() == 0 })
	for _, c := range ended {
		if got := w.ended(c); got.err != nil || got.token.Status.Provisioning != "ERROR" {
			t.Errorf("ended with %+v", got)
		}
	}
	if asked := w.octavia.all(); asked != 1 || len(w.octavia.requests("a")) != 1 {
		t.Errorf("%d requests, want one for the load balancer", asked)
	}
}

func TestEachWaiterEndsWhenItsOwnLoadBalancerIsReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pending("a", "b"))
	ended := w.waitAll("a", "b")
	w.octavia.set("ACTIVE", "b")
	w.passUntil("one has left", func() bool { return w.watcher.Parked() == 1 })
	w.ended(ended[1])
	select {
	case got := <-ended[0]:
		t.Errorf("the other ended too, with %+v", got)
	default:
	}
}

//proves:74
func TestQuestionsComeSoonAndThenAtACappedPace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pending("a"))
	start := w.clock.Now()
	w.waitAll("a")
	w.pass(3 * time.Minute)
	asked := w.octavia.requests("a")
	if len(asked) < 15 || len(asked) > 30 {
		t.Errorf("asked %d times in three minutes", len(asked))
	}
	const grain = 200 * time.Millisecond // of the clock's steps
	if first := asked[0].at.Sub(start); first < pace().First || first > pace().First+grain {
		t.Errorf("asked first after %s, want %s", first, pace().First)
	}
	for i := 1; i < len(asked); i++ {
		gap := asked[i].at.Sub(asked[i-1].at)
		if gap < pace().First*9/10-grain || gap > pace().Cap*11/10+grain {
			t.Errorf("question %d came %s after the one before", i+1, gap)
		}
	}
	if last := asked[len(asked)-1].at.Sub(asked[len(asked)-2].at); last < pace().Cap*9/10-grain {
		t.Errorf("after minutes still asked every %s", last)
	}
}

// TestALongStartNeedNotMeanALongPace is about what takes a known time at least, and
// is then nearly done.
func TestALongStartNeedNotMeanALongPace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pending("a"))
	start := w.clock.Now()
	go func() {
		_, _ = w.watcher.Settled(t.Context(), "a", watcher.Pace{First: 30 * time.Second, Step: 2 * time.Second, Cap: 10 * time.Second})
	}()
	w.until("it is parked", func() bool { return w.watcher.Parked() == 1 })
	w.passUntil("asked twice", func() bool { return w.octavia.all() == 2 })
	asked := w.octavia.requests("a")
	if first, second := asked[0].at.Sub(start), asked[1].at.Sub(asked[0].at); first < 30*time.Second || second > 3*time.Second {
		t.Errorf("asked after %s, and again after %s", first, second)
	}
}

func TestA404IsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ended := w.waitAll("a")
	w.passUntil("nobody waits", func() bool { return w.watcher.Parked() == 0 })
	if got := w.ended(ended[0]); got.err != nil || !got.token.Gone {
		t.Errorf("ended with %+v", got)
	}
}

func TestDeletedIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"a": "DELETED"})
	ended := w.waitAll("a")
	w.passUntil("nobody waits", func() bool { return w.watcher.Parked() == 0 })
	if got := w.ended(ended[0]); got.err != nil || !got.token.Gone {
		t.Errorf("ended with %+v", got)
	}
}

func TestOneMissingFromAListIsGoneOnlyAfterA404(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pending("a", "hidden"))
	w.octavia.unlisted["hidden"] = true
	ended := w.waitAll("a", "hidden", "gone")
	w.passUntil("one has left", func() bool { return w.watcher.Parked() == 2 })
	if got := w.ended(ended[2]); got.err != nil || !got.token.Gone {
		t.Errorf("the one that is gone ended with %+v", got)
	}
	w.octavia.set("ACTIVE", "hidden")
	w.passUntil("another has left", func() bool { return w.watcher.Parked() == 1 })
	if got := w.ended(ended[1]); got.err != nil || got.token.Gone || got.token.Status.Provisioning != "ACTIVE" {
		t.Errorf("the one that lists miss ended with %+v", got)
	}
}

func TestErrorsThatPassAreWaitedOut(t *testing.T) {
	t.Parallel()
	for _, ids := range [][]string{{"a"}, {"a", "b"}} {
		w := newWorld(t, pending(ids...))
		w.octavia.fail(answer(http.StatusServiceUnavailable, "come back later"))
		ended := w.waitAll(ids...)
		w.passUntil("several have failed", func() bool { return w.octavia.all() > 5 })
		w.octavia.set("ACTIVE", ids...)
		w.octavia.fail(nil)
		w.passUntil("nobody waits", func() bool { return w.watcher.Parked() == 0 })
		for _, c := range ended {
			if got := w.ended(c); got.err != nil || got.token.Status.Provisioning != "ACTIVE" {
				t.Errorf("ended with %+v", got)
			}
		}
	}
}

func TestErrorsThatWouldComeAgainEndTheWait(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusBadRequest} {
		w := newWorld(t, pending("a", "b"))
		w.octavia.fail(answer(status, "no"))
		ended := w.waitAll("a", "b")
		w.passUntil("nobody waits", func() bool { return w.watcher.Parked() == 0 })
		for _, c := range ended {
			if got := w.ended(c); apierror.StatusCode(got.err) != status {
				t.Errorf("ended with %+v, want the %d", got, status)
			}
		}
	}
}

// What is wrong with one load balancer ends its own wait only.
func TestAnErrorForOneEndsNoOtherWait(t *testing.T) {
	t.Parallel()
	for range 10 { // the order is that of a map
		w := newWorld(t, pending("a", "b", "c"))
		w.octavia.unlisted["a"], w.octavia.unlisted["b"], w.octavia.unlisted["c"] = true, true, true
		w.octavia.failFor("b", answer(http.StatusForbidden, "no"))
		ended := w.waitAll("a", "b", "c")
		w.passUntil("one has left", func() bool { return w.watcher.Parked() == 2 })
		if got := w.ended(ended[1]); apierror.StatusCode(got.err) != http.StatusForbidden {
			t.Errorf("ended with %+v, want the 403", got)
		}
		w.octavia.set("ACTIVE", "a", "c")
		w.passUntil("nobody waits", func() bool { return w.watcher.Parked() == 0 })
		for _, i := range []int{0, 2} {
			if got := w.ended(ended[i]); got.err != nil || got.token.Status.Provisioning != "ACTIVE" {
				t.Errorf("another ended with %+v", got)
			}
		}
	}
}

// Ten load balancers that are ready one after the other: each wait ends with the first
// look after that, and one list serves all.
func TestOfManyWaitsEachEndsWithTheNextLook(t *testing.T) {
	t.Parallel()
	const many = 10
	ids := names(many)
	w := newWorld(t, pending(ids...))
	pace := watcher.Pace{First: 20 * time.Second, Step: time.Second, Cap: 2700 * time.Millisecond}
	ended := make([]chan time.Time, many)
	for i, id := range ids {
		ended[i] = make(chan time.Time, 1)
		go func() {
			if _, err := w.watcher.Settled(t.Context(), id, pace); err == nil {
				ended[i] <- w.clock.Now()
			}
		}()
		w.until("it is parked", func() bool { return w.watcher.Parked() == i+1 })
		w.pass(5 * time.Second)
	}
	w.pass(15 * time.Second)
	before := w.octavia.all()
	for i := range ids {
		w.pass(time.Duration(700*(i%4)) * time.Millisecond)
		ready := w.clock.Now()
		w.octavia.set("ACTIVE", ids[i])
		w.passUntil("it has left", func() bool { return w.watcher.Parked() == many-i-1 })
		if late := (<-ended[i]).Sub(ready); late > 3200*time.Millisecond { // the clock's steps are of 0.1 s
			t.Errorf("%s was told %s after the end", ids[i], late)
		}
	}
	if rounds := w.octavia.all() - before; rounds > 25 {
		t.Errorf("%d requests for ten waits in half a minute", rounds)
	}
}

// A list may show what was there before a change where the database has replicas: who
// waits for one is told after a second at the earliest.
func TestAListTellsNobodyWhoHasJustCome(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pending("a", "b"))
	w.waitAll("a", "b")
	w.passUntil("both were looked at", func() bool { return w.octavia.all() > 2 })
	w.octavia.set("ACTIVE", "new") // as it was before the change: a replica lags behind
	slow := make(chan error, 1)
	go func() {
		_, err := w.watcher.Settled(t.Context(), "new", watcher.Pace{First: time.Minute, Cap: time.Minute})
		slow <- err
	}()
	w.until("it is parked", func() bool { return w.watcher.Parked() == 3 })
	came := w.clock.Now()
	w.passUntil("it was told", func() bool { return w.watcher.Parked() == 2 })
	if waited := w.clock.Now().Sub(came); waited < time.Second || waited > 15*time.Second {
		t.Errorf("told after %s, want the first list after a second", waited)
	}
	if err := <-slow; err != nil {
		t.Error(err)
	}
}

// Looks of many controllers do not come in step: each interval is a tenth longer or
// shorter than the pace.
//
//proves:74
func TestIntervalsAreSpread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pending("a"))
	go func() {
		_, _ = w.watcher.Settled(t.Context(), "a", watcher.Pace{First: 20 * time.Second, Cap: 20 * time.Second})
	}()
	w.until("it is parked", func() bool { return w.watcher.Parked() == 1 })
	w.passUntil("asked eight times", func() bool { return w.octavia.all() == 8 })
	asked, least, most := w.octavia.requests("a"), time.Hour, time.Duration(0)
	for i := 1; i < len(asked); i++ {
		gap := asked[i].at.Sub(asked[i-1].at)
		least, most = min(least, gap), max(most, gap)
	}
	if least < 18*time.Second || most > 22*time.Second+200*time.Millisecond || most-least < 200*time.Millisecond {
		t.Errorf("intervals from %s to %s, want them spread between 18 s and 22 s", least, most)
	}
}

//proves:75
func TestTheContextEndsOneWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pending("a", "b"))
	ctx, cancel := context.WithCancel(t.Context())
	leaving := w.wait(ctx, "a")
	w.until("it is parked", func() bool { return w.watcher.Parked() == 1 })
	staying := w.wait(t.Context(), "b")
	w.until("both are parked", func() bool { return w.watcher.Parked() == 2 })
	cancel()
	if got := w.ended(leaving); !errors.Is(got.err, context.Canceled) {
		t.Errorf("ended with %+v", got)
	}
	w.octavia.set("ACTIVE", "b")
	w.passUntil("nobody waits", func() bool { return w.watcher.Parked() == 0 })
	if got := w.ended(staying); got.err != nil {
		t.Errorf("the other ended with %+v", got)
	}
	if n := len(w.octavia.requests("a")); n > 0 {
		t.Errorf("%d questions for one that nobody waits for", n)
	}
}

func TestTheErrorOfAWaitSaysWhatFailedLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pending("a"))
	w.octavia.fail(answer(http.StatusServiceUnavailable, "come back later"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := w.wait(ctx, "a")
	w.until("it is parked", func() bool { return w.watcher.Parked() == 1 })
	w.passUntil("several have failed", func() bool { return w.octavia.all() > 2 })
	cancel()
	got := w.ended(ended)
	if !errors.Is(got.err, context.Canceled) || !strings.Contains(got.err.Error(), "come back later") {
		t.Errorf("ended with %v", got.err)
	}
}

func TestCloseEndsAllWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pending("a", "b", "c"))
	ended := w.waitAll("a", "b", "c")
	w.watcher.Close()
	for _, c := range ended {
		if got := w.ended(c); !errors.Is(got.err, watcher.ErrClosed) {
			t.Errorf("ended with %+v", got)
		}
	}
	if got := w.ended(w.wait(t.Context(), "a")); !errors.Is(got.err, watcher.ErrClosed) {
		t.Errorf("a wait after the end: %+v", got)
	}
	w.watcher.Close() // again is no harm
}

func TestAWatcherComesBackAfterAPause(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pending("a"))
	w.octavia.set("ACTIVE", "a")
	for range 5 {
		ended := w.waitAll("a")
		w.passUntil("nobody waits", func() bool { return w.watcher.Parked() == 0 })
		if got := w.ended(ended[0]); got.err != nil {
			t.Fatalf("ended with %+v", got)
		}
	}
}

// TestManyComeAndGo runs on the real clock and is for the race detector.
func TestManyComeAndGo(t *testing.T) {
	t.Parallel()
	o := &fakeOctavia{clock: clock.RealClock{}, statuses: pending(names(10)...)}
	many := watcher.New(o, clock.RealClock{})
	fast := watcher.Pace{First: time.Millisecond, Cap: 3 * time.Millisecond}
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			id := names(10)[i%10]
			for n := range 3 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%7)*time.Millisecond)
				o.set([]string{"ACTIVE", "PENDING_UPDATE", "ERROR"}[(i+n)%3], id)
				_, err := many.Settled(ctx, id, fast)
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", id, err)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if n := many.Parked(); n > 0 {
		t.Errorf("%d are still parked", n)
	}
	many.Close()
}

func TestRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"a": "ERROR"})
	if token, err := watcher.Read(t.Context(), w.octavia, "a"); err != nil || token.Gone || token.Status.Provisioning != "ERROR" {
		t.Errorf("one in ERROR: %+v, %v", token, err)
	}
	if token, err := watcher.Read(t.Context(), w.octavia, "b"); err != nil || !token.Gone {
		t.Errorf("none: %+v, %v", token, err)
	}
	w.octavia.fail(answer(http.StatusServiceUnavailable, "come back later"))
	if token, err := watcher.Read(t.Context(), w.octavia, "b"); err == nil || token.Gone {
		t.Errorf("no answer is taken for gone: %+v", token)
	}
}

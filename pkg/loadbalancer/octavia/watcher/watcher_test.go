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

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

func TestSettled_ReadsOneLoadBalancerForOneWaiter(t *testing.T) {
	t.Parallel()
	e := newEnv(t, pending("a", "b"))
	ended := e.waitAll("a")
	e.advanceUntil("asked three times", func() bool { return len(e.octavia.requests("a")) == 3 })
	e.octavia.set("ACTIVE", "a")
	e.advanceUntil("nobody waits", func() bool { return e.watcher.Waiting() == 0 })
	got := e.ended(ended[0])
	if got.err != nil || got.token.Gone || got.token.Status.Provisioning != "ACTIVE" || !got.token.UpdatedAt.Equal(updatedAt("a")) {
		t.Errorf("ended with %+v", got)
	}
	if lists, others := len(e.octavia.requests("")), len(e.octavia.requests("b")); lists+others > 0 {
		t.Errorf("%d lists and %d requests for another load balancer", lists, others)
	}
}

func TestSettled_SharesOneRequestARound(t *testing.T) {
	t.Parallel()
	const many = 200
	ids := names(many)
	e := newEnv(t, pending(ids...))
	ended := e.waitAll(ids...)
	e.advance(time.Minute)
	lists := e.octavia.requests("")
	if all := e.octavia.all(); all != len(lists) {
		t.Errorf("%d requests beside the lists", all-len(lists))
	}
	// Alone, each would have sent some ten requests in this minute.
	if len(lists) < 5 || len(lists) > 25 {
		t.Errorf("%d lists in a minute for %d waiters", len(lists), many)
	}
	e.octavia.set("ACTIVE", ids...)
	e.advanceUntil("nobody waits", func() bool { return e.watcher.Waiting() == 0 })
	for i, c := range ended {
		if got := e.ended(c); got.err != nil || got.token.Status.Provisioning != "ACTIVE" {
			t.Fatalf("%s ended with %+v", ids[i], got)
		}
	}
}

func TestSettled_ListsOnlyPendingOfManyLoadBalancers(t *testing.T) {
	t.Parallel()
	ids := names(500)
	e := newEnv(t, pending(ids...))
	e.octavia.set("ACTIVE", ids[40:]...)
	ended := e.waitAll(ids[:40]...)
	e.advanceUntil("the first round", func() bool { return e.octavia.all() > 0 }) // it finds the number of load balancers
	e.advance(time.Minute)
	asked := e.octavia.requests("")
	if all := e.octavia.all(); all != len(asked) || all > 25 {
		t.Errorf("%d requests in a minute, %d of them lists", all, len(asked))
	}
	for _, list := range asked[1:] {
		if list.status != "PENDING_UPDATE" || list.size != 40 {
			t.Errorf("a list of %q gave %d", list.status, list.size)
		}
	}
	before := e.octavia.all()
	e.octavia.set("ACTIVE", ids[:2]...)
	e.advanceUntil("two have left", func() bool { return e.watcher.Waiting() == 38 })
	e.octavia.set("PENDING_DELETE", ids[2])
	e.octavia.set("ACTIVE", ids[3:40]...)
	e.advanceUntil("one is left", func() bool { return e.watcher.Waiting() == 1 })
	e.octavia.set("ERROR", ids[2])
	e.advanceUntil("nobody waits", func() bool { return e.watcher.Waiting() == 0 })
	for i, c := range ended {
		want := "ACTIVE"
		if i == 2 {
			want = "ERROR"
		}
		if got := e.ended(c); got.err != nil || got.token.Status.Provisioning != want || !got.token.UpdatedAt.Equal(updatedAt(ids[i])) {
			t.Errorf("%s ended with %+v", ids[i], got)
		}
	}
	if n := e.octavia.all() - before; n > 10 {
		t.Errorf("%d requests to see 40 load balancers end", n)
	}
}

func TestSettled_ReadsOnceForTwoWaitersOfOneLoadBalancer(t *testing.T) {
	t.Parallel()
	e := newEnv(t, pending("a"))
	ended := e.waitAll("a", "a")
	e.octavia.set("ERROR", "a")
	e.advanceUntil("nobody waits", func() bool { return e.watcher.Waiting() == 0 })
	for _, c := range ended {
		if got := e.ended(c); got.err != nil || got.token.Status.Provisioning != "ERROR" {
			t.Errorf("ended with %+v", got)
		}
	}
	if asked := e.octavia.all(); asked != 1 || len(e.octavia.requests("a")) != 1 {
		t.Errorf("%d requests, want one for the load balancer", asked)
	}
}

func TestSettled_EndsEachWaitWithItsOwnLoadBalancer(t *testing.T) {
	t.Parallel()
	e := newEnv(t, pending("a", "b"))
	ended := e.waitAll("a", "b")
	e.octavia.set("ACTIVE", "b")
	e.advanceUntil("one has left", func() bool { return e.watcher.Waiting() == 1 })
	e.ended(ended[1])
	select {
	case got := <-ended[0]:
		t.Errorf("the other ended too, with %+v", got)
	default:
	}
}

//proves:74
func TestSettled_AsksSoonAndThenAtCappedPace(t *testing.T) {
	t.Parallel()
	e := newEnv(t, pending("a"))
	start := e.clock.Now()
	e.waitAll("a")
	e.advance(3 * time.Minute)
	asked := e.octavia.requests("a")
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

// A change of nodes affects many load balancers with similar durations.
func TestSettled_AsksForManyAtTheSamePaceAtFirst(t *testing.T) {
	t.Parallel()
	ids := names(30)
	e := newEnv(t, pending(ids...))
	start := e.clock.Now()
	e.waitAll(ids...)
	e.advance(3 * time.Minute)
	lists := e.octavia.requests("")
	early := 0
	for _, list := range lists {
		if list.at.Sub(start) <= 10*time.Second {
			early++
		}
	}
	if early < 8 {
		t.Errorf("asked %d times in the first ten seconds, want every second", early)
	}
	if len(lists)-early > 30 {
		t.Errorf("asked %d times in the three minutes after that", len(lists)-early)
	}
}

// After a start, the duration of a change of nodes is unknown, and every load balancer is polled in
// intervals. The next changes are seen in time.
func TestSettled_PollsManyInTimeOnceOneChangeIsKnown(t *testing.T) {
	t.Parallel()
	const takes, tick, perTick, ticks = 3 * time.Second, 100 * time.Millisecond, 5, 8
	ids := names(perTick * ticks)
	e := newEnv(t, pending(ids...))
	change := func() (late []time.Duration, lists int) {
		e.octavia.set("PENDING_UPDATE", ids...)
		before, begin := e.octavia.all(), e.clock.Now()
		left := 0
		for now := time.Duration(0); left < len(ids); now += tick {
			if at := int(now / tick); at < ticks {
				for _, id := range ids[at*perTick : (at+1)*perTick] {
					e.waitAt(t.Context(), id, changePace())
				}
				e.until("they are parked", func() bool { return e.watcher.Waiting() == (at+1)*perTick })
			}
			if done := int((now - takes) / tick); now >= takes && done < ticks {
				e.octavia.set("ACTIVE", ids[done*perTick:(done+1)*perTick]...)
			}
			e.advance(tick)
			if now >= takes {
				for ; left < len(ids)-e.watcher.Waiting(); left++ {
					late = append(late, e.clock.Now().Sub(begin)-takes-time.Duration(left/perTick)*tick)
				}
			}
		}
		return late, e.octavia.all() - before
	}
	for n := range 3 {
		late, lists := change()
		if last := late[len(late)-1]; n > 0 && last > 3*tick || last > 6*tick || lists > 20 {
			t.Errorf("change %d: the last is seen done %s late, with %d requests; all: %s", n+1, last, lists, late)
		}
	}
}

// Octavia creates load balancers in sequence. If there are many, polls are shared, each a little
// late; if there are few, each is polled in time.
func TestSettled_AsksForSeveralOfManyCreationsTogether(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		every  time.Duration // between two creations
		rounds int           // at most, of the later half
		late   time.Duration // at most, any of the later half
	}{
		{time.Second, 40, 6 * time.Second},
		{10 * time.Second, 180, 4 * time.Second},
	} {
		t.Run(test.every.String(), func(t *testing.T) {
			t.Parallel()
			rounds, late := createInTurn(t, 120, test.every)
			if t.Logf("%d rounds, the latest %s late", rounds, late); rounds > test.rounds || late > test.late {
				t.Errorf("%d rounds, and one is seen done %s late; want at most %d and %s", rounds, late, test.rounds, test.late)
			}
		})
	}
}

// createInTurn waits for n load balancers that are created in sequence, in 45 s each. For the later
// half, when that is known, it returns the number of polls, and the maximum delay of a seen end.
func createInTurn(t *testing.T, n int, every time.Duration) (rounds int, late time.Duration) {
	t.Helper()
	const takes, tick = 45 * time.Second, 500 * time.Millisecond
	pace := watcher.Pace{
		First: 2 * time.Second, Step: 2 * time.Second, Cap: 10 * time.Second,
		Pending: "PENDING_CREATE", Kind: watcher.Kind{Provider: "amphora", Operation: watcher.Creating},
	}
	ids, e := names(n), newEnv(t, pending())
	begin, begun, done, seen := e.clock.Now(), 0, 0, 0
	for now := time.Duration(0); seen < n; now += tick {
		if begun < n && now >= time.Duration(begun)*every {
			id := ids[begun]
			e.octavia.set("PENDING_CREATE", id)
			go func() { _, _ = e.watcher.Settled(t.Context(), id, pace) }()
			begun++
			e.until("it is parked", func() bool { return e.watcher.Waiting() == begun-seen })
		}
		if done < begun && now >= time.Duration(done)*every+takes {
			e.octavia.set("ACTIVE", ids[done])
			done++
		}
		e.advance(tick)
		for ; seen < begun-e.watcher.Waiting(); seen++ {
			if seen >= n/2 {
				late = max(late, e.clock.Now().Sub(begin)-time.Duration(seen)*every-takes)
			}
		}
	}
	asked := map[time.Time]bool{}
	for _, id := range append(ids, "") {
		for _, r := range e.octavia.requests(id) {
			if r.at.Sub(begin) > time.Duration(n/2)*every+takes {
				asked[r.at] = true
			}
		}
	}
	return len(asked), late
}

// An operation takes a known minimum of time, and is nearly done then.
func TestSettled_PollsSoonAfterALateFirstPoll(t *testing.T) {
	t.Parallel()
	e := newEnv(t, pending("a"))
	start := e.clock.Now()
	go func() {
		_, _ = e.watcher.Settled(t.Context(), "a", watcher.Pace{First: 30 * time.Second, Step: 2 * time.Second, Cap: 10 * time.Second})
	}()
	e.until("it is parked", func() bool { return e.watcher.Waiting() == 1 })
	e.advanceUntil("asked twice", func() bool { return e.octavia.all() == 2 })
	asked := e.octavia.requests("a")
	if first, second := asked[0].at.Sub(start), asked[1].at.Sub(asked[0].at); first < 30*time.Second || second > 3*time.Second {
		t.Errorf("asked after %s, and again after %s", first, second)
	}
}

func TestSettled_ReportsGoneFor404(t *testing.T) {
	t.Parallel()
	e := newEnv(t, nil)
	ended := e.waitAll("a")
	e.advanceUntil("nobody waits", func() bool { return e.watcher.Waiting() == 0 })
	if got := e.ended(ended[0]); got.err != nil || !got.token.Gone {
		t.Errorf("ended with %+v", got)
	}
}

func TestSettled_ReportsGoneForDeleted(t *testing.T) {
	t.Parallel()
	e := newEnv(t, map[string]string{"a": "DELETED"})
	ended := e.waitAll("a")
	e.advanceUntil("nobody waits", func() bool { return e.watcher.Waiting() == 0 })
	if got := e.ended(ended[0]); got.err != nil || !got.token.Gone {
		t.Errorf("ended with %+v", got)
	}
}

func TestSettled_ReportsGoneAfter404OfOneMissingFromAList(t *testing.T) {
	t.Parallel()
	e := newEnv(t, pending("a", "hidden"))
	e.octavia.unlisted["hidden"] = true
	ended := e.waitAll("a", "hidden", "gone")
	e.advanceUntil("one has left", func() bool { return e.watcher.Waiting() == 2 })
	if got := e.ended(ended[2]); got.err != nil || !got.token.Gone {
		t.Errorf("the one that is gone ended with %+v", got)
	}
	e.octavia.set("ACTIVE", "hidden")
	e.advanceUntil("another has left", func() bool { return e.watcher.Waiting() == 1 })
	if got := e.ended(ended[1]); got.err != nil || got.token.Gone || got.token.Status.Provisioning != "ACTIVE" {
		t.Errorf("the one that lists miss ended with %+v", got)
	}
}

func TestSettled_WaitsOutErrorsThatPass(t *testing.T) {
	t.Parallel()
	for _, ids := range [][]string{{"a"}, {"a", "b"}} {
		e := newEnv(t, pending(ids...))
		e.octavia.fail(answer(http.StatusServiceUnavailable, "come back later"))
		ended := e.waitAll(ids...)
		e.advanceUntil("several have failed", func() bool { return e.octavia.all() > 5 })
		e.octavia.set("ACTIVE", ids...)
		e.octavia.fail(nil)
		e.advanceUntil("nobody waits", func() bool { return e.watcher.Waiting() == 0 })
		for _, c := range ended {
			if got := e.ended(c); got.err != nil || got.token.Status.Provisioning != "ACTIVE" {
				t.Errorf("ended with %+v", got)
			}
		}
	}
}

func TestSettled_FailsForErrorsThatWouldComeAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusBadRequest} {
		e := newEnv(t, pending("a", "b"))
		e.octavia.fail(answer(status, "no"))
		ended := e.waitAll("a", "b")
		e.advanceUntil("nobody waits", func() bool { return e.watcher.Waiting() == 0 })
		for _, c := range ended {
			if got := e.ended(c); apierror.StatusCode(got.err) != status {
				t.Errorf("ended with %+v, want the %d", got, status)
			}
		}
	}
}

// An error of one load balancer ends only its own wait.
func TestSettled_EndsNoOtherWaitForAnErrorOfOne(t *testing.T) {
	t.Parallel()
	for range 10 { // the order of a map is random
		e := newEnv(t, pending("a", "b", "c"))
		e.octavia.unlisted["a"], e.octavia.unlisted["b"], e.octavia.unlisted["c"] = true, true, true
		e.octavia.failFor("b", answer(http.StatusForbidden, "no"))
		ended := e.waitAll("a", "b", "c")
		e.advanceUntil("one has left", func() bool { return e.watcher.Waiting() == 2 })
		if got := e.ended(ended[1]); apierror.StatusCode(got.err) != http.StatusForbidden {
			t.Errorf("ended with %+v, want the 403", got)
		}
		e.octavia.set("ACTIVE", "a", "c")
		e.advanceUntil("nobody waits", func() bool { return e.watcher.Waiting() == 0 })
		for _, i := range []int{0, 2} {
			if got := e.ended(ended[i]); got.err != nil || got.token.Status.Provisioning != "ACTIVE" {
				t.Errorf("another ended with %+v", got)
			}
		}
	}
}

// Ten load balancers become ready in sequence: each wait ends with the next poll, and one list
// serves all.
func TestSettled_EndsEachOfManyWaitsWithTheNextPoll(t *testing.T) {
	t.Parallel()
	const many = 10
	ids := names(many)
	e := newEnv(t, pending(ids...))
	pace := watcher.Pace{First: 20 * time.Second, Step: time.Second, Cap: 2700 * time.Millisecond}
	ended := make([]chan time.Time, many)
	for i, id := range ids {
		ended[i] = make(chan time.Time, 1)
		go func() {
			if _, err := e.watcher.Settled(t.Context(), id, pace); err == nil {
				ended[i] <- e.clock.Now()
			}
		}()
		e.until("it is parked", func() bool { return e.watcher.Waiting() == i+1 })
		e.advance(5 * time.Second)
	}
	e.advance(15 * time.Second)
	before := e.octavia.all()
	for i := range ids {
		e.advance(time.Duration(700*(i%4)) * time.Millisecond)
		ready := e.clock.Now()
		e.octavia.set("ACTIVE", ids[i])
		e.advanceUntil("it has left", func() bool { return e.watcher.Waiting() == many-i-1 })
		if late := (<-ended[i]).Sub(ready); late > 3200*time.Millisecond { // the clock's steps are of 0.1 s
			t.Errorf("%s ended %s late", ids[i], late)
		}
	}
	if rounds := e.octavia.all() - before; rounds > 25 {
		t.Errorf("%d requests for ten waits in half a minute", rounds)
	}
}

// If the database has replicas, a list may return the state before a change: a new wait ends after
// a second at the earliest.
func TestSettled_EndsNoFreshWaitWithAnEarlierList(t *testing.T) {
	t.Parallel()
	e := newEnv(t, pending("a", "b"))
	e.waitAll("a", "b")
	e.advanceUntil("both were looked at", func() bool { return e.octavia.all() > 2 })
	e.octavia.set("ACTIVE", "new") // a replica still has the state before the change
	slow := make(chan error, 1)
	go func() {
		_, err := e.watcher.Settled(t.Context(), "new", watcher.Pace{First: time.Minute, Cap: time.Minute})
		slow <- err
	}()
	e.until("it is parked", func() bool { return e.watcher.Waiting() == 3 })
	came := e.clock.Now()
	e.advanceUntil("its wait has ended", func() bool { return e.watcher.Waiting() == 2 })
	if waited := e.clock.Now().Sub(came); waited < time.Second || waited > 15*time.Second {
		t.Errorf("it ended after %s, want the first list after a second", waited)
	}
	if err := <-slow; err != nil {
		t.Error(err)
	}
}

// Polls of many controllers do not synchronize: each interval is up to a tenth longer or shorter
// than the pace.
//
//proves:74
func TestSettled_SpreadsItsIntervals(t *testing.T) {
	t.Parallel()
	e := newEnv(t, pending("a"))
	go func() {
		_, _ = e.watcher.Settled(t.Context(), "a", watcher.Pace{First: 20 * time.Second, Cap: 20 * time.Second})
	}()
	e.until("it is parked", func() bool { return e.watcher.Waiting() == 1 })
	e.advanceUntil("asked eight times", func() bool { return e.octavia.all() == 8 })
	asked, least, most := e.octavia.requests("a"), time.Hour, time.Duration(0)
	for i := 1; i < len(asked); i++ {
		gap := asked[i].at.Sub(asked[i-1].at)
		least, most = min(least, gap), max(most, gap)
	}
	if least < 18*time.Second || most > 22*time.Second+200*time.Millisecond || most-least < 200*time.Millisecond {
		t.Errorf("intervals from %s to %s, want them spread between 18 s and 22 s", least, most)
	}
}

//proves:75
func TestSettled_EndsOneWaitWithItsContext(t *testing.T) {
	t.Parallel()
	e := newEnv(t, pending("a", "b"))
	ctx, cancel := context.WithCancel(t.Context())
	leaving := e.wait(ctx, "a")
	e.until("it is parked", func() bool { return e.watcher.Waiting() == 1 })
	staying := e.wait(t.Context(), "b")
	e.until("both are parked", func() bool { return e.watcher.Waiting() == 2 })
	cancel()
	if got := e.ended(leaving); !errors.Is(got.err, context.Canceled) {
		t.Errorf("ended with %+v", got)
	}
	e.octavia.set("ACTIVE", "b")
	e.advanceUntil("nobody waits", func() bool { return e.watcher.Waiting() == 0 })
	if got := e.ended(staying); got.err != nil {
		t.Errorf("the other ended with %+v", got)
	}
	if n := len(e.octavia.requests("a")); n > 0 {
		t.Errorf("%d questions for one that nobody waits for", n)
	}
}

func TestSettled_ReturnsTheErrorOfTheLastRequest(t *testing.T) {
	t.Parallel()
	e := newEnv(t, pending("a"))
	e.octavia.fail(answer(http.StatusServiceUnavailable, "come back later"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := e.wait(ctx, "a")
	e.until("it is parked", func() bool { return e.watcher.Waiting() == 1 })
	e.advanceUntil("several have failed", func() bool { return e.octavia.all() > 2 })
	cancel()
	got := e.ended(ended)
	if !errors.Is(got.err, context.Canceled) || !strings.Contains(got.err.Error(), "come back later") {
		t.Errorf("ended with %v", got.err)
	}
}

func TestClose_EndsAllWaits(t *testing.T) {
	t.Parallel()
	e := newEnv(t, pending("a", "b", "c"))
	ended := e.waitAll("a", "b", "c")
	e.watcher.Close()
	for _, c := range ended {
		if got := e.ended(c); !errors.Is(got.err, watcher.ErrClosed) {
			t.Errorf("ended with %+v", got)
		}
	}
	if got := e.ended(e.wait(t.Context(), "a")); !errors.Is(got.err, watcher.ErrClosed) {
		t.Errorf("a wait after the end: %+v", got)
	}
	e.watcher.Close() // a second call is harmless
}

func TestWatcher_StartsAgainAfterAPause(t *testing.T) {
	t.Parallel()
	e := newEnv(t, pending("a"))
	e.octavia.set("ACTIVE", "a")
	for range 5 {
		ended := e.waitAll("a")
		e.advanceUntil("nobody waits", func() bool { return e.watcher.Waiting() == 0 })
		if got := e.ended(ended[0]); got.err != nil {
			t.Fatalf("ended with %+v", got)
		}
	}
}

// TestWatcher_ServesManyThatComeAndGo uses the real clock, for the race detector.
func TestWatcher_ServesManyThatComeAndGo(t *testing.T) {
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
	if n := many.Waiting(); n > 0 {
		t.Errorf("%d are still parked", n)
	}
	many.Close()
}

func TestRead_ReturnsToken(t *testing.T) {
	t.Parallel()
	e := newEnv(t, map[string]string{"a": "ERROR"})
	if token, err := watcher.Read(t.Context(), e.octavia, "a"); err != nil || token.Gone || token.Status.Provisioning != "ERROR" {
		t.Errorf("one in ERROR: %+v, %v", token, err)
	}
	if token, err := watcher.Read(t.Context(), e.octavia, "b"); err != nil || !token.Gone {
		t.Errorf("none: %+v, %v", token, err)
	}
	e.octavia.fail(answer(http.StatusServiceUnavailable, "come back later"))
	if token, err := watcher.Read(t.Context(), e.octavia, "b"); err == nil || token.Gone {
		t.Errorf("no answer is taken for gone: %+v", token)
	}
}

func TestStatusTree_IsReadAtOnceOrAfterATime(t *testing.T) {
	t.Parallel()
	e := newEnv(t, pending("a"))
	if tree, err := e.watcher.StatusTree(t.Context(), "a", 0); err != nil || tree.ProvisioningStatus != "PENDING_UPDATE" {
		t.Errorf("got %+v, error %v", tree, err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := e.watcher.StatusTree(t.Context(), "a", time.Second)
		read <- err
	}()
	e.until("it waits", e.clock.HasWaiters)
	if n := len(e.octavia.requests("a")); n != 1 {
		t.Errorf("%d requests before the time has passed, want that of the first call", n)
	}
	e.clock.Step(time.Second)
	if err := <-read; err != nil {
		t.Error(err)
	}
}

func TestStatusTree_EndsWithTheContext(t *testing.T) {
	t.Parallel()
	e := newEnv(t, pending("a"))
	ctx, cancel := context.WithCancel(t.Context())
	read := make(chan error, 1)
	go func() {
		_, err := e.watcher.StatusTree(ctx, "a", time.Hour)
		read <- err
	}()
	e.until("it waits", e.clock.HasWaiters)
	cancel()
	if err := <-read; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

package watcher

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

// rounds is a Watcher. The test calls its rounds.
type rounds struct {
	*Watcher

	cloud *lists
	clock *clocktesting.FakeClock
	began time.Time
}

func newRounds(t *testing.T) *rounds {
	t.Helper()
	began := time.Unix(1_800_000_000, 0)
	r := &rounds{cloud: &lists{statuses: map[string]string{}, fails: map[string]error{}}, clock: clocktesting.NewFakeClock(began), began: began}
	r.Watcher = New(r.cloud, r.clock)
	t.Cleanup(r.Close)
	return r
}

// parks adds a waiter that is due after a time, with an interval of three seconds, for an updating load balancer.
func (r *rounds) parks(id string, due time.Duration) *waiter {
	r.cloud.statuses[id] = updating
	p := &waiter{
		id: id, pending: updating, parked: r.clock.Now(), due: r.clock.Now().Add(due), interval: 3 * time.Second,
		pace: Pace{First: time.Second, Cap: 5 * time.Second, Kind: Kind{"amphora", Updating}}, end: func(error) {},
	}
	p.Future = async.NewFuture[Token](func(err error) error { return r.unpark(p, err) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Watcher.parked[p] = struct{}{}
	return p
}

// result returns the result of a wait, false if it goes on.
func (r *rounds) result(t *testing.T, p *waiter) (token Token, done bool, err error) {
	t.Helper()
	if _, waits := r.Watcher.parked[p]; waits {
		return Token{}, false, nil
	}
	token, err = async.Await(t.Context(), telemetry.Octavia, p.id, func() *async.Future[Token] { return p.Future })
	return token, true, err
}

// after reports whether a time is so long after now, up to a tenth more or less.
func (r *rounds) after(at time.Time, want time.Duration) bool {
	d := at.Sub(r.clock.Now())
	return d >= want*9/10 && d <= want*11/10
}

func TestDue_IncludesWhatIsDueWithinAThirdOfItsInterval(t *testing.T) {
	t.Parallel()
	r := newRounds(t)
	for id, due := range map[string]time.Duration{"past": -1, "now": 0, "soon": time.Second, "later": time.Second + 1} {
		r.parks(id, due).polled = true
	}
	due, others := r.due()
	if len(due) != 3 || len(others) != 1 || others[0].id != "later" {
		t.Errorf("%d are due, others are %v", len(due), others)
	}
}

// The database may have replicas, which show the state before a change for a moment.
func TestDue_OffersNoListToAFreshWait(t *testing.T) {
	t.Parallel()
	r := newRounds(t)
	r.parks("fresh", time.Minute)
	r.parks("polled", time.Minute).polled = true
	for after, want := range map[time.Duration]int{time.Second - 1: 1, time.Second: 2} {
		r.clock.SetTime(r.began.Add(after))
		if due, others := r.due(); len(due) != 0 || len(others) != want {
			t.Errorf("after %s: %d are due, %d others", after, len(due), len(others))
		}
	}
}

func TestNext_IsTheFirstWaiterAndALittleLaterInACrowd(t *testing.T) {
	t.Parallel()
	r := newRounds(t)
	if _, waits := r.next(); waits || r.running {
		t.Error("it runs without waiters")
	}
	for i, id := range named(10) {
		p := r.parks(id, time.Duration(20-i)*time.Second)
		p.leeway = time.Minute
		want := p.due
		if i == 9 {
			want = want.Add(time.Minute)
		}
		if at, waits := r.next(); !waits || !at.Equal(want) || !r.running || !r.planned.Equal(want) {
			t.Errorf("with %d waiters the next round is at %s, want %s", i+1, at, want)
		}
	}
}

func TestRound_PollsAgainHalfAsLongAgainLaterUpToTheCap(t *testing.T) {
	t.Parallel()
	r := newRounds(t)
	p := r.parks("a", 0)
	for i, want := range []time.Duration{3 * time.Second, 4500 * time.Millisecond, 5 * time.Second, 5 * time.Second} {
		r.clock.SetTime(p.due)
		r.round()
		if !p.polled || !r.after(p.due, want) {
			t.Errorf("poll %d: the next one is in %s, want %s", i, p.due.Sub(r.clock.Now()), want)
		}
	}
	r.clock.SetTime(p.due.Add(-p.interval/3 - 1))
	r.round()
	if len(r.cloud.sent) != 4 {
		t.Errorf("sent %q: a round polls before anything is due", r.cloud.sent)
	}
}

// A change of nodes concerns many load balancers, which one request serves.
func TestRound_KeepsTheIntervalOfACrowdForTenSeconds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		waiters int
		after   time.Duration
		want    time.Duration // the interval
	}{
		{9, 0, 4500 * time.Millisecond}, {10, 0, 3 * time.Second}, {10, 10 * time.Second, 3 * time.Second}, {10, 10*time.Second + 1, 4500 * time.Millisecond},
	} {
		r := newRounds(t)
		var first *waiter
		for _, id := range named(test.waiters) {
			first = r.parks(id, 0)
		}
		r.clock.SetTime(r.began.Add(test.after))
		if r.round(); first.interval != test.want {
			t.Errorf("%d waiters after %s: interval %s, want %s", test.waiters, test.after, first.interval, test.want)
		}
	}
}

func TestRound_PostponesOthersThatItsListShowsPending(t *testing.T) {
	t.Parallel()
	r := newRounds(t)
	r.parks("due", 0)
	r.parks("also due", 0)
	polled, fresh, ready, hidden := r.parks("polled", 2*time.Second), r.parks("fresh", 2*time.Second), r.parks("ready", 2*time.Second), r.parks("hidden", 2*time.Second)
	polled.polled, hidden.polled = true, true
	r.cloud.statuses["ready"], r.cloud.unlisted = "ACTIVE", map[string]bool{"hidden": true}
	planned := fresh.due
	r.clock.SetTime(r.began.Add(time.Second - 1))
	for p := range r.Watcher.parked {
		p.parked = r.began.Add(-time.Second)
	}
	r.round()
	if !r.after(polled.due, 3*time.Second) || polled.interval != 3*time.Second || !fresh.due.Equal(planned) || !hidden.due.Equal(planned) {
		t.Errorf("polls are due at %s, %s and %s", polled.due, fresh.due, hidden.due)
	}
	if got, done, err := r.result(t, ready); !done || err != nil || got.Status.Provisioning != "ACTIVE" {
		t.Errorf("the wait of another that is ready: %+v, error %v, ended %v", got, err, done)
	}
	if r.Waiting() != 5 || r.total != 5 {
		t.Errorf("%d wait, of %d load balancers", r.Waiting(), r.total)
	}
}

func TestRound_EndsWaitsWithWhatCannotChangeAnyMore(t *testing.T) {
	t.Parallel()
	forbidden, outage := refused(http.StatusForbidden), refused(http.StatusServiceUnavailable)
	for name, test := range map[string]struct {
		status string // "" is gone
		err    error
		ends   bool
		took   bool // its duration is learned
	}{
		"ready":     {"ACTIVE", nil, true, true},
		"in ERROR":  {"ERROR", nil, true, false},
		"gone":      {"", nil, true, true},
		"deleted":   {"DELETED", nil, true, true},
		"pending":   {updating, nil, false, false},
		"deleting":  {"PENDING_DELETE", nil, false, false},
		"forbidden": {"", forbidden, true, false},
		"no answer": {"", outage, false, false},
	} {
		r := newRounds(t)
		p := r.parks("a", 0)
		if r.cloud.statuses["a"] = test.status; test.status == "" {
			delete(r.cloud.statuses, "a")
		}
		var ended []error
		p.end = func(err error) { ended = append(ended, err) }
		r.cloud.fails["a"] = test.err
		r.clock.Step(2 * time.Second)
		r.round()
		_, done, err := r.result(t, p)
		if done != test.ends || test.ends && !errors.Is(err, test.err) || (r.Waiting() == 0) != test.ends || len(ended) > 0 != test.ends {
			t.Errorf("%s: ended %v, error %v", name, done, err)
		}
		if took, known := r.Took(Kind{"amphora", Updating}); known != test.took || known && took != 2*time.Second {
			t.Errorf("%s: it took %s, known %v", name, took, known)
		}
		if !test.ends && !errors.Is(p.last, test.err) {
			t.Errorf("%s: the last error is %v", name, p.last)
		}
	}
}

func TestRound_KeepsTheErrorOfTheLastRequestOnly(t *testing.T) {
	t.Parallel()
	r := newRounds(t)
	p := r.parks("a", 0)
	for _, err := range []error{refused(http.StatusServiceUnavailable), nil} {
		r.cloud.fails["a"] = err
		r.clock.SetTime(p.due)
		if r.round(); !errors.Is(p.last, err) || err == nil && p.last != nil {
			t.Errorf("the last error is %v, want %v", p.last, err)
		}
	}
}

func TestLearn_KnowsSinceWhenAnOperationWasPending(t *testing.T) {
	t.Parallel()
	r := newRounds(t)
	p := r.parks("a", 0)
	r.clock.Step(time.Second)
	r.round()
	r.clock.SetTime(r.began.Add(4 * time.Second))
	p.due = r.clock.Now()
	r.cloud.statuses["a"] = "ACTIVE"
	r.round()
	if got := r.took[Kind{"amphora", Updating}]; len(got) != 1 || got[0] != (sample{pending: time.Second, done: 4 * time.Second}) {
		t.Errorf("learned %+v", got)
	}
	unknown := r.parks("b", 0)
	unknown.pace.Kind = Kind{}
	r.cloud.statuses["b"] = "ACTIVE"
	if r.round(); len(r.took) != 1 {
		t.Errorf("learned %+v", r.took)
	}
}

func TestSettle_IgnoresAWaiterThatHasLeft(t *testing.T) {
	t.Parallel()
	r := newRounds(t)
	p := r.parks("a", 0)
	if err := r.unpark(p, errors.New("over")); r.Waiting() != 0 || err == nil {
		t.Errorf("%d wait, error %v", r.Waiting(), err)
	}
	if !r.settle(p, answer{token: Token{Status: model.Status{Provisioning: "ACTIVE"}}}, r.clock.Now()) || len(r.took) > 0 {
		t.Error("a wait that is over is learned from, or goes on")
	}
}

// The round of a Service reports who can help while Octavia does not finish.
func TestUnpark_TellsSinceWhenALoadBalancerIsPending(t *testing.T) {
	t.Parallel()
	why, outage := errors.New("the time is over"), refused(http.StatusServiceUnavailable)
	r := newRounds(t)
	p := r.parks("lb", 0)
	p.last = outage
	err := r.unpark(p, why)
	var pending *PendingError
	if errors.As(err, &pending) || !errors.Is(err, why) || !errors.Is(err, outage) {
		t.Errorf("of a status that nobody has seen: %v", err)
	}
	p.seen, p.since = r.began, time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	err = r.unpark(p, why)
	if !errors.As(err, &pending) || !errors.Is(err, why) || pending.ID != "lb" || pending.Status != updating {
		t.Fatalf("error %v", err)
	}
	if got := pending.What(); !strings.HasPrefix(got, "load balancer lb is PENDING_UPDATE since 2026-01-02T02:04:05Z: Octavia accepts no other change") {
		t.Errorf("it says %q", got)
	}
	if !strings.Contains(pending.Error(), pending.What()+": the time is over") {
		t.Errorf("it says %q", pending.Error())
	}
	if pending.Since = (time.Time{}); !strings.HasPrefix(pending.What(), "load balancer lb is PENDING_UPDATE: Octavia") {
		t.Errorf("it says %q", pending.What())
	}
}

func TestTook_IsTheMedianOfRecordedOperations(t *testing.T) {
	t.Parallel()
	r := newRounds(t)
	kind := Kind{"ovn", ChangingMembers}
	if took, known := r.Took(kind); known || took != 0 {
		t.Errorf("%s before the first", took)
	}
	for i, step := range []struct{ took, want time.Duration }{{5, 5}, {1, 5}, {3, 3}, {9, 5}, {9, 5}} {
		r.Record(kind, step.took)
		if took, known := r.Took(kind); !known || took != step.want {
			t.Errorf("after %d: %s (%v), want %s", i+1, took, known, step.want)
		}
	}
	if _, known := r.Took(Kind{"ovn", Updating}); known {
		t.Error("another operation has its duration")
	}
}

func TestSchedule_FollowsPaceUntilDurationsAreKnown(t *testing.T) {
	t.Parallel()
	r := newRounds(t)
	p := r.parks("a", 0)
	p.pace = Pace{First: 2 * time.Second, Step: time.Second, Cap: 5 * time.Second, Kind: Kind{"amphora", Creating}}
	if r.schedule(p); !r.after(p.due, 2*time.Second) || p.interval != time.Second || p.leeway != 0 {
		t.Errorf("due in %s, then every %s, leeway %s", p.due.Sub(r.began), p.interval, p.leeway)
	}
	p.pace.Step = 0
	if r.schedule(p); p.interval != 2*time.Second {
		t.Errorf("without a step every %s", p.interval)
	}
	r.Record(p.pace.Kind, time.Minute)
	if r.schedule(p); !p.due.Equal(r.began.Add(22500*time.Millisecond)) || p.leeway != 1500*time.Millisecond {
		t.Errorf("due in %s, leeway %s", p.due.Sub(r.began), p.leeway)
	}
}

// A change that is faster than those in progress must not wait for them.
func TestPark_WakesTheWatcherForAnEarlierPoll(t *testing.T) {
	t.Parallel()
	r := newRounds(t)
	r.running, r.planned = true, r.began.Add(10*time.Second)
	for due, want := range map[time.Duration]bool{20 * time.Second: false, 10 * time.Second: false, 9 * time.Second: true} {
		p := &waiter{id: "a", parked: r.began, pace: Pace{First: due}}
		r.park(p)
		woken := len(r.wake) > 0
		if woken != want {
			t.Errorf("due after %s: woken %v", due, woken)
		}
		if woken {
			<-r.wake
		}
		delete(r.Watcher.parked, p)
	}
}

func TestJitter_VariesByATenth(t *testing.T) {
	t.Parallel()
	least, most := time.Hour, time.Duration(0)
	for range 1000 {
		d := jitter(time.Second)
		least, most = min(least, d), max(most, d)
	}
	if least < 900*time.Millisecond || least > 920*time.Millisecond || most > 1100*time.Millisecond || most < 1080*time.Millisecond {
		t.Errorf("from %s to %s", least, most)
	}
}

package watcher

import (
	"testing"
	"time"
)

// usualIntervals is the pace of most changes.
func usualIntervals(k Kind) Pace {
	return Pace{First: time.Second, Step: 500 * time.Millisecond, Cap: 3 * time.Second, Kind: k}
}

// watched waits for an operation of a kind and a duration, as the watcher does. It returns the
// number of polls, and the delay of the last one.
func watched(d durations, k Kind, takes time.Duration) (polls int, late time.Duration) {
	pace, _ := d.intervals(usualIntervals(k))
	pending, at, interval := time.Duration(0), pace.First, pace.Step
	for polls = 1; at < takes; polls++ {
		pending = at
		at += interval
		interval = min(interval+interval/2, pace.Cap)
	}
	d.observe(k, sample{pending: pending, done: at})
	return polls, at - takes
}

func TestDurations_FirstPollComesWhenMostAreNearlyDone(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{500 * time.Millisecond, 1200 * time.Millisecond, 3 * time.Second, 8 * time.Second, 45 * time.Second} {
		k := Kind{"amphora", Creating}
		d := durations{}
		if got, known := d.intervals(usualIntervals(k)); known || got != usualIntervals(k) {
			t.Errorf("before anything took any time: %v", got)
		}
		for range samples {
			watched(d, k, takes)
		}
		for range 20 {
			if polls, late := watched(d, k, takes); polls > 2 || late > 500*time.Millisecond {
				t.Errorf("what always takes %s took %d polls, the last one %s late", takes, polls, late)
			}
		}
		other := usualIntervals(Kind{"ovn", Creating})
		if got, known := d.intervals(other); known || got != other {
			t.Errorf("another provider's: %v", got)
		}
	}
}

// In a regular cloud, the end of a change of three seconds is seen within a tenth of one, with two
// polls for each.
func TestDurations_PollCloserTheMoreRegularTheCloudIs(t *testing.T) {
	t.Parallel()
	k := Kind{"amphora", Updating}
	d := durations{}
	for n := range 100 {
		takes := 3*time.Second + time.Duration(n%3)*10*time.Millisecond
		if polls, late := watched(d, k, takes); n > 3*samples && (polls > 3 || late > 120*time.Millisecond) {
			t.Errorf("change %d took %d polls, the last one %s late", n, polls, late)
		}
	}
}

// An amphora that Octavia cannot reach is PENDING for ten minutes: that must not affect other load
// balancers.
func TestDurations_IgnoreOneStuckLoadBalancer(t *testing.T) {
	t.Parallel()
	k := Kind{"amphora", Updating}
	d := durations{}
	for range 50 {
		watched(d, k, 3*time.Second)
	}
	watched(d, k, 10*time.Minute)
	for n := range 20 {
		if _, late := watched(d, k, 3*time.Second); late > 500*time.Millisecond {
			t.Errorf("change %d after it was looked at %s late", n+1, late)
		}
	}
}

// After an outage of Octavia only long durations are known. A first poll that finds a change done
// halves the next, independently of its own duration.
func TestDurations_ForgetAnOutageAfterAFewChanges(t *testing.T) {
	t.Parallel()
	for operation, longest := range map[Operation]time.Duration{Creating: 45 * time.Second, Updating: 10 * time.Second, Deleting: 10 * time.Second} {
		k := Kind{"amphora", operation}
		d := durations{}
		for range 50 {
			watched(d, k, 10*time.Minute)
		}
		if got, _ := d.intervals(usualIntervals(k)); got.First > longest {
			t.Errorf("%s: the first look comes after %s, want %s at most", operation, got.First, longest)
		}
		var late time.Duration
		for range 5 {
			_, late = watched(d, k, 3*time.Second)
		}
		if late > time.Second {
			t.Errorf("%s: after five changes of 3 s each one is still looked at %s late", operation, late)
		}
		for range samples {
			_, late = watched(d, k, 3*time.Second)
		}
		if late > 500*time.Millisecond {
			t.Errorf("%s: in the end one is looked at %s late", operation, late)
		}
	}
}

// Durations vary: a wait ends at most an interval after the end, unless the operation was faster
// than all recent ones.
func TestDurations_PollInTimeWhereTimesDiffer(t *testing.T) {
	t.Parallel()
	k := Kind{"amphora", Creating}
	d := durations{}
	times := []int{20, 34, 26, 55, 21, 48, 30, 60, 23, 41, 37}
	lateOnes := 0
	for i := range 10 * len(times) {
		if _, late := watched(d, k, time.Duration(times[i%len(times)])*time.Second); i > samples && late > usualIntervals(k).Cap {
			lateOnes++
		}
	}
	if lateOnes > 0 {
		t.Errorf("%d polls were later than the longest interval", lateOnes)
	}
}

// The rules of the pace, in seconds: the first poll comes before the fastest operation is done, the second soon after it.
func TestIntervals_FollowTheObservedOperations(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, test := range map[string]struct {
		operation Operation
		all       []sample
		first     time.Duration
		step      int // in milliseconds
	}{
		"nothing was pending before the end":            {Creating, []sample{{0, 20 * s}}, 10 * s, 500},
		"faster than the pace":                          {Updating, []sample{{0, s}}, s, 33},
		"pending shortly before the end":                {Updating, []sample{{3 * s, 4 * s}}, 3 * s, 300},
		"several, of which one was quicker":             {Updating, []sample{{5 * s, 6 * s}, {2 * s, 4 * s}}, 2 * s, 250},
		"the longest that was pending before all ends":  {Creating, []sample{{30 * s, 40 * s}, {35 * s, 36 * s}, {20 * s, 50 * s}}, 35 * s, 500},
		"an end at that very time is not before it":     {Creating, []sample{{36 * s, 40 * s}, {30 * s, 36 * s}}, 30 * s, 500},
		"none was pending before the quickest end":      {Creating, []sample{{30 * s, 40 * s}, {21 * s, 20 * s}}, 10 * s, 500},
		"longer than the longest first poll":            {Updating, []sample{{100 * s, 101 * s}}, 5 * s, 500},
		"longer, and not pending before":                {Creating, []sample{{0, 600 * s}}, 22500 * time.Millisecond, 500},
		"the newest was not pending before the end":     {Updating, []sample{{3 * s, 4 * s}, {0, 8 * s}}, 4 * s, 400},
		"members are changed within the shortest limit": {ChangingMembers, []sample{{0, 60 * s}}, 5 * s, 500},
		"failed over like created":                      {FailingOver, []sample{{0, 60 * s}}, 22500 * time.Millisecond, 500},
	} {
		kind := Kind{"amphora", test.operation}
		given := Pace{First: s, Step: 500 * time.Millisecond, Cap: 3 * s, Kind: kind}
		got, known := durations{kind: test.all}.intervals(given)
		if !known || got.First != test.first || got.Step.Milliseconds() != int64(test.step) || got.Cap != given.Cap || got.Kind != kind {
			t.Errorf("%s: first %s, step %s, known %v; want %s and %d ms", name, got.First, got.Step, known, test.first, test.step)
		}
	}
}

// The second poll is halfway to the fastest end, but at least a thirtieth of the first wait away, and at most as far as
// the pace, or half of it if that is not closer than a tenth of the first wait.
func TestIntervals_PollAgainHalfwayToTheFastestEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given, pending, done, want int // in milliseconds
	}{
		"as given":                  {500, 8000, 10000, 500},
		"a tenth of the first wait": {1000, 8000, 10000, 800},
		"half of the given":         {1000, 4000, 8000, 500},
		"halfway to the end":        {4000, 9000, 10000, 500},
		"a thirtieth":               {4000, 9000, 9100, 300},
	} {
		ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
		kind := Kind{"amphora", Creating}
		got, _ := durations{kind: {{ms(test.pending), ms(test.done)}}}.intervals(Pace{First: time.Second, Step: ms(test.given), Kind: kind})
		if got.Step != ms(test.want) {
			t.Errorf("%s: %s, want %d ms", name, got.Step, test.want)
		}
	}
}

func TestDurations_KeepTheNewest(t *testing.T) {
	t.Parallel()
	k := Kind{"amphora", Updating}
	d := durations{}
	for i := range samples + 2 {
		d.observe(k, sample{done: time.Duration(i)})
	}
	if all := d[k]; len(all) != samples || all[0].done != 2 || all[samples-1].done != samples+1 {
		t.Errorf("kept are %v", all)
	}
	if median, known := d.median(k); !known || median != 6 {
		t.Errorf("the median is %s", median)
	}
}

func TestOperation_LimitsFirstPollAndLeewayByItsKind(t *testing.T) {
	t.Parallel()
	for operation, machines := range map[Operation]bool{Creating: true, FailingOver: true, Updating: false, Deleting: false, ChangingMembers: false} {
		latest, leeway := 10*time.Second, time.Duration(0)
		if machines {
			latest, leeway = 45*time.Second, 2*time.Second
		}
		if got := operation.latest(); got != latest {
			t.Errorf("%s: latest %s", operation, got)
		}
		if got := operation.leeway(30 * time.Second); got != leeway {
			t.Errorf("%s: leeway %s", operation, got)
		}
	}
}

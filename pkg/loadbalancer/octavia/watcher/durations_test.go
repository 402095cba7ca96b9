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

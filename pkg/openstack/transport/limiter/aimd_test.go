package limiter

import (
	"testing"
	"time"
)

func limited(start, most int) *aimd {
	a := newAIMD(bounds{start, most})
	return &a
}

// goodAnswers come while the limit is reached all the time.
func (a *aimd) goodAnswers(n int) {
	for range n {
		a.reached = true
		a.success(a.backoffEpoch)
	}
}

func TestAIMD_GrowsByOneAfterEachCleanWindow(t *testing.T) {
	t.Parallel()
	a := limited(4, 6)
	for _, step := range []struct{ answers, limit int }{
		{3, 4}, {1, 5}, {4, 5}, {1, 6}, {100, 6},
	} {
		a.goodAnswers(step.answers)
		if a.limit != step.limit {
			t.Errorf("limit %d after %d more answers, want %d", a.limit, step.answers, step.limit)
		}
	}
}

func TestAIMD_DoesNotGrowLimitThatHeldNobodyUp(t *testing.T) {
	t.Parallel()
	a := newAIMD(bounds{4, 8})
	for range 100 {
		a.success(0)
	}
	if a.limit != 4 {
		t.Errorf("limit %d, want 4: it was never reached", a.limit)
	}
}

func TestAIMD_HalvesLimitOncePerLoad(t *testing.T) {
	t.Parallel()
	a := limited(8, 32)
	if !a.backOff(0) || a.limit != 4 {
		t.Errorf("limit %d, want 4", a.limit)
	}
	if a.backOff(0) || a.limit != 4 {
		t.Errorf("limit %d, want 4: what was sent before the cut does not count", a.limit)
	}
	a.success(0)
	if a.good != 0 {
		t.Error("a good answer from before the cut counts")
	}
	for _, want := range []int{2, 1, 1, 1} {
		if !a.backOff(a.backoffEpoch) || a.limit != want {
			t.Errorf("limit %d, want %d", a.limit, want)
		}
	}
	a.goodAnswers(1 + 2 + 3)
	if a.limit != 4 {
		t.Errorf("limit %d after three clean windows, want 4", a.limit)
	}
}

func TestAIMD_RestartsWindowAfterBadAnswer(t *testing.T) {
	t.Parallel()
	a := limited(8, 32)
	a.goodAnswers(7)
	a.backOff(0)
	a.goodAnswers(3)
	if a.limit != 4 {
		t.Errorf("limit %d, want 4: the window has just begun", a.limit)
	}
	a.goodAnswers(1)
	if a.limit != 5 {
		t.Errorf("limit %d, want 5", a.limit)
	}
}

// notes adds a window of equal latencies and some others.
func (l *latency) notes(usual time.Duration, others ...time.Duration) bool {
	slow := false
	for i := range latencyWindow {
		took := usual
		if i < len(others) {
			took = others[i]
		}
		slow = l.add(took)
	}
	return slow
}

func TestLatency_IsSlowBeyondThreeTimesTheUsual(t *testing.T) {
	t.Parallel()
	const usual, s = 200 * time.Millisecond, time.Second
	tests := map[string]struct {
		took   time.Duration
		others []time.Duration
		slow   bool
	}{
		"as ever":                {usual, nil, false},
		"three times":            {3 * usual, nil, false},
		"more than three times":  {3*usual + 1, nil, true},
		"one outlier in twenty":  {usual, []time.Duration{60 * s}, false},
		"two outliers in twenty": {usual, []time.Duration{60 * s, 60 * s}, true},
		"faster":                 {usual / 10, nil, false},
	}
	for name, test := range tests {
		l := &latency{}
		if l.notes(usual) {
			t.Errorf("%s: the first window has nothing to compare with", name)
		}
		if got := l.notes(test.took, test.others...); got != test.slow {
			t.Errorf("%s: slow %t, want %t", name, got, test.slow)
		}
	}
}

func TestLatency_IsNeverSlowBelowFloor(t *testing.T) {
	t.Parallel()
	l := &latency{}
	l.notes(time.Millisecond)
	if l.notes(latencyFloor) {
		t.Errorf("%s is called slow", latencyFloor)
	}
	if !l.notes(latencyFloor + time.Millisecond) {
		t.Error("beyond the floor three times the usual counts")
	}
}

func TestLatency_AdaptsToNewUsual(t *testing.T) {
	t.Parallel()
	rises, falls := &latency{}, &latency{}
	rises.notes(100 * time.Millisecond)
	falls.notes(10 * time.Second)
	slow := 0
	for range 100 {
		if rises.notes(10 * time.Second) {
			slow++
		}
		falls.notes(100 * time.Millisecond)
	}
	if slow < 3 || slow > 10 {
		t.Errorf("a cloud that has become slow for good was slow for %d windows, want a few", slow)
	}
	if falls.usual > 110*time.Millisecond {
		t.Errorf("usual %s long after requests take 100 ms", falls.usual)
	}
}

// A list of everything takes long; that proves nothing about a small read.
func TestLatency_IsKeptPerKind(t *testing.T) {
	t.Parallel()
	a := limited(8, 16)
	for range 10 * latencyWindow {
		if a.slow("loadbalancer_get", 20*time.Millisecond, 0) || a.slow("loadbalancer_list", 10*time.Second, 0) {
			t.Fatal("a mixture of kinds is called slow")
		}
	}
}

func TestLatency_IgnoresLoadBeforeCut(t *testing.T) {
	t.Parallel()
	a := limited(8, 16)
	for range latencyWindow {
		a.slow("server_list", time.Second, 0)
	}
	for range latencyWindow - 1 {
		a.slow("server_list", time.Minute, 0)
	}
	a.backOff(0)
	if a.slow("server_list", time.Minute, 0) || a.slow("server_list", time.Minute, 1) {
		t.Error("the load before the cut is held against the one after it")
	}
}

package openstack

import (
	"slices"
	"time"
)

const (
	// latencyWindow is the number of answers that a percentile is taken of.
	latencyWindow = 20
	// latencyRank is the 95th percentile's place among them: one outlier in a window
	// says nothing.
	latencyRank = latencyWindow*95/100 - 1
	// slowFactor is how many times its usual latency a request may take.
	slowFactor = 3
	// latencyFloor is a latency that is no sign of trouble, however low the usual one.
	latencyFloor = 250 * time.Millisecond
)

// adaptive is a limit that finds out what the cloud can bear: one more after a
// window of good answers, half after a bad sign (additive increase, multiplicative
// decrease). It is not safe for concurrent use.
type adaptive struct {
	limit, most int
	// cuts counts the times that the limit was halved. What was sent before the last
	// of them tells of a load that is past.
	cuts int
	// good counts the good answers of this window, which is as long as the limit.
	good int
	// full tells that the limit was reached in this window: a limit that held nobody
	// up has not been tried.
	full      bool
	latencies map[string]*latency
}

func newAdaptive(b bounds) adaptive {
	return adaptive{limit: b.start, most: b.most, latencies: map[string]*latency{}}
}

// answered notes a good answer to a request that was sent after so many cuts.
func (a *adaptive) answered(cuts int) {
	if cuts != a.cuts {
		return
	}
	a.good++
	if a.good < a.limit {
		return
	}
	if a.full {
		a.limit = min(a.limit+1, a.most)
	}
	a.good, a.full = 0, false
}

// cut halves the limit, unless the request was sent before the last cut.
func (a *adaptive) cut(cuts int) bool {
	if cuts != a.cuts {
		return false
	}
	a.cuts++
	a.limit = max(1, a.limit/2)
	a.good, a.full = 0, false
	for _, l := range a.latencies {
		l.window = l.window[:0]
	}
	return true
}

// slow notes how long a request of a kind took. It tells whether such requests now
// take much longer than they used to.
func (a *adaptive) slow(kind string, took time.Duration, cuts int) bool {
	if cuts != a.cuts {
		return false
	}
	l := a.latencies[kind]
	if l == nil {
		l = &latency{}
		a.latencies[kind] = l
	}
	return l.add(took)
}

// latency compares how long requests of one kind take with what is usual. Kinds
// differ by orders of magnitude, so each has its own.
type latency struct {
	window []time.Duration
	// usual is the 95th percentile that is to be expected, 0 before the first window.
	// It follows a fall fast and a rise slowly, so that a growing load is seen for
	// what it is, and a cloud that has become slower for good is not held against it
	// for ever.
	usual time.Duration
}

// add notes a request. It tells that a window ends here that was slow.
func (l *latency) add(took time.Duration) bool {
	l.window = append(l.window, took)
	if len(l.window) < latencyWindow {
		return false
	}
	slices.Sort(l.window)
	p95 := l.window[latencyRank]
	l.window = l.window[:0]
	switch {
	case l.usual == 0:
		l.usual = p95
		return false
	case p95 < l.usual:
		l.usual -= (l.usual - p95) / 4
		return false
	}
	slow := p95 > slowFactor*l.usual && p95 > latencyFloor
	l.usual += (p95 - l.usual) / 16
	return slow
}

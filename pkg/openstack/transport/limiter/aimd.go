package limiter

import (
	"slices"
	"time"
)

const (
	// latencyWindow is the number of answers that a percentile is taken of.
	latencyWindow = 20
	// latencyRank is the 95th percentile's index among them: one outlier in a window
	// says nothing.
	latencyRank = latencyWindow*95/100 - 1
	// slowFactor is how many times its usual latency a request may take.
	slowFactor = 3
	// latencyFloor is a latency that is no sign of trouble, however low the usual one.
	latencyFloor = 250 * time.Millisecond
)

// aimd is a limit that finds out what the cloud can bear. It is not safe for
// concurrent use.
type aimd struct {
	limit, max int
	// backoffEpoch counts the times that the limit was halved. What was sent in an
	// earlier epoch is evidence of a load that is past.
	backoffEpoch int
	// good counts the good answers of this window, which is as long as the limit.
	good int
	// reached is set when the limit was reached in this window: a limit that held
	// nobody up has not been tried.
	reached   bool
	latencies map[string]*latency
}

func newAIMD(b bounds) aimd {
	return aimd{limit: b.start, max: b.max, latencies: map[string]*latency{}}
}

// success counts a good answer to a request that was sent in an epoch.
func (a *aimd) success(epoch int) {
	if epoch != a.backoffEpoch {
		return
	}
	a.good++
	if a.good < a.limit {
		return
	}
	if a.reached {
		a.limit = min(a.limit+1, a.max)
	}
	a.good, a.reached = 0, false
}

// backOff halves the limit, unless the request was sent in an earlier epoch. It
// reports whether it did.
func (a *aimd) backOff(epoch int) bool {
	if epoch != a.backoffEpoch {
		return false
	}
	a.backoffEpoch++
	a.limit = max(1, a.limit/2)
	a.good, a.reached = 0, false
	for _, l := range a.latencies {
		l.window = l.window[:0]
	}
	return true
}

// slow adds how long a request of a kind took. It reports whether such requests now
// take much longer than they used to.
func (a *aimd) slow(kind string, took time.Duration, epoch int) bool {
	if epoch != a.backoffEpoch {
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

// add adds a request. It reports whether a window ends here that was slow.
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

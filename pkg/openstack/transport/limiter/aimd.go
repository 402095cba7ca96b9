package limiter

import (
	"slices"
	"time"
)

const (
	// latencyWindow is the number of answers per percentile.
	latencyWindow = 20
	// latencyRank is the 95th percentile's index among them: one outlier per window is ignored.
	latencyRank = latencyWindow*95/100 - 1
	// slowFactor is the latency that counts as slow, as a multiple of the usual one.
	slowFactor = 3
	// latencyFloor is the latency below which a request is never slow.
	latencyFloor = 250 * time.Millisecond
)

// aimd is a limit that adapts to the capacity of the cloud. It is not safe for concurrent use.
type aimd struct {
	limit, max int
	// backoffEpoch counts the times that the limit was halved. The outcome of a request that was
	// sent in an earlier epoch is outdated.
	backoffEpoch int
	// good counts the good answers of this window, which is as long as the limit.
	good int
	// reached is set if the limit was reached in this window. A limit that delayed no request has
	// not been tested.
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

// slow records the duration of a request of a kind. It reports whether such requests now take much
// longer than usual.
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

// latency compares the duration of requests of one kind with the usual one. Each kind has its own,
// because they differ by orders of magnitude.
type latency struct {
	window []time.Duration
	// usual is the expected 95th percentile, 0 before the first window. It follows a decrease fast
	// and an increase slowly, so that a growing load is detected, and a permanently slower cloud is
	// accepted after a while.
	usual time.Duration
}

// add records a request. It reports whether a slow window ends with it.
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

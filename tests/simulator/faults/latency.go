package faults

import (
	"net/http"
	"time"
)

// Latency is the duration of the matching requests, to which faults add theirs.
type Latency struct {
	// Method and Route as those of a Rule.
	Method, Route string
	// Min and Max of a uniform distribution. A Max below Min is the same as Min.
	Min, Max time.Duration
}

// SetLatencies replaces all latencies. The first one that matches a request applies. The same seed
// gives the same sequence of requests the same durations.
func (f *Faults) SetLatencies(seed uint64, latencies ...Latency) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slow = latencies
	f.dice = newDice(seed)
}

func (f *Faults) latencyOf(r *http.Request) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, slow := range f.slow {
		if !(Rule{Method: slow.Method, Route: slow.Route}).match(r) {
			continue
		}
		if slow.Max <= slow.Min {
			return slow.Min
		}
		return slow.Min + time.Duration(f.dice.Int64N(int64(slow.Max-slow.Min)+1))
	}
	return 0
}

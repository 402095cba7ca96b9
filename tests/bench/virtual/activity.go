package virtual

import (
	"math"
	"runtime/metrics"
	"time"
)

// activity tells whether any goroutine works. What waits for the garbage collector is
// nobody's work for a moment, so it looks several times. What is on its way in the kernel
// may be nobody's work for longer: connections have to be those of package memorynet.
type activity struct {
	samples []metrics.Sample
	// outside is how many goroutines are in a system call for good: that which waits
	// for signals is.
	outside uint64
}

// nap comes before each look, for the scheduler to get on.
const nap = 60 * time.Microsecond

// none tells that so many looks in a row found nobody at work.
func (a *activity) none(looks int) bool {
	for range looks {
		time.Sleep(nap)
		if a.busy() {
			return false
		}
	}
	return true
}

func (a *activity) busy() bool {
	if a.samples == nil {
		a.samples = []metrics.Sample{
			{Name: "/sched/goroutines/running:goroutines"},
			{Name: "/sched/goroutines/runnable:goroutines"},
			{Name: "/sched/goroutines/not-in-go:goroutines"},
		}
		a.outside = math.MaxUint64
	}
	metrics.Read(a.samples)
	running, runnable, outside := a.samples[0].Value.Uint64(), a.samples[1].Value.Uint64(), a.samples[2].Value.Uint64()
	a.outside = min(a.outside, outside)
	return running > 1 || runnable > 0 || outside > a.outside // this one runs
}

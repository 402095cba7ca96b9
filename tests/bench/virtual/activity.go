package virtual

import (
	"runtime/metrics"
	"time"
)

// activity tells whether any goroutine works. What is on its way through the
// loopback interface is nobody's work for a moment, so it looks several times.
type activity struct {
	samples []metrics.Sample
}

const (
	// looks in a row must find nobody at work, with a nap before each: to sleep
	// makes the scheduler ask for what the network has brought.
	looks = 3
	nap   = 60 * time.Microsecond
)

func (a *activity) none() bool {
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
		}
	}
	metrics.Read(a.samples)
	running, runnable := a.samples[0].Value.Uint64(), a.samples[1].Value.Uint64()
	return running > 1 || runnable > 0 // this one runs
}

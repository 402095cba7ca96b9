package memory

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// atStart is how much a process may allocate before the garbage collector runs: a little more than a start
// with a thousand Services and their nodes takes. Most of what is in use on the way stays in use, so that each
// of a dozen runs would find little, for a quarter of the CPU time that the start takes.
const atStart = 96 << 20

// DelayFirst puts off the next run of the garbage collector until atStart bytes are in use. After that run
// the process goes by GOGC again. A memory limit (GOMEMLIMIT) counts all the time.
func DelayFirst() {
	const least = 4 << 20 // below which it does not run at GOGC=100
	live := max(sample("/gc/heap/live:bytes"), least)
	if live >= atStart {
		return
	}
	before := debug.SetGCPercent(int((atStart - live) * 100 / live))
	if before < 0 { // it is switched off
		debug.SetGCPercent(before)
		return
	}
	runtime.AddCleanup(new([4]uint64), func(percent int) { debug.SetGCPercent(percent) }, before)
}

// sample returns a metric of the runtime.
func sample(name string) uint64 {
	samples := []metrics.Sample{{Name: name}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}

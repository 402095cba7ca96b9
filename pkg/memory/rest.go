package memory

import (
	"context"
	"runtime/metrics"
	"time"

	"k8s.io/utils/clock"
)

// How memory is returned: at rest is who allocates less than quiet in an interval. Returning
// takes a run of the garbage collector, so that it must be worth it: there is more that nobody
// uses than spare, and half of what is in use.
const (
	interval = 5 * time.Second
	quiet    = 8 << 20
	spare    = 16 << 20
)

// Usage is what the heap of the process is, in bytes.
type Usage struct {
	// Allocated is what was allocated since the start.
	Allocated uint64
	// Resident is what the process holds, Live what of it was in use after the last run of
	// the garbage collector.
	Resident, Live uint64
}

// ReturnAtRest returns memory to the operating system each time the process comes to rest,
// until the context ends. A change of nodes of thousands of Services leaves the process with
// several times what it needs, and the runtime returns no more than what is above twice of
// that. Usage and release are those of the process: see UsageNow and debug.FreeOSMemory.
func ReturnAtRest(ctx context.Context, clk clock.WithTicker, usage func() Usage, release func()) {
	ticker := clk.NewTicker(interval)
	defer ticker.Stop()
	allocated := usage().Allocated
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		now := usage()
		if now.Allocated-allocated < quiet && now.Resident > now.Live+max(spare, now.Live/2) {
			release()
			now = usage()
		}
		allocated = now.Allocated
	}
}

// UsageNow returns what the heap of the process is now.
func UsageNow() Usage {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	value := func(i int) uint64 { return samples[i].Value.Uint64() }
	return Usage{Allocated: value(0), Live: value(1), Resident: value(2) + value(3) + value(4)}
}

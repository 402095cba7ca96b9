package memory

import (
	"context"
	"runtime/metrics"
	"time"

	"k8s.io/utils/clock"
)

// How memory is returned: at rest is who allocates less than quiet bytes in an interval, or a small
// part of what it has allocated in the busiest one since memory was returned last: the states of five
// thousand nodes take three mebibytes in each. A thousand Services that are created one after the
// other, at the pace of Octavia, take five, and keep the garbage collector busy enough.
// Returning takes a run of the garbage collector, so that it must be worth it: so many bytes
// were allocated since the last time, a sixth of those after which it runs anyway. After much, more
// than a start with a thousand Services takes, it takes a second run: what is in a sync.Pool, the
// first one leaves for the next.
const (
	interval  = 5 * time.Second
	quiet     = 2 << 20
	smallPart = 20
	worth     = 4 << 20
	much      = 128 << 20
)

// ReturnAtRest returns memory to the operating system each time the process comes to rest,
// until the context ends. A change of nodes of thousands of Services leaves the process with
// several times what it needs, and the runtime returns no more than what is above twice of
// what was in use when the garbage collector ran last, in the middle of the change. Allocated is
// what the process has allocated since its start, in bytes, and release returns what it does not
// use: see Allocated and debug.FreeOSMemory.
func ReturnAtRest(ctx context.Context, clk clock.WithTicker, allocated func() uint64, release func()) {
	ticker := clk.NewTicker(interval)
	defer ticker.Stop()
	before, busiest := allocated(), uint64(0)
	returned := before
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		now := allocated()
		lately := now - before
		before, busiest = now, max(busiest, lately)
		since := now - returned
		if lately >= quiet && lately >= busiest/smallPart || since < worth {
			continue
		}
		release()
		if since >= much {
			release()
		}
		returned, busiest = now, 0
	}
}

// Allocated returns what the process has allocated on its heap since its start, in bytes.
func Allocated() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}

package main

import (
	"context"
	"runtime/metrics"
	"time"

	"k8s.io/utils/clock"
)

// returnAtRest returns memory to the operating system each time the process is at rest, until the
// context ends. After a change of nodes of thousands of Services the process holds several times
// the memory that it needs, and the runtime keeps up to twice the memory that was in use during the
// last garbage collection, in the middle of the change. allocated returns the bytes that were
// allocated since the start, and release returns unused memory: see allocatedBytes and
// debug.FreeOSMemory.
//
// The process is at rest if it allocates less than quiet bytes in an interval, or a small part of
// the busiest interval since the last return: the states of five thousand nodes take three
// mebibytes in each. A return runs the garbage collector, and needs at least worth bytes allocated
// since the last one. After much, more than a start with a thousand Services, it runs twice: the
// first run leaves the contents of a sync.Pool to the next.
func returnAtRest(ctx context.Context, clk clock.WithTicker, allocated func() uint64, release func()) {
	const (
		interval  = 5 * time.Second
		quiet     = 2 << 20
		smallPart = 20
		worth     = 4 << 20
		much      = 128 << 20
	)
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

// allocatedBytes returns the bytes that the process has allocated on its heap since its start.
func allocatedBytes() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}

package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

const mib = 1 << 20

// atRest makes a test allocate bytes during one interval after the other; allocate returns the
// number of returns of memory by the end of the interval.
func atRest(t *testing.T, test func(allocate func(bytes uint64) (returned uint64))) {
	t.Helper()
	atRestWith(t, func() {}, test)
}

// atRestWith is atRest with a way to return memory.
func atRestWith(t *testing.T, release func(), test func(allocate func(bytes uint64) (returned uint64))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var allocated, returned atomic.Uint64
		go returnAtRest(ctx, clock.RealClock{}, allocated.Load, func() { release(); returned.Add(1) })
		synctest.Wait()
		test(func(bytes uint64) uint64 {
			allocated.Add(bytes)
			time.Sleep(5*time.Second + 1)
			synctest.Wait()
			return returned.Load()
		})
	})
}

func TestReturnAtRest_ReturnsAfterWork(t *testing.T) {
	t.Parallel()
	atRest(t, func(allocate func(uint64) uint64) {
		for _, moment := range []struct {
			what       string
			allocating uint64
			want       uint64
		}{
			{"at work", 500 * mib, 0},
			{"at rest, with a second run for what is in pools", mib, 2},
			{"still at rest", mib, 2},
			{"a little work, which is not worth it", 2 * mib, 2},
			{"at rest after it", mib / 2, 2},
			{"a little more", mib, 3},
			{"some work", 10 * mib, 3},
			{"at rest, and nothing much in pools", mib, 4},
			{"as much as a start takes", 100 * mib, 4},
			{"at rest after it", mib, 5},
			{"at work again", 150 * mib, 5},
			{"at rest again", mib, 7},
		} {
			if got := allocate(moment.allocating); got != moment.want {
				t.Errorf("%s: returned %d times, want %d", moment.what, got, moment.want)
			}
		}
	})
}

// A process with few allocations is at rest too: memory of a slow trickle is returned from time to
// time.
func TestReturnAtRest_ReturnsDuringSlowWork(t *testing.T) {
	t.Parallel()
	atRest(t, func(allocate func(uint64) uint64) {
		var returned uint64
		for range 20 {
			returned = allocate(3 * mib / 2)
		}
		if returned != 6 {
			t.Errorf("returned %d times in 100 s of 1.5 MiB each 5 s, want 6", returned)
		}
	})
}

// So is one with a constant load.
func TestReturnAtRest_ReturnsBesideOtherWork(t *testing.T) {
	t.Parallel()
	atRest(t, func(allocate func(uint64) uint64) {
		const nodes = 3 * mib
		allocate(500 * mib)
		for range 10 {
			if got := allocate(nodes); got != 2 {
				t.Fatalf("returned %d times after 500 MiB, and 3 MiB each 5 s since, want 2, at once", got)
			}
		}
	})
}

func TestAllocated_CountsWhatIsAllocated(t *testing.T) {
	t.Parallel()
	before := allocatedBytes()
	kept := make([]byte, 64*mib)
	if after := allocatedBytes(); after < before+64*mib {
		t.Errorf("%d bytes allocated after 64 MiB, %d before", after, before)
	}
	runtime.KeepAlive(kept)
}

// pooled is a kibibyte that a pool holds.
type pooled [1 << 10]byte

func TestReturnAtRest_EmptiesPools(t *testing.T) {
	t.Parallel()
	made := 0
	pool := sync.Pool{New: func() any { made++; return new(pooled) }}
	pool.Put(new(pooled))
	atRestWith(t, debug.FreeOSMemory, func(allocate func(uint64) uint64) {
		allocate(200 * mib)
		allocate(mib)
	})
	if pool.Get(); made != 1 {
		t.Errorf("a pool still has what nobody uses")
	}
}

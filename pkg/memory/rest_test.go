package memory_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/memory"
)

const mib = 1 << 20

func TestReturnAtRest_ReturnsOnceAfterWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var allocated, returned atomic.Uint64
		go memory.ReturnAtRest(ctx, clock.RealClock{}, allocated.Load, func() { returned.Add(1) })
		synctest.Wait()
		for _, moment := range []struct {
			what       string
			allocating uint64
			want       uint64
		}{
			{"at work", 500 * mib, 0},
			{"at rest", mib, 1},
			{"still at rest", mib, 1},
			{"a little work, which is not worth it", 10 * mib, 1},
			{"at rest after it", mib, 1},
			{"at work again", 100 * mib, 1},
			{"at rest again", mib, 2},
		} {
			allocated.Add(moment.allocating)
			time.Sleep(5*time.Second + 1)
			synctest.Wait()
			if got := returned.Load(); got != moment.want {
				t.Errorf("%s: returned %d times, want %d", moment.what, got, moment.want)
			}
		}
	})
}

// At rest is not only who does nothing: what a slow trickle leaves behind is returned now and
// then.
func TestReturnAtRest_ReturnsDuringSlowWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var allocated, returned atomic.Uint64
		go memory.ReturnAtRest(ctx, clock.RealClock{}, allocated.Load, func() { returned.Add(1) })
		synctest.Wait()
		for range 20 {
			allocated.Add(6 * mib)
			time.Sleep(5*time.Second + 1)
			synctest.Wait()
		}
		if got := returned.Load(); got != 2 {
			t.Errorf("returned %d times in 100 s of 6 MiB each 5 s, want 2", got)
		}
	})
}

func TestAllocated_CountsWhatIsAllocated(t *testing.T) {
	t.Parallel()
	before := memory.Allocated()
	kept := make([]byte, 64*mib)
	if after := memory.Allocated(); after < before+64*mib {
		t.Errorf("%d bytes allocated after 64 MiB, %d before", after, before)
	}
	runtime.KeepAlive(kept)
}

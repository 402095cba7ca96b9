package memory_test

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/memory"
)

const mib = 1 << 20

func TestReturnAtRest_ReleasesOnceWhatNobodyUses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var mu sync.Mutex
		var now memory.Usage
		released := 0
		usage := func() memory.Usage {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
		go memory.ReturnAtRest(ctx, clock.RealClock{}, usage, func() {
			mu.Lock()
			defer mu.Unlock()
			released++
			now.Resident = now.Live + mib
		})
		synctest.Wait()
		for _, moment := range []struct {
			what                 string
			allocating, resident uint64 // 0: as it is
			want                 int
		}{
			{"at work", 500 * mib, 300 * mib, 0},
			{"at rest", mib, 0, 1},
			{"at rest, and small", mib, 0, 1},
			{"a little garbage, which is not worth it", mib, 59 * mib, 1},
			{"at work again", 100 * mib, 200 * mib, 1},
			{"at rest again", mib, 0, 2},
		} {
			mu.Lock()
			now = memory.Usage{Allocated: now.Allocated + moment.allocating, Resident: cmp.Or(moment.resident, now.Resident), Live: 40 * mib}
			mu.Unlock()
			time.Sleep(5*time.Second + 1)
			synctest.Wait()
			mu.Lock()
			if released != moment.want {
				t.Errorf("%s: released %d times, want %d", moment.what, released, moment.want)
			}
			mu.Unlock()
		}
	})
}

func TestUsageNow_ShowsWhatIsInUseAndWhatIsHeld(t *testing.T) {
	t.Parallel()
	before := memory.UsageNow()
	kept := make([]byte, 64*mib)
	runtime.GC()
	after := memory.UsageNow()
	if after.Allocated < before.Allocated+64*mib || after.Live < 64*mib || after.Resident < after.Live {
		t.Errorf("64 MiB later: %+v, before %+v", after, before)
	}
	runtime.KeepAlive(kept)
}

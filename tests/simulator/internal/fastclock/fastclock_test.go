package fastclock_test

import (
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/internal/fastclock"
)

// delayed is a fake clock that can run functions later.
func delayed() *clocktesting.FakeClock { return clocktesting.NewFakeClock(time.Unix(0, 0)) }

func TestClock_RunsFaster(t *testing.T) {
	t.Parallel()
	base := delayed()
	fast := fastclock.New(base, 1000)
	before := fast.Now()
	base.Step(time.Second)
	if passed := fast.Since(before); passed != 1000*time.Second {
		t.Errorf("in a second %s passed", passed)
	}
	if fastclock.New(base, 0) != clock.WithDelayedExecution(base) || fastclock.New(base, 1) != clock.WithDelayedExecution(base) {
		t.Error("without a speed there is another clock")
	}
}

func TestClock_FiresTimersEarlierButNeverBeforeTheirTime(t *testing.T) {
	t.Parallel()
	base := delayed()
	fast := fastclock.New(base, 1000)
	due := fast.Now().Add(time.Minute)
	fired := false
	fast.AfterFunc(time.Minute, func() { fired = true })
	timer := fast.NewTimer(time.Minute)
	base.Step(59 * time.Millisecond)
	if fired {
		t.Error("a minute took 59 ms")
	}
	base.Step(time.Millisecond + 1)
	if !fired || fast.Now().Before(due) {
		t.Errorf("after 60 ms: fired %v, now %s, due %s", fired, fast.Now(), due)
	}
	<-timer.C()
	timer.Reset(time.Second)
	base.Step(time.Millisecond + 1)
	<-timer.C()
	after := fast.After(time.Second)
	base.Step(time.Millisecond + 1)
	<-after
}

package stopwatch_test

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/stopwatch"
)

//proves:100
func TestWatch_CountsEachMomentOnceForWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	ctx, watch := stopwatch.Start(t.Context(), clock)
	clock.Step(time.Second)
	queued := stopwatch.In(ctx, stopwatch.Queue)
	clock.Step(2 * time.Second)
	queued()
	one, two := stopwatch.In(ctx, stopwatch.Octavia), stopwatch.In(ctx, stopwatch.Octavia)
	clock.Step(4 * time.Second)
	queued = stopwatch.In(ctx, stopwatch.Queue) // a further request waits while another is under way
	clock.Step(8 * time.Second)
	one()
	two()
	clock.Step(16 * time.Second)
	queued()
	read := stopwatch.In(ctx, stopwatch.OpenStack)
	clock.Step(32 * time.Second)
	read()
	want := stopwatch.Times{
		stopwatch.Controller: time.Second, stopwatch.Queue: 18 * time.Second,
		stopwatch.OpenStack: 32 * time.Second, stopwatch.Octavia: 12 * time.Second,
	}
	if got := watch.Times(); got != want || got.Sum() != 63*time.Second || got.Plus(want).Sum() != 126*time.Second {
		t.Errorf("got %v, want %v", got, want)
	}
	stopwatch.In(t.Context(), stopwatch.Queue)() // the context has no Watch
}

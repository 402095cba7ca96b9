package telemetry_test

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/telemetry"
)

//proves:100
func TestWatch_CountsEachMomentOnceForWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	ctx, watch := telemetry.Measure(t.Context(), clock)
	clock.Step(time.Second)
	queued := telemetry.In(ctx, telemetry.Queue)
	clock.Step(2 * time.Second)
	queued()
	one, two := telemetry.In(ctx, telemetry.Octavia), telemetry.In(ctx, telemetry.Octavia)
	clock.Step(4 * time.Second)
	queued = telemetry.In(ctx, telemetry.Queue) // a further request waits while another is under way
	clock.Step(8 * time.Second)
	one()
	two()
	clock.Step(16 * time.Second)
	queued()
	read := telemetry.In(ctx, telemetry.OpenStack)
	clock.Step(32 * time.Second)
	read()
	want := telemetry.Times{
		telemetry.Controller: time.Second, telemetry.Queue: 18 * time.Second,
		telemetry.OpenStack: 32 * time.Second, telemetry.Octavia: 12 * time.Second,
	}
	if got := watch.Times(); got != want || got.Sum() != 63*time.Second || got.Plus(want).Sum() != 126*time.Second {
		t.Errorf("got %v, want %v", got, want)
	}
	telemetry.In(t.Context(), telemetry.Queue)() // without a Watch
}

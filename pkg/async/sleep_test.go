package async

import (
	"context"
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/tests/await"
)

func TestSleep_GivesThePlaceAwayUntilItsTimeOrTheContextEnds(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakeClock(time.Unix(0, 0))
	places := NewPlaces(1)
	ctx, cancel := context.WithCancel(t.Context())
	for _, wake := range []struct {
		end  func()
		want error
	}{{func() { clk.Step(time.Minute) }, nil}, {cancel, context.Canceled}} {
		work, leave, err := places.Enter(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- Sleep(work, clk, time.Minute) }()
		_, other, err := places.Enter(t.Context(), 1) // which waits until the place is given away
		if err != nil {
			t.Fatal(err)
		}
		other()
		await.Condition(t, "a timer", clk.HasWaiters)
		wake.end()
		if err := <-ended; !errors.Is(err, wake.want) {
			t.Errorf("got %v, want %v", err, wake.want)
		}
		leave()
	}
}

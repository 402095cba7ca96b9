package dispatch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
	"github.com/openstack-ccm/openstack-ccm/pkg/stopwatch"
)

// patience is how long a round of waiting may take. What it has taken is told by a fake clock, and
// looked at by a real one.
const patience = 10 * time.Millisecond

// waiting returns a Dispatcher with a round that has waited for its turn for a hundred times as long
// as it may take, and until done is called. Then it waits for the cloud, until it is ended.
func waiting(t *testing.T) (d *dispatch.Dispatcher, clk *clocktesting.FakeClock, round context.Context, done func()) {
	t.Helper()
	clk = clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	began, turn := make(chan context.Context), make(chan struct{})
	d = start(t, func(o *dispatch.Options) {
		o.Clock, o.Timeout = clk, patience
		o.Reconcile = func(ctx context.Context, r dispatch.Request) (*v1.LoadBalancerStatus, error) {
			if r.Operation != dispatch.Ensure {
				return nil, nil //nolint:nilnil // as a deletion does
			}
			queued := stopwatch.In(ctx, stopwatch.Queue)
			clk.Step(100 * patience)
			began <- ctx
			select {
			case <-turn:
			case <-ctx.Done():
			}
			queued()
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
	})
	go func() {
		_, _ = d.Wait(t.Context(), dispatch.Request{Operation: dispatch.Ensure, Service: service("3")})
	}()
	return d, clk, <-began, func() { close(turn) }
}

func TestRound_GoesOnWhileItWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	_, clk, round, done := waiting(t)
	time.Sleep(10 * patience) // it is looked at meanwhile
	if round.Err() != nil {
		t.Fatal("ended while it waited for its turn")
	}
	done()
	for round.Err() == nil {
		clk.Step(patience / 2)
		time.Sleep(time.Millisecond)
	}
	if !errors.Is(context.Cause(round), dispatch.ErrTimeout) {
		t.Errorf("ended by %v", context.Cause(round))
	}
}

func TestRound_ThatWaitsForItsTurnEndsWhereServiceIsDeleted(t *testing.T) {
	t.Parallel()
	d, _, round, _ := waiting(t)
	if _, err := d.Wait(t.Context(), dispatch.Request{Operation: dispatch.Delete, Service: service("4")}); err != nil {
		t.Error(err)
	}
	if !errors.Is(context.Cause(round), dispatch.ErrTimeout) {
		t.Errorf("ended by %v", context.Cause(round))
	}
}

func TestRound_ThatWaitsForItsTurnGoesOnWhereNodesChange(t *testing.T) {
	t.Parallel()
	d, _, round, _ := waiting(t)
	go func() {
		_, _ = d.Wait(t.Context(), dispatch.Request{Operation: dispatch.Update, Service: service("3")})
	}()
	time.Sleep(10 * patience)
	if round.Err() != nil {
		t.Error("ended for an update of its members")
	}
}

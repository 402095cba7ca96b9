package async

import (
	"context"
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestRecent_ReadsOnlyForCallersThatNeedANewerValue(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	var recent Recent[int]
	reads, failed := 0, error(nil)
	get := func(age time.Duration) (int, error) {
		return recent.Get(t.Context(), clk, age, func(_ context.Context, began time.Time) (int, error) {
			if !began.Equal(clk.Now()) {
				t.Errorf("the read began at %s, not now", began)
			}
			reads++
			return reads, failed
		})
	}
	if recent.Last() != 0 {
		t.Error("there is a value before the first read")
	}
	var first time.Time
	for i, call := range []struct {
		step, age time.Duration
		drop      bool
		failed    error
		want      int
	}{
		{age: time.Minute, want: 1},
		{step: time.Minute, age: time.Minute, want: 1},
		{step: 1, age: time.Minute, failed: errors.New("failed"), want: 2},
		{age: time.Minute, want: 3},           // errors are not kept
		{age: time.Hour, drop: true, want: 3}, // the first one, not this
	} {
		clk.Step(call.step)
		if failed = call.failed; i == 0 {
			first = clk.Now()
		}
		if call.drop {
			recent.Drop(first)
		}
		if got, err := get(call.age); got != call.want || !errors.Is(err, call.failed) {
			t.Errorf("call %d: %d, error %v; want %d", i+1, got, err, call.want)
		}
	}
	recent.Drop(clk.Now())
	if recent.Last() != 0 {
		t.Error("a dropped value stays")
	}
	recent.Wait()
}

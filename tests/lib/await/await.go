// Package await polls until a condition holds.
package await

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// poll is the pause between two looks.
const poll = 20 * time.Millisecond

// Patience is how long a test waits for an event that must come: ten minutes, far longer than
// anything takes on a busy machine, or the duration in AWAIT_PATIENCE. Only a broken program
// reaches it.
var Patience = patience() //nolint:gochecknoglobals // a constant that the environment may replace

func patience() time.Duration {
	if given, err := time.ParseDuration(os.Getenv("AWAIT_PATIENCE")); err == nil && given > 0 {
		return given
	}
	return 10 * time.Minute
}

// Success calls check until it returns nil. When the context ends first, the
// error has check's last one.
func Success(ctx context.Context, check func(context.Context) error) error {
	return Every(ctx, poll, check)
}

// Every is Success with a pause of its own, for what costs something to look at.
func Every(ctx context.Context, pause time.Duration, check func(context.Context) error) error {
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", context.Cause(ctx), err)
		case <-time.After(pause):
		}
	}
}

// Eventually calls check until it returns nil, and fails the test with its last
// error when that takes minutes.
func Eventually(t testing.TB, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	if err := Success(ctx, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Condition returns when the condition is true. It looks again at once and is for what
// the test's own process does; the test fails when that takes minutes.
func Condition(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("never happened: %s", what)
}

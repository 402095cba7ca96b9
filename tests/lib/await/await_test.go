package await

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestSuccess_AsksUntilThereIsNoError(t *testing.T) {
	t.Parallel()
	asked := 0
	err := Success(t.Context(), func(context.Context) error {
		if asked++; asked < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || asked != 3 {
		t.Errorf("asked %d times, err = %v; want 3 times and none", asked, err)
	}
}

func TestSuccess_ReportsCauseOfItsEndAndLastError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	gone, notYet := errors.New("the server is gone"), errors.New("not yet")
	err := Success(ctx, func(context.Context) error {
		cancel(gone)
		return notYet
	})
	if !errors.Is(err, gone) || !errors.Is(err, notYet) {
		t.Errorf("err = %v, want both %v and %v", err, gone, notYet)
	}
}

// failing notes a test's failure instead of failing.
type failing struct {
	testing.TB
	ctx  context.Context
	said string
}

func (f *failing) Context() context.Context { return f.ctx }
func (f *failing) Helper()                  {}
func (f *failing) Fatalf(format string, args ...any) {
	f.said = format
	for _, arg := range args {
		if text, ok := arg.(string); ok {
			f.said += text
		}
	}
}

func TestEventually_NamesWhatWasAwaitedWhenItFails(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := &failing{TB: t, ctx: ctx}
	Eventually(f, "an external IP", func(context.Context) error { return errors.New("none") })
	if !strings.Contains(f.said, "an external IP") {
		t.Errorf("said %q, want what was awaited", f.said)
	}
}

package async

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// answer is the result of a call of a Flight.
type answer struct {
	value string
	err   error
}

// flying is a Flight with reads that end when the test permits it.
type flying struct {
	Flight[string]
	reads chan context.Context // the context of each read that has begun
	let   chan answer
}

// caller starts a call, and returns when the call waits for its read.
func (f *flying) caller(ctx context.Context, key string) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		value, err := f.Do(ctx, key, func(ctx context.Context) (string, error) {
			f.reads <- ctx
			end := <-f.let
			return end.value, end.err
		})
		got <- answer{value, err}
	}()
	synctest.Wait()
	return got
}

// inFlight runs a test in a bubble of its own.
func inFlight(t *testing.T, test func(t *testing.T, f *flying)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		test(t, &flying{reads: make(chan context.Context, 10), let: make(chan answer)})
	})
}

func TestFlight_SharesReadAmongCallersOfAKey(t *testing.T) {
	inFlight(t, func(t *testing.T, f *flying) {
		first, second := f.caller(t.Context(), "a"), f.caller(t.Context(), "a")
		other := f.caller(t.Context(), "b")
		if n := len(f.reads); n != 2 {
			t.Errorf("%d reads for two keys", n)
		}
		f.let <- answer{value: "read"}
		f.let <- answer{value: "read"}
		for _, got := range []<-chan answer{first, second, other} {
			if got := <-got; got != (answer{value: "read"}) {
				t.Errorf("got %+v", got)
			}
		}
	})
}

func TestFlight_ReadsAgainOnceAReadHasEnded(t *testing.T) {
	inFlight(t, func(t *testing.T, f *flying) {
		broken := errors.New("broken")
		for _, want := range []answer{{err: broken}, {value: "one"}, {value: "two"}} {
			got := f.caller(t.Context(), "a")
			f.let <- want
			if got := <-got; got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	})
}

func TestFlight_EndsOnlyTheCallWhoseContextEnds(t *testing.T) {
	inFlight(t, func(t *testing.T, f *flying) {
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		first, second := f.caller(ctx, "a"), f.caller(t.Context(), "a")
		cancel()
		if got := <-first; got != (answer{err: context.Canceled}) {
			t.Errorf("who gave up got %+v", got)
		}
		read := <-f.reads
		if read.Err() != nil || read.Value(key{}) != "value" {
			t.Errorf("the read has the value %v, and ended with its first caller: %v", read.Value(key{}), read.Err())
		}
		f.let <- answer{value: "read"}
		if got := <-second; got != (answer{value: "read"}) {
			t.Errorf("who waited on got %+v", got)
		}
	})
}

func TestFlight_WaitsForAReadWhoseCallersHaveLeft(t *testing.T) {
	inFlight(t, func(t *testing.T, f *flying) {
		ctx, cancel := context.WithCancel(t.Context())
		left := f.caller(ctx, "a")
		cancel()
		<-left
		waited := make(chan struct{})
		go func() {
			f.Wait()
			close(waited)
		}()
		synctest.Wait()
		select {
		case <-waited:
			t.Error("Wait has returned before the read")
		default:
		}
		f.let <- answer{value: "read"}
		<-waited
	})
}

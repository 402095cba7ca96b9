package async

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// batching is Batches with reads that end when the test permits it.
type batching struct {
	Batches[string]
	reads []string // the keys of each read that has begun
	let   chan error
}

// caller starts a call, and returns when it waits for its reads.
func (b *batching) caller(ctx context.Context, keys string) <-chan string {
	got := make(chan string, 1)
	go func() {
		found, err := b.Do(ctx, strings.Fields(keys), func(_ context.Context, keys []string) (map[string]string, error) {
			b.reads = append(b.reads, strings.Join(keys, " "))
			err := <-b.let
			found := map[string]string{}
			for _, key := range keys {
				if key != "none" {
					found[key] = "<" + key + ">"
				}
			}
			return found, err
		})
		got <- fmt.Sprint(found, " ", err)
	}()
	synctest.Wait()
	return got
}

// Callers that come during a read share it as far as it has their keys, and the next one for the others.
func TestBatches_ShareReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &batching{let: make(chan error)}
		first := b.caller(t.Context(), "b a none")
		ctx, cancel := context.WithCancel(t.Context())
		canceled, second, third := b.caller(ctx, "d"), b.caller(t.Context(), "a c"), b.caller(t.Context(), "d")
		cancel()
		if got := <-canceled; got != "map[] context canceled" {
			t.Errorf("the canceled call got %s", got)
		}
		b.let <- nil
		b.let <- errors.New("refused")
		for want, call := range map[string]<-chan string{"map[a:<a> b:<b>] <nil>": first, "map[] refused": second} {
			if got := <-call; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		if got := <-third; got != "map[] refused" {
			t.Errorf("the third call got %s", got)
		}
		again := b.caller(t.Context(), "c")
		b.let <- nil
		if got := <-again; got != "map[c:<c>] <nil>" {
			t.Errorf("after an error, a call got %s", got)
		}
		if got := strings.Join(b.reads, "; "); got != "a b none; c d; c" {
			t.Errorf("reads %s", got)
		}
	})
}

// Each read has the values of its own first caller, such as its priority and its trace.
func TestBatches_ReadInContextOfFirstCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var b Batches[string]
		let, callers := make(chan struct{}), make(chan any, 2)
		for _, name := range []string{"first", "second", "third"} {
			go func() {
				_, _ = b.Do(context.WithValue(t.Context(), key{}, name), []string{name}, func(ctx context.Context, _ []string) (map[string]string, error) {
					<-let
					callers <- ctx.Value(key{})
					return nil, nil
				})
			}()
			synctest.Wait()
		}
		close(let)
		if first, second := <-callers, <-callers; first != "first" || second != "second" {
			t.Errorf("reads in the contexts of %v and %v", first, second)
		}
	})
}

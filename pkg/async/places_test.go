package async

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
)

// has fails the test unless so many places are free.
func (p *Places) has(t *testing.T, free int64) {
	t.Helper()
	if !p.free.TryAcquire(free) {
		t.Fatalf("fewer than %d places are free", free)
	}
	if p.free.TryAcquire(1) {
		t.Fatalf("more than %d places are free", free)
	}
	p.free.Release(free)
}

// Goroutines of one work yield at any time, as those do that change the ports of nodes.
func TestYield_OfSeveralGoroutinesOfOneWorkReturnsWhatItHas(t *testing.T) {
	t.Parallel()
	places := NewPlaces(100)
	var panicked atomic.Value
	var all sync.WaitGroup
	var leaves []func()
	for range 2 {
		ctx, leave, err := places.Enter(t.Context(), 4)
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
		for range 8 {
			all.Go(func() {
				defer func() {
					if why := recover(); why != nil {
						panicked.CompareAndSwap(nil, fmt.Sprint(why))
					}
				}()
				for range 20_000 {
					if panicked.Load() != nil {
						return
					}
					Yield(ctx)()
				}
			})
		}
	}
	all.Wait()
	if why := panicked.Load(); why != nil {
		t.Fatalf("the process would have ended with: %v", why)
	}
	places.has(t, 92)
	for _, leave := range leaves {
		leave()
	}
	places.has(t, 100)
}

func TestYield_WhileAnotherGoroutineOfTheWorkResumesTakesNoPlaceOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		places := NewPlaces(1)
		ctx, leave, _ := places.Enter(t.Context(), 1)
		first := Yield(ctx)
		_, other, _ := places.Enter(t.Context(), 1)
		var back atomic.Int32
		resume := func(resume func()) {
			go func() { resume(); back.Add(1) }()
			synctest.Wait()
		}
		resume(first)
		second := Yield(ctx)
		synctest.Wait()
		if back.Load() > 0 {
			t.Fatal("the work goes on in the place of another one")
		}
		resume(second)
		if back.Load() > 0 {
			t.Fatal("the work goes on in the place of another one")
		}
		other()
		synctest.Wait()
		if back.Load() != 2 {
			t.Fatalf("%d of 2 goroutines go on when the place is free", back.Load())
		}
		leave()
		places.has(t, 1)
	})
}

// The place comes back while another goroutine of the work waits for something else.
func TestYield_LeavesThePlaceToOthersAsLongAsOneGoroutineIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		places := NewPlaces(1)
		ctx, leave, _ := places.Enter(t.Context(), 1)
		first := Yield(ctx)
		_, other, _ := places.Enter(t.Context(), 1)
		go first()
		synctest.Wait()
		second := Yield(ctx)
		other()
		synctest.Wait()
		places.has(t, 1)
		second()
		places.has(t, 0)
		leave()
		places.has(t, 1)
	})
}

func TestPlaces_AreReturnedOnceByWorkThatLeavesBeforeItResumes(t *testing.T) {
	t.Parallel()
	places := NewPlaces(2)
	ctx, leave, err := places.Enter(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	resume := Yield(ctx)
	leave()
	places.has(t, 2)
	resume()
	places.has(t, 2)
}

func TestAcquire_GivesThePlaceAwayWhileItWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		places, lock := NewPlaces(1), semaphore.NewWeighted(1)
		ctx, leave, _ := places.Enter(t.Context(), 1)
		if err := Acquire(ctx, lock, 1); err != nil {
			t.Fatal(err)
		}
		places.has(t, 0) // it has not waited
		done := make(chan error)
		go func() { done <- Acquire(ctx, lock, 1) }()
		synctest.Wait()
		places.has(t, 1)
		lock.Release(1)
		if err := <-done; err != nil {
			t.Error(err)
		}
		places.has(t, 0)
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := Acquire(soon, lock, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
		leave()
		places.has(t, 1)
	})
}

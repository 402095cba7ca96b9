package apply

import (
	"context"
	"errors"
	"sync"
	"testing"
)

func TestSenders_LetTheNextOneSend(t *testing.T) {
	t.Parallel()
	var s senders
	for _, send := range []func() error{
		func() error { return s.creation(t.Context(), func() {}) },
		func() error { return s.batch(t.Context(), func() {}) },
	} {
		if err := send(); err != nil {
			t.Fatal(err)
		}
	}
	if !s.creations.TryAcquire(maxCreationSenders) || !s.batches.TryAcquire(maxBatchSenders) {
		t.Error("one that has sent keeps its place")
	}
}

func TestSenders_BoundCreationsAndHoldUpNoBatch(t *testing.T) {
	t.Parallel()
	var s senders
	var begun, ended sync.WaitGroup
	end := make(chan struct{})
	begun.Add(maxCreationSenders)
	for range maxCreationSenders {
		ended.Go(func() {
			if err := s.creation(t.Context(), func() { begun.Done(); <-end }); err != nil {
				t.Error(err)
			}
		})
	}
	begun.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.creation(ctx, func() { t.Error("more creations are sent than may be") }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	sent := false
	if err := s.batch(t.Context(), func() { sent = true }); err != nil || !sent {
		t.Errorf("the batch was sent: %v, error %v", sent, err)
	}
	close(end)
	ended.Wait()
}

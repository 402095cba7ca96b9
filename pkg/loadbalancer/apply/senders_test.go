package apply

import "testing"

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

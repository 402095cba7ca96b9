package async

import "testing"

func TestGuard_HoldsOneLockAtMost(t *testing.T) {
	t.Parallel()
	var locks Locks
	var guard Guard
	for _, key := range []string{"a", "a", "", "b"} {
		if waited, err := guard.Acquire(t.Context(), &locks, key); waited || err != nil {
			t.Fatalf("%q: waited %v, %v", key, waited, err)
		}
	}
	if locks.Held("a") || !locks.Held("b") {
		t.Error("the lock of a is held, or that of b is not")
	}
	guard.Release()
	guard.Release()
	if locks.Held("b") {
		t.Error("the lock of b is still held")
	}
}

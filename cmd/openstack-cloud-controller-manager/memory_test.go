package main

import (
	"runtime/debug"
	"testing"
)

// It is not parallel, because the settings are those of the process.
func TestLimitMemory_CollectsGarbageMoreOftenUnlessGOGCIsSet(t *testing.T) {
	limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(100)
	t.Cleanup(func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	})
	for _, test := range []struct {
		given bool
		want  int
	}{{true, 100}, {false, gcPercent}} {
		limitMemory(func(name string) (string, bool) { return "100", test.given && name == "GOGC" })
		if got := debug.SetGCPercent(100); got != test.want {
			t.Errorf("GOGC set: %v: the heap grows by %d percent, want %d", test.given, got, test.want)
		}
	}
}

package lookup

import (
	"strconv"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// The ports of servers that an autoscaler has deleted are not read again.
func TestCache_DropsExpiredEntriesNobodyAsksFor(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	c := newCache[int](clk, 10*time.Minute)
	put := map[bool]func(string, int){
		false: c.keep,
		true:  func(key string, i int) { c.keepNewer(key, i, func(a, b int) bool { return a > b }) },
	}
	for i := range 100_000 {
		put[i%2 == 0](strconv.Itoa(i), i)
		if n := len(c.entries); n > 100 {
			t.Fatalf("%d entries, of which 10 are valid", n)
		}
		if i > 10 {
			if _, ok := c.kept(strconv.Itoa(i - 9)); !ok {
				t.Fatal("an entry that is valid is gone")
			}
		}
		clk.Step(time.Minute)
	}
}

func TestCache_HoldsAllValidEntries(t *testing.T) {
	t.Parallel()
	c := newCache[int](clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0)), 10*time.Minute)
	for i := range 10_000 {
		c.keep(strconv.Itoa(i), i)
	}
	if n := len(c.entries); n != 10_000 {
		t.Errorf("%d entries of 10,000 that are valid", n)
	}
}

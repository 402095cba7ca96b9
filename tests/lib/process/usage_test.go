package process

import (
	"bytes"
	"os"
	"runtime/debug"
	"testing"
	"time"
)

func TestParseUsage_ReadsWhateverTheProgramIsCalled(t *testing.T) {
	t.Parallel()
	status := "Name:\ta b) c\nVmPeak:\t 99 kB\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n"
	stat := "7 (a b) c) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 9 9 20 0 1 0 1 1 1"
	want := Usage{RSS: 1 << 20, PeakRSS: 2 << 20, CPU: 3 * time.Second}
	if got := parseUsage(status, stat); got != want {
		t.Errorf("parseUsage = %+v, want %+v", got, want)
	}
	if got := parseUsage("", ""); got != (Usage{}) {
		t.Errorf("parseUsage of nothing = %+v", got)
	}
}

func TestResetPeak_LetsThePeakBeginAnew(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/clear_refs"); err != nil {
		t.Skip("this is not Linux")
	}
	const size = 64 << 20
	held := bytes.Repeat([]byte{1}, size)
	before, err := UsageOf(os.Getpid())
	if err != nil || before.PeakRSS < size || len(held) != size {
		t.Fatalf("UsageOf = %+v, %v", before, err)
	}
	held = nil
	debug.FreeOSMemory()
	if err := ResetPeak(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	after, err := UsageOf(os.Getpid())
	if err != nil || after.PeakRSS > before.PeakRSS-size/2 {
		t.Errorf("UsageOf = %+v, %v; before %+v, %d", after, err, before, len(held))
	}
}

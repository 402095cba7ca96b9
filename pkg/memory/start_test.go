package memory_test

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/memory"
)

// asProcess is set in the environment of a process of its own: the garbage collector is the process's.
const asProcess = "TEST_DELAY_FIRST"

func TestDelayFirst_PutsOffOneRunOfTheGarbageCollector(t *testing.T) {
	t.Parallel()
	if os.Getenv(asProcess) == "" {
		for _, percent := range []string{"100", "50", "off"} {
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
			command.Env = append(os.Environ(), asProcess+"=1", "GOGC="+percent)
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("with GOGC=%s: %v\n%s", percent, err, out)
			}
		}
		return
	}
	runs := func() uint32 {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.NumGC
	}
	given := debug.SetGCPercent(100)
	debug.SetGCPercent(given)
	before := runs()
	memory.DelayFirst()
	var kept [][]byte
	for range 40 {
		kept = append(kept, make([]byte, 1<<20))
	}
	if n := runs() - before; n != 0 {
		t.Errorf("the garbage collector has run %d times for 40 MiB", n)
	}
	for range 200 {
		kept = append(kept, make([]byte, 1<<20))
		if len(kept) > 20 {
			kept = kept[10:]
		}
	}
	runtime.GC()
	runtime.KeepAlive(kept)
	for range 100 {
		now := debug.SetGCPercent(given)
		if now == given {
			return
		}
		debug.SetGCPercent(now)
		runtime.Gosched()
		runtime.GC()
	}
	t.Errorf("the process does not go by GOGC again after the first run")
}

package loadbalancer_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// A thousand Services may wait for their load balancers at the same time, for minutes:
// each keeps little more then than what is kept of it when it is done. The test does not
// run in parallel with others, as it measures the memory of the process.
func TestServicesThatWaitForTheCloudTakeLittleMemory(t *testing.T) {
	const services, ports, half, most = 12, 3, 100, 100 << 10
	w, pass := slowWorld(t)
	var nodes []*v1.Node
	for i := range 2 * half {
		nodes = append(nodes, w.nodeAt(fmt.Sprintf("node-%d", i), fmt.Sprintf("127.100.%d.%d", 1+i/200, 10+i%200)))
	}
	var all []*v1.Service
	for i := range services {
		all = append(all, service("web"+itoa(i), ports))
	}
	for _, step := range []struct {
		what   string
		writes int // of each Service, before it waits
		nodes  []*v1.Node
	}{
		{"creation", 2, nodes[:half]},
		{"members for many new nodes, in one pool after the other", 1, nodes},
	} {
		w.cloud.Books.Reset()
		for _, svc := range all {
			_, err := w.engine.Ensure(w.ctx, svc, step.nodes)
			_ = w.handedBack(err, "")
		}
		w.writesReach(step.writes * services)
		waiting := w.heap()
		for _, svc := range all {
			w.until("ready", func() bool {
				pass()
				status, err := w.engine.Ensure(w.ctx, svc, step.nodes)
				if err == nil {
					svc.Status.LoadBalancer = *status
				}
				return err == nil
			})
		}
		done := w.heap()
		each := (waiting - done) / services
		t.Logf("%s: a round that waits takes %d KiB more than one that is done", step.what, each>>10)
		if each > most {
			t.Errorf("%s: a round that waits takes %d KiB more than one that is done, want %d at most", step.what, each>>10, most>>10)
		}
	}
}

// heap returns the least memory that is in use within a moment: beside what waits, the
// process polls and answers all the time.
func (w *world) heap() int {
	w.t.Helper()
	least := 0
	for range 8 {
		w.cloud.Books.Reset()
		runtime.GC()
		runtime.GC() // pools are emptied in two steps
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		if n := int(stats.HeapAlloc); least == 0 || n < least {
			least = n
		}
		time.Sleep(20 * time.Millisecond)
	}
	return least
}

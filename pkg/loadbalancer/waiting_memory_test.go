package loadbalancer_test

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
)

// A thousand Services may wait for their load balancers at the same time, for minutes. Each takes
// little more memory then than when it is done. The test is not parallel, because it measures the
// memory of the process.
func TestEnsure_TakesLittleMemoryWhileWaitingForCloud(t *testing.T) {
	const services, ports, half, most = 12, 3, 100, 50 << 10
	env, pass := slowWorld(t)
	env.poll(500 * time.Millisecond)
	var nodes []*v1.Node
	for i := range 2 * half {
		nodes = append(nodes, env.nodeAt(fmt.Sprintf("node-%d", i), fmt.Sprintf("127.100.%d.%d", 1+i/200, 10+i%200)))
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
		env.Cloud.RequestLog.Reset()
		for _, svc := range all {
			_, err := env.engine.Ensure(env.ctx, svc, step.nodes)
			_ = env.handedBack(err, "")
		}
		env.writesReach(step.writes * services)
		waiting := env.heap()
		for _, svc := range all {
			env.until("ready", func() bool {
				pass()
				status, err := env.engine.Ensure(env.ctx, svc, step.nodes)
				if err == nil {
					svc.Status.LoadBalancer = *status
				}
				return err == nil
			})
		}
		done := env.heap()
		each := (waiting - done) / services
		t.Logf("%s: a round that waits takes %d KiB more than one that is done", step.what, each>>10)
		if each > most {
			t.Errorf("%s: a round that waits takes %d KiB more than one that is done, want %d at most", step.what, each>>10, most>>10)
		}
	}
}

// A Service that waits is a value in the queue. A thousand of them in a cloud that completes
// nothing take no goroutine, and each takes little more memory than when it is done.
func TestEnsure_TakesNoGoroutineWhileWaitingForCloud(t *testing.T) {
	const services, most = 1000, 8 << 10
	var nodes []*v1.Node
	env, pass := slowWorldOf(t, environmentOptions{newest: func(svc *v1.Service) (*v1.Service, []*v1.Node) { return svc, nodes }})
	env.poll(2 * time.Second)
	for _, resource := range []string{"port", "floatingip"} {
		env.Cloud.Neutron.SetQuota(env.Cloud.Account.ProjectID, resource, -1)
	}
	nodes = env.nodes(3)
	var all []*v1.Service
	for i := range services {
		all = append(all, service("web"+itoa(i), 1))
	}
	before := goroutines()
	for _, svc := range all {
		_, err := env.engine.Ensure(env.ctx, svc, nodes)
		_ = env.handedBack(err, "")
	}
	env.until("all wait", func() bool { return env.engine.Waits() == services })
	_ = env.emitted()
	if now := goroutines(); now > before+2 { // the watcher, and one request of it
		t.Errorf("%d goroutines, %d before", now, before)
	}
	waiting := env.heap()
	env.until("all are ready", func() bool {
		pass()
		_ = env.emitted() // the recorder has room for a thousand events
		time.Sleep(100 * time.Millisecond)
		working, _ := env.engine.Actors()
		return working == 0
	})
	for _, svc := range all {
		env.ensure(svc, nodes)
	}
	_ = env.emitted()
	each := (waiting - env.heap()) / services
	t.Logf("a Service that waits takes %d bytes more than one that is done", each)
	if each > most {
		t.Errorf("a Service that waits takes %d bytes more than one that is done, want %d at most", each, most)
	}
}

// goroutines returns the number of goroutines with our code on their stack.
func goroutines() int {
	stacks := make([]byte, 16<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	ours := 0
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "openstack-ccm/pkg/") && !strings.Contains(stack, "openstack-ccm/tests/") {
			ours++
		}
	}
	return ours
}

// poll starts another process, with a pause between polls: heap measures in it.
func (env *environment) poll(pause time.Duration) {
	env.T.Helper()
	interval := driver.PollInterval{First: pause, Cap: pause}
	env.timing.Create, env.timing.Update = interval, interval
	env.restart()
}

// heap returns the memory in use once it no longer falls: objects of earlier tests are freed
// gradually. It measures while no request is in progress, because the simulator holds the objects of
// its answer.
func (env *environment) heap() int {
	env.T.Helper()
	least, log := math.MaxInt, env.Cloud.RequestLog
	for steady := 0; steady < 8; time.Sleep(20 * time.Millisecond) {
		log.Reset()
		runtime.GC()
		runtime.GC() // pools are emptied in two steps
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		if log.Concurrent() > 0 || log.Len() > 0 {
			continue
		}
		used := int(stats.HeapAlloc)
		steady++
		if used < least-least/1000 {
			steady = 0
		}
		least = min(least, used)
	}
	return least
}

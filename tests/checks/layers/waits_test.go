package layers_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/checks/layers"
)

// Reasons why a function may block.
const (
	goroutines = "waits for goroutines of its own, which do requests"
	requests   = "waits for a round that does requests"
	apart      = "has a goroutine of its own, which is no round"
	caller     = "is called by the caller of a round, which is no worker of the queue"
	atEnd      = "waits at the end of the process"
)

// allowed are the functions that may block. The queue has a hundred workers, and a round that blocks holds
// one of them. So it blocks in nothing but requests to OpenStack.
func allowed() map[string]string {
	return map[string]string{
		"pkg/async/await.go: Await":                                            "blocks only where the context has no Slot",
		"pkg/async/batches.go: Batches.Do":                                     "waits for requests that several rounds share",
		"pkg/async/flight.go: Flight.Do":                                       "waits for a request that several rounds share",
		"pkg/async/flight.go: Flight.Wait":                                     atEnd,
		"pkg/async/recent.go: Recent.Wait":                                     atEnd,
		"pkg/loadbalancer/dispatch/calls.go: Dispatcher.Call":                  caller,
		"pkg/loadbalancer/dispatch/dispatch.go: Dispatcher.Close":              atEnd,
		"pkg/loadbalancer/dispatch/calls.go: Dispatcher.abandon":               caller,
		"pkg/loadbalancer/dispatch/dispatch.go: Dispatcher.step":               requests,
		"pkg/loadbalancer/dispatch/calls.go: Dispatcher.Wait":                  caller,
		"pkg/loadbalancer/octavia/drift/detector.go: Detector.Watch":           apart,
		"pkg/loadbalancer/octavia/drift/records.go: persister.run":             apart,
		"pkg/loadbalancer/octavia/garbage/collector.go: Collector.Run":         apart,
		"pkg/loadbalancer/octavia/garbage/remove.go: remover.each":             apart,
		"pkg/loadbalancer/octavia/garbage/remove.go: remover.wait":             apart,
		"pkg/loadbalancer/octavia/garbage/running.go: runningMember":           apart,
		"pkg/loadbalancer/octavia/observe/tree.go: Observer.Contents":          goroutines,
		"pkg/loadbalancer/octavia/observe/tree.go: Observer.listenersAndPools": goroutines,
		"pkg/loadbalancer/octavia/observe/members.go: memberReader.all":        goroutines,
		"pkg/loadbalancer/reconciler.go: Reconciler.Repair":                    caller,
		"pkg/loadbalancer/records/records.go: ConfigMaps.Load":                 apart,
		"pkg/loadbalancer/records/records.go: ConfigMaps.Run":                  apart,
		"pkg/loadbalancer/securitygroup/change.go: change.changePorts":         goroutines,
		"pkg/loadbalancer/securitygroup/port.go: portGroups.takeOff":           goroutines,
		"pkg/loadbalancer/securitygroup/shared.go: sharedGroup.hold":           requests,
		"pkg/loadbalancer/octavia/project/lists.go: Reader.list":               goroutines,
		"pkg/loadbalancer/octavia/project/reader.go: Reader.Wait":              atEnd,
		"pkg/loadbalancer/octavia/project/settings.go: Reader.SettingsOf":      goroutines,
		"pkg/loadbalancer/octavia/project/snapshot.go: Reader.take":            goroutines,
		"pkg/loadbalancer/octavia/watcher/watcher.go: Watcher.Close":           atEnd,
		"pkg/loadbalancer/octavia/watcher/watcher.go: Watcher.run":             apart,
	}
}

func TestLayers_RoundBlocksOnlyInRequests(t *testing.T) {
	t.Parallel()
	found, err := layers.Waits(root, "pkg/async", "pkg/loadbalancer")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(allowed())), found); diff != "" {
		t.Errorf("functions that may block (- allowed, + found); wait with async.Await, async.Sleep, async.Locks or async.Slots:\n%s", diff)
	}
}

func TestWaits_AreFoundWhereverTheyAre(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.go", `package a

func (s *sharedGroup) hold(ctx context.Context) error { return s.held.Acquire(ctx, 1) }

func (g *group[K, V]) all() { g.work.Wait() }

func sleeps() { time.Sleep(time.Second) }

func receives(c chan int) int { return <-c }

func sends(c chan int) { c <- 1 }

func selects(a, b chan int) {
	select {
	case <-a:
	case b <- 1:
	}
}

func literal(c chan int) func() { return func() { <-c } }

var initial = func() int { return <-c }()

func afterDefault(c chan int) {
	select {
	case <-c:
		c <- 1
	default:
	}
}

func looks(c chan int) {
	select {
	case <-c:
	default:
	}
}

func waits(ctx context.Context) error { return async.Sleep(ctx, clock, part, "key", time.Second) }

func (r *round) locks(ctx context.Context) error { _, err := r.guard.Acquire(ctx, &r.all, "key"); return err }
`)
	write("a_test.go", "package a\n\nfunc tests(c chan int) { <-c }\n")
	found, err := layers.Waits(directory, ".")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a.go: a variable", "a.go: afterDefault", "a.go: group.all", "a.go: literal", "a.go: receives", "a.go: selects",
		"a.go: sends", "a.go: sharedGroup.hold", "a.go: sleeps",
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("- want, + found:\n%s", diff)
	}
}

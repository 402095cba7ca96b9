package layers_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/layers"
)

// Reasons why a function may block without giving its place away.
const (
	goroutines = "waits for goroutines of its own, which do requests, or give the place away where they wait for others"
	apart      = "has a goroutine of its own, which is no round"
	caller     = "is what the caller of a round waits in, which has no place"
	atEnd      = "waits at the end of the process"
	buffered   = "does not block: the channel has room"
	places     = "is how a round gets its places"
)

// allowed are the functions that may block. A round has a place, of which there are a hundred: one that
// blocks in it holds up all others, and those that it waits for may be among them. So nothing may block
// in a place but a request to OpenStack.
func allowed() map[string]string {
	return map[string]string{
		"pkg/async/actors.go: Actors.Close":                            atEnd,
		"pkg/async/actors.go: Task.Wait":                               caller,
		"pkg/async/flight.go: Flight.Do":                               "waits for a request that several rounds share",
		"pkg/async/flight.go: Flight.Wait":                             atEnd,
		"pkg/async/places.go: Places.Enter":                            places,
		"pkg/async/places.go: taken.regain":                            places,
		"pkg/async/workers.go: Workers.until":                          apart,
		"pkg/loadbalancer/dispatch/dispatch.go: Dispatcher.Call":       caller,
		"pkg/loadbalancer/dispatch/dispatch.go: Dispatcher.Wait":       caller,
		"pkg/loadbalancer/drift/detector.go: Detector.Watch":           apart,
		"pkg/loadbalancer/drift/records.go: Detector.PersistRecords":   apart,
		"pkg/loadbalancer/garbage/collector.go: Collector.Run":         apart,
		"pkg/loadbalancer/garbage/remove.go: remover.each":             apart,
		"pkg/loadbalancer/garbage/remove.go: remover.wait":             apart,
		"pkg/loadbalancer/garbage/running.go: runningMember":           apart,
		"pkg/loadbalancer/observe/project.go: Projects.read":           goroutines,
		"pkg/loadbalancer/observe/together.go: Observer.SettingsOf":    goroutines,
		"pkg/loadbalancer/observe/tree.go: Observer.Contents":          goroutines,
		"pkg/loadbalancer/observe/tree.go: Observer.listenersAndPools": goroutines,
		"pkg/loadbalancer/observe/tree.go: Observer.members":           goroutines,
		"pkg/loadbalancer/reconciler.go: Reconciler.Repair":            caller,
		"pkg/loadbalancer/reconciler.go: Reconciler.Update":            caller,
		"pkg/loadbalancer/records/records.go: ConfigMaps.Load":         apart,
		"pkg/loadbalancer/records/records.go: ConfigMaps.Run":          apart,
		"pkg/loadbalancer/securitygroup/port.go: Groups.changePorts":   goroutines,
		"pkg/loadbalancer/securitygroup/port.go: Groups.takeOff":       goroutines,
		"pkg/loadbalancer/snapshot/snapshot.go: Reader.Wait":           atEnd,
		"pkg/loadbalancer/snapshot/snapshot.go: Reader.take":           goroutines,
		"pkg/loadbalancer/watcher/watcher.go: Watcher.Close":           atEnd,
		"pkg/loadbalancer/watcher/watcher.go: Watcher.run":             apart,
		"pkg/loadbalancer/watcher/watcher.go: Watcher.settle":          buffered,
	}
}

func TestLayers_NothingBlocksInPlaceOfRoundButRequests(t *testing.T) {
	t.Parallel()
	found, err := layers.Waits(root, "pkg/async", "pkg/loadbalancer")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(allowed())), found); diff != "" {
		t.Errorf("functions that may block, and do not give the place of their round away (- allowed, + found); "+
			"wait with async.Acquire, async.Sleep or async.Locks, or call async.Yield:\n%s", diff)
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

func yields(ctx context.Context, c chan int) {
	defer async.Yield(ctx)()
	<-c
}

func acquires(ctx context.Context) error { return async.Acquire(ctx, held, 1) }

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

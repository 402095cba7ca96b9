package walk_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/openstack-ccm/openstack-ccm/tests/sweep"
	"github.com/openstack-ccm/openstack-ccm/tests/walk"
)

var (
	steps   = flag.Int("steps", 300, "how many steps are taken in all, 0: until it is stopped")
	seed    = flag.Uint64("seed", 1, "which walks these are")
	from    = flag.String("start", "", "the start of all walks, \"\": any")
	only    = flag.String("walk", "", "the one walk that is taken, as it was printed")
	current = flag.String("current", "", "the file that has the walk under way")
)

// tally has the sums over all walks.
var tally struct {
	sync.Mutex
	steps, passed, failed int
}

func TestMain(m *testing.M) {
	flag.Parse()
	start := time.Now()
	code := m.Run()
	fmt.Printf("%d steps (seed %d), %.0f s, %.0f s of CPU\n", tally.steps, *seed, time.Since(start).Seconds(), cpu())
	fmt.Printf("walk: %d passed, %d failed\n", tally.passed, tally.failed)
	os.Exit(code)
}

func cpu() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

// perRound is the number of walks between two checks of the number of steps.
const perRound = 5

// For any actions of users, nodes, other clients and the cloud, in any order, the final state is
// the requested one.
func TestWalk_ArrivesAtWhatIsAskedForWhateverHappened(t *testing.T) {
	if *only != "" {
		one, err := walk.Parse(*only)
		if err != nil {
			t.Fatal(err)
		}
		wrong := take(t, one)
		count(one, len(wrong) > 0)
		if len(wrong) > 0 {
			t.Error(strings.Join(wrong, "\n\t"))
		}
		return
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	set(t, "rapid.nofailfile", "true")
	set(t, "rapid.checks", strconv.Itoa(perRound))
	for round := uint64(1); ctx.Err() == nil && (*steps == 0 || tally.steps < *steps); round++ {
		set(t, "rapid.seed", strconv.FormatUint(*seed*1_000_000+round*1_000, 10))
		t.Run(strconv.FormatUint(round, 10), func(t *testing.T) { check(t) })
	}
}

func set(t *testing.T, name, value string) {
	t.Helper()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
}

// check takes some walks. If one fails, it searches for the shortest one that still fails.
func check(t *testing.T) {
	t.Helper()
	failed, last := false, ""
	defer func() {
		if failed {
			fmt.Println(last) // now, because a soak does not end
		}
	}()
	rapid.Check(t, func(rt *rapid.T) {
		one := draw(rt)
		wrong := take(t, one)
		if !failed {
			count(one, len(wrong) > 0)
		}
		if len(wrong) > 0 {
			failed = true
			last = fmt.Sprintf("seed %d:\n\t%s\n\tagain: make walk WALK='%s'", *seed, strings.Join(wrong, "\n\t"), one)
			rt.Fatal(last)
		}
	})
}

func count(one walk.Walk, failed bool) {
	tally.Lock()
	defer tally.Unlock()
	tally.steps += len(one.Steps)
	if failed {
		tally.failed++
	} else {
		tally.passed++
	}
}

// draw draws a walk: some stretches, with a rest after each.
func draw(t *rapid.T) walk.Walk {
	starts := slices.DeleteFunc(sweep.Starts(), func(s sweep.Start) bool { return *from != "" && s.Name != *from })
	one := walk.Walk{Start: starts[rapid.IntRange(0, len(starts)-1).Draw(t, "start")]}
	verb := rapid.SampledFrom(walk.Verbs())
	choice := rapid.IntRange(0, walk.Choices-1)
	pause := rapid.IntRange(0, len(walk.Pauses())-1)
	step := rapid.Custom(func(t *rapid.T) walk.Step {
		return walk.Step{Verb: verb.Draw(t, "verb"), A: choice.Draw(t, "a"), B: choice.Draw(t, "b"), Pause: pause.Draw(t, "pause")}
	})
	for _, stretch := range rapid.SliceOfN(rapid.SliceOfN(step, 1, 16), 1, 6).Draw(t, "stretches") {
		one.Steps = append(append(one.Steps, stretch...), walk.Step{Verb: walk.Rest})
	}
	return one
}

// take takes a walk in a bubble of its own, and returns the errors that it finds.
func take(t *testing.T, one walk.Walk) (wrong []string) {
	t.Helper()
	if *current != "" {
		if err := os.WriteFile(*current, []byte(one.String()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log io.Writer
	if *only != "" && testing.Verbose() {
		log = os.Stderr
	}
	defer func() {
		if cause := recover(); cause != nil { // remaining goroutines
			wrong = append(wrong, fmt.Sprint(cause))
		}
	}()
	var err error
	synctest.Test(t, func(t *testing.T) { wrong, err = one.Do(t.Context(), log) })
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	if rest := len(wrong) - mentioned; rest > 0 {
		wrong = append(wrong[:mentioned], fmt.Sprintf("and %d more", rest))
	}
	return wrong
}

// mentioned is the maximum number of reported errors of a walk.
const mentioned = 8

func TestParse_ReadsWhatWalksPrint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one := draw(t)
		again, err := walk.Parse(one.String())
		if err != nil || again.String() != one.String() {
			t.Fatalf("%v: %s, not %s", err, again, one)
		}
	})
}

// A Service is on the load balancer of another one, has left its own to a third, and has become
// internal: the load balancer that it has left keeps its floating IP. The walk and the compared
// environment may differ only in details that the history explains.
func TestCompare_PutsOwnersThatLeftOnOtherLoadBalancersAtOnce(t *testing.T) {
	for _, text := range []string{
		"amphora-with-groups create.8.1.4 create.19.1.2 rest.0.0.0 create.17.0.1 rest.0.0.0 share.15.21.3 rest.0.0.0 share.16.3.0 create.16.2.0 rest.0.0.0",
		"serial create.0.0.4 create.1.1.2 name.0.2.4 name.1.2.4 rest.0.0.0 name.0.0.4 rest.0.0.0",
		"inherited rest.0.0.0 create.7.19.2 share.0.7.5 recreate.15.1.0 rest.0.0.0",
	} {
		one, err := walk.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := take(t, one); len(wrong) > 0 {
			t.Errorf("%s:\n\t%s", one, strings.Join(wrong, "\n\t"))
		}
	}
}

// The pods of a dual-stack Service have endpoints of both IP families, so that the members that follow them
// are of both with ovn.
func TestIntent_HasEndpointsOfBothFamilies(t *testing.T) {
	one, err := walk.Parse("dual-stack-ovn-with-groups create.7.9.4 pods.7.14.2 rest.0.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if wrong := take(t, one); len(wrong) > 0 {
		t.Errorf("%s:\n\t%s", one, strings.Join(wrong, "\n\t"))
	}
}

// Services have settings that few have, members that are pods, or at addresses in another network, and are
// not managed for a while.
func TestSettings_ArePartOfWalks(t *testing.T) {
	for _, text := range []string{
		"amphora-with-groups create.0.1.4 set.0.4.3 set.0.5.3 set.0.6.2 manage.0.0.1 edit.0.0.3 rest.0.0.0 set.0.7.3 pods.0.3.3 edit.0.12.4 rest.0.0.0",
		"ovn create.0.1.4 set.0.0.3 set.0.1.3 pods.0.3.3 edit.0.12.4 rest.0.0.0 set.0.1.0 set.0.2.3 manage.0.0.1 delete.0.0.3 rest.0.0.0",
		"two-networks create.0.0.4 set.0.3.3 rest.0.0.0 node.0.1.3 manage.0.0.0 set.0.3.2 kill.0.0.2 rest.0.0.0",
	} {
		one, err := walk.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := take(t, one); len(wrong) > 0 {
			t.Errorf("%s:\n\t%s", one, strings.Join(wrong, "\n\t"))
		}
	}
}

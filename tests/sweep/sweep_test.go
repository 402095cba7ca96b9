package sweep_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/sweep"
)

var (
	seed  = flag.Uint64("seed", 1, "which runs are in the share")
	share = flag.Float64("share", 0.006, "the share of all runs that is done, 1 for all")
	only  = flag.String("only", "", "the run, or the runs, whose name begins like this")
	all   = flag.Bool("all", false, "do what happens on every kind of cloud, not only on one that the seed chooses")
	logs  = flag.Bool("log", false, "print the name of each run and what the controller logs")
)

// tally has the sums over all scenarios.
var tally struct {
	sync.Mutex
	scenarios, all, passed, failed, pointless, missed int
	longest                                           time.Duration
}

func TestMain(m *testing.M) {
	flag.Parse()
	start := time.Now()
	code := m.Run()
	t := &tally
	fmt.Printf("%d scenarios, %d runs of %d (seed %d, share %g); %d more make no sense for their request; %d did not reach theirs\n",
		t.scenarios, t.passed+t.failed, t.all, *seed, *share, t.pointless, t.missed)
	fmt.Printf("%.0f s, %.0f s of CPU; the slowest came to rest after %s of its own time\n", time.Since(start).Seconds(), cpu(), t.longest)
	fmt.Printf("sweep: %d passed, %d failed\n", t.passed, t.failed)
	os.Exit(code)
}

func cpu() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

// After any failure of any request, the controller reaches the same state as without it, and in
// between it neither permits more clients nor serves fewer.
func TestSweep_ArrivesWhereItWouldHaveWithoutFault(t *testing.T) {
	t.Parallel()
	scenarios := sweep.Scenarios()
	if !*all && *only == "" {
		scenarios = sweep.OneOfEach(scenarios, *seed)
	}
	for _, scenario := range scenarios {
		if *only != "" && !strings.HasPrefix(*only, scenario.Name+"/") && !strings.HasPrefix(scenario.Name, *only) {
			continue
		}
		count(func() { tally.scenarios++ })
		t.Run(scenario.Name, func(t *testing.T) {
			t.Parallel()
			calm := do(t, sweep.Run{Scenario: scenario})
			if wrong := calm.Compare(calm); len(wrong) > 0 {
				t.Fatalf("without a fault:\n%s", strings.Join(wrong, "\n"))
			}
			runs, pointless := sweep.Runs(scenario, calm)
			count(func() { tally.all += len(runs); tally.pointless += pointless })
			for _, run := range runs {
				if *only == "" && run.Selected(*seed, *share) || *only != "" && strings.HasPrefix(run.Name(), *only) {
					try(t, run, calm)
				}
			}
		})
	}
}

func count(f func()) {
	tally.Lock()
	defer tally.Unlock()
	f()
}

func try(t *testing.T, run sweep.Run, calm sweep.Outcome) {
	t.Helper()
	outcome := do(t, run)
	wrong := outcome.Compare(calm)
	count(func() {
		tally.longest = max(tally.longest, outcome.Took)
		if !outcome.Struck {
			tally.missed++
		}
		if len(wrong) == 0 {
			tally.passed++
		} else {
			tally.failed++
		}
	})
	if len(wrong) > 0 { // printed at once, because hours may follow
		fmt.Printf("%s:\n\t%s\n\tagain: make sweep RUN='%s'\n", run.Name(), strings.Join(wrong, "\n\t"), run.Name())
		t.Fail()
	}
}

// do runs in a bubble of its own.
func do(t *testing.T, run sweep.Run) (outcome sweep.Outcome) {
	t.Helper()
	var err error
	var log io.Writer
	if *logs {
		log = os.Stderr
		fmt.Fprintln(log, run.Name())
	}
	defer func() {
		if cause := recover(); cause != nil { // remaining goroutines
			outcome.Wrong = append(outcome.Wrong, fmt.Sprint(cause))
		}
	}()
	synctest.Test(t, func(t *testing.T) { outcome, err = run.Do(t.Context(), log) })
	if err != nil {
		outcome.Wrong = append(outcome.Wrong, err.Error())
	}
	return outcome
}

package soak_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/openstack-ccm/openstack-ccm/tests/soak"
)

var (
	hours    = flag.Int("hours", 7, "how long it goes on")
	services = flag.Int("services", 6, "how many Services there are")
	seed     = flag.Uint64("seed", 1, "who does what when")
	drawing  = flag.String("picture", "", "the file for the picture")
)

// reported is the maximum number of reported errors.
const reported = 20

// The costs of a controller do not grow with its age.
//
//nolint:paralleltest // it measures the whole process
func TestSoak_HoldsAndAsksNoMoreAfterLongTime(t *testing.T) {
	options := soak.Options{Hours: *hours, Services: *services, Seed: *seed, Progress: io.Discard}
	if testing.Verbose() {
		options.Progress = os.Stdout
	}
	var report soak.Report
	var err error
	synctest.Test(t, func(t *testing.T) { report, err = soak.Run(t.Context(), options) })
	if err != nil {
		t.Fatalf("%.2000s", err)
	}
	if *drawing != "" {
		if err := report.Picture(options).Write(*drawing); err != nil {
			t.Error(err)
		}
	}
	wrong := append(report.Growing(), report.Wrong...)
	if rest := len(wrong) - reported; rest > 0 {
		wrong = append(wrong[:reported], fmt.Sprintf("and %d more", rest))
	}
	for _, life := range report.Lives {
		fmt.Printf("the process that ended after hour %d held %s\n", life.Until, life)
	}
	fmt.Printf("without Services the last one held %s, a new one %s, one that never had any %s\n",
		report.EmptiedOld, report.EmptiedNew, report.Unused)
	verdict := "level"
	if len(wrong) > 0 {
		verdict = strings.Join(wrong, "; ")
		t.Error(strings.Join(wrong, "\n"))
	}
	fmt.Printf("soak: %d hours, %d requests, %s\n", len(report.Samples), report.Requests(), verdict)
}

func TestReport_TellsWhatGrows(t *testing.T) {
	report := soak.Report{}
	for hour := range 96 {
		report.Samples = append(report.Samples, soak.Sample{Heap: 100, Goroutines: 500 + 4*hour, Connections: 10, Requests: 1000, Writes: 100, Changes: 50})
	}
	report.Samples[90].Heap = 1000 // a single high value is no growth
	report.EmptiedOld, report.EmptiedNew = soak.Life{Held: 1.05, Goroutines: 25}, soak.Life{Held: 1, Goroutines: 40}
	report.Unused = soak.Life{Goroutines: 20}
	if got := report.Growing(); len(got) != 1 || !strings.HasPrefix(got[0], "goroutines: 644.0 in hours 25 to 48, 836.0 in the last 24") {
		t.Errorf("it reports %q", got)
	}
	report.EmptiedOld.Held = 1.5
	if got := report.Growing(); len(got) != 2 || got[1] != "without Services: the last process held 1.50 MiB and 25 goroutines, a new one 1.00 MiB and 40 goroutines, one that never had any 0.00 MiB and 20 goroutines" {
		t.Errorf("it reports %q", got)
	}
	if got := (soak.Report{Samples: report.Samples[:3]}).Growing(); len(got) != 1 {
		t.Errorf("of three hours it reports %q", got)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/cost"
)

func TestRun_GoesThroughAllPhasesAtATinySize(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	o, err := parse([]string{
		"--size=3x1x3", "--speed=50", "--idle=1s", "--settle=500ms", "--sample=200ms", "--out=" + directory,
		"--gomaxprocs=2", "--gomemlimit=300MiB", "--phases=" + strings.Join(append(phaseNames(), takeover().name), ","),
	})
	if err != nil {
		t.Fatal(err)
	}
	printed := &bytes.Buffer{}
	if err := run(t.Context(), o, newScreen(printed, false)); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	t.Logf("\n%s", printed)
	rows := readRows(t, filepath.Join(directory, "load.json"))
	var cases []string
	for _, row := range rows {
		cases = append(cases, row.Case)
		if row.Error != "" || row.CPU < 0 || row.RSS <= 0 || row.PeakRSS < row.RSS || row.Heap <= 0 || row.Goroutines == 0 {
			t.Errorf("incomplete: %+v", row)
		}
	}
	if diff := cmp.Diff(append(phaseNames(), takeover().name), cases); diff != "" {
		t.Fatalf("cases, -want +got:\n%s", diff)
	}
	// A load balancer and a floating IP for each Service; a listener of each.
	for name, writes := range map[string]int{"start": 0, "create": 6, "resync": 0, "restart": 0, "spec-change": 3, "idle": 0, "restart-idle": 0, "delete": 6} {
		if row := rows[slices.Index(cases, name)]; row.Writes != writes {
			t.Errorf("%s: %d writes, want %d", name, row.Writes, writes)
		}
	}
	// Linux counts CPU time in hundredths of a second: a change of three Services takes less.
	if row := rows[slices.Index(cases, "create")]; row.CPU == 0 || row.KubeWrites == 0 || row.KubeEvents == 0 || row.LastAddress <= 0 || row.Bytes <= 0 {
		t.Errorf("create: %+v", row)
	}
	if lines := strings.Count(printed.String(), "\n"); lines > len(cases)+20 {
		t.Errorf("%d lines were printed for %d phases", lines, len(cases))
	}
	checkPicture(t, filepath.Join(directory, "load-3x1x3.svg"))
	if _, err := os.Stat(filepath.Join(directory, "load-3x1x3-samples.json")); err != nil {
		t.Error(err)
	}
}

func readRows(t *testing.T, file string) []Row {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []Row
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// checkPicture requires well-formed XML with the name of a phase.
func checkPicture(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for decoder := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	if !strings.Contains(string(text), ">create<") {
		t.Errorf("%s does not mark the phases", file)
	}
}

func TestRow_HasTheFieldsThatOthersRead(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(Row{})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"case", "services", "ports", "nodes", "peak_rss_mib", "rss_mib", "cpu_s", "requests", "writes", "bytes_mib",
		"kube_writes", "kube_events", "seconds", "cloud_seconds",
	} {
		if _, has := fields[name]; !has {
			t.Errorf("no field %s", name)
		}
	}
}

func TestParse_NamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]string{
		"--size=10x3": "1000x3x100", "--size=0x1x1": "0x1x1", "--phases=create,sleep": "node-replace", "--profile=sleep": "node-replace",
		"--repeat=0": "1 or more", "--speed=0": "more than 0", "--conf=drift": "KEY=VALUE",
	} {
		if _, err := parse([]string{arg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: err = %v, want it to contain %q", arg, err, want)
		}
	}
}

func TestParse_HasTheStandardSizesAndAllPhases(t *testing.T) {
	t.Parallel()
	o, err := parse(nil)
	if err != nil || len(o.sizes) != len(standardSizes()) || len(o.phases) != len(phases()) {
		t.Fatalf("parse = %+v, %v", o, err)
	}
	for i, s := range o.sizes {
		if s.String() != standardSizes()[i] {
			t.Errorf("size %s, want %s", s, standardSizes()[i])
		}
	}
}

func TestSize_KnowsTheCloudsOwnLimits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][4]time.Duration{ // create, change, replace, delete
		"100x3x100":      {145 * time.Second, 9 * time.Second, 9 * time.Second, 5 * time.Second},
		"200x3x1000":     {248 * time.Second, 9 * time.Second, 9 * time.Second, 5 * time.Second},
		"500x3x5000/100": {545 * time.Second, 9 * time.Second, 9 * time.Second, 5 * time.Second},
		"500x3x5000":     {572 * time.Second, 9 * time.Second, 18 * time.Second, 5 * time.Second},
	} {
		s, err := parseSize(text)
		if err != nil {
			t.Fatal(err)
		}
		got := [4]time.Duration{s.createLimit(cost.Amphora().Create), s.changeLimit(), s.replaceLimit(), s.deleteLimit()}
		if got != want {
			t.Errorf("%s: limits %v, want %v", text, got, want)
		}
	}
}

// A size for which a real cloud would take hours can be measured faster than the others.
func TestParse_TakesASpeedOfOneSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]size{
		"5000x2x50":     {services: 5000, ports: 2, nodes: 50},
		"5000x2x50@50":  {services: 5000, ports: 2, nodes: 50, speed: 50},
		"5000x2x50/9@5": {services: 5000, ports: 2, nodes: 50, maxMembers: 9, speed: 5},
	} {
		if got, err := parseSize(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	if s, err := parseSize("5000x2x50@0"); err == nil {
		t.Errorf("a speed of 0 is taken: %+v", s)
	}
}

func TestMerge_ReplacesTheSameRowAndKeepsTheOthers(t *testing.T) {
	t.Parallel()
	old := []Row{{Case: "create", Services: 1, CPU: 1}, {Case: "create", Services: 2, CPU: 2}}
	got := merge(old, []Row{{Case: "create", Services: 2, CPU: 3}, {Case: "create", Services: 2, MaxMembers: 5, CPU: 4}, {Case: "create", Services: 2, Speed: 5, CPU: 5}})
	want := []Row{{Case: "create", Services: 1, CPU: 1}, {Case: "create", Services: 2, CPU: 3}, {Case: "create", Services: 2, MaxMembers: 5, CPU: 4}, {Case: "create", Services: 2, Speed: 5, CPU: 5}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows, -want +got:\n%s", diff)
	}
}

func TestGrowth_ComparesTheSecondRepetitionWithTheLast(t *testing.T) {
	t.Parallel()
	rows := []Row{
		{Case: "create", Repetition: 1, RSS: 1}, {Case: "node-add", Repetition: 1, RSS: 10},
		{Case: "node-add", Repetition: 2, RSS: 20}, {Case: "node-add", Repetition: 3, RSS: 21},
	}
	got := growth(rows)
	if len(got) != 1 || !strings.Contains(got[0], "node-add") || !strings.Contains(got[0], "2 → 3: resident 20.0 → 21.0 MiB") {
		t.Errorf("growth = %q", got)
	}
	if got := growth([]Row{{Case: "create", RSS: 1}}); len(got) != 0 {
		t.Errorf("growth of one run = %q", got)
	}
}

func TestAudit_CountsEventsApartAndWholeLinesOnly(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	a, flags, err := newAudit(directory)
	if err != nil || len(flags) != 3 || !slices.Contains(flags, "--audit-log-maxsize=1000000") {
		t.Fatalf("newAudit = %v, %v", flags, err)
	}
	add := func(text string) {
		t.Helper()
		file, err := os.OpenFile(a.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.WriteString(text)
		if err := errors.Join(err, file.Close(), a.read()); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.reset(); err != nil { // there is no log yet
		t.Fatal(err)
	}
	add(`{"objectRef":{"resource":"services","subresource":"status"}}` + "\n" + `{"objectRef":{"resource":"events"}}` + "\n" + `{"objectRef":`)
	if a.writes() != 1 || a.events() != 1 {
		t.Errorf("%d writes, %d events: %v", a.writes(), a.events(), a.counts)
	}
	add(`{"resource":"services"}}` + "\n")
	if a.writes() != 2 {
		t.Errorf("%d writes: %v", a.writes(), a.counts)
	}
	if err := a.reset(); err != nil || a.writes() != 0 {
		t.Errorf("after reset: %v, %v", a.counts, err)
	}
}

func TestScreen_PrintsWaitsOnATerminalOnly(t *testing.T) {
	t.Parallel()
	for terminal, want := range map[bool]string{true: clearLine + "for Godot" + clearLine + "he came\n", false: "he came\n"} {
		printed := &bytes.Buffer{}
		s := newScreen(printed, terminal)
		s.waiting("for Godot")
		s.linef("he %s", "came")
		if got := printed.String(); got != want {
			t.Errorf("terminal %v: %q, want %q", terminal, got, want)
		}
	}
}

func TestPicture_IsWellFormedWhateverTheFigures(t *testing.T) {
	t.Parallel()
	for name, samples := range map[string][]sample{
		"none": nil, "one": {{At: 0}}, "some": {{At: 0, RSS: 50, Heap: 20}, {At: 700, RSS: 412, CPU: 1.7, Requests: 40}},
	} {
		file := filepath.Join(t.TempDir(), "picture.svg")
		if err := draw(file, `<"a" & 'b'>`, samples, []mark{{Name: "create", From: 0, To: 3}, {Name: "b<c", From: 3, To: 4}}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkPicture(t, file)
	}
}

package features

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

const module = "github.com/openstack-ccm/openstack-ccm/"

// Outcome is the result of a test in a run.
type Outcome string

// The outcomes; the empty one is that of a test that did not run.
const (
	Passed  Outcome = "pass"
	Failed  Outcome = "fail"
	Skipped Outcome = "skip"
)

// Test is a test function. Folder is its package's, from the root.
type Test struct {
	Folder, Name string
}

// Results are the outcomes of a run.
type Results map[Test]Outcome

// event is a line of `go test -json` (go doc test2json).
type event struct {
	Action, Package, Test, Output string
}

// Follow reads the events of `go test -json` until they end, writes the output of `go test` to out,
// and returns the results of the test functions. Lines that are no events are copied to out.
func Follow(events io.Reader, out io.Writer) (Results, error) {
	results, packages := Results{}, map[string]*report{}
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			follow(line, out, results, packages)
		}
		if err == io.EOF {
			return results, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

func follow(line string, out io.Writer, results Results, packages map[string]*report) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		_, _ = io.WriteString(out, line)
		return
	}
	of := packages[e.Package]
	if of == nil {
		of = &report{output: map[string][]string{}}
		packages[e.Package] = of
	}
	switch e.Action {
	case "build-output":
		_, _ = io.WriteString(out, e.Output)
	case "output":
		of.output[e.Test] = append(of.output[e.Test], e.Output)
	case string(Passed), string(Failed), string(Skipped):
		if e.Test == "" {
			of.write(out, e.Action == string(Failed))
			delete(packages, e.Package)
			return
		}
		if e.Action != string(Failed) {
			delete(of.output, e.Test)
		}
		if !strings.Contains(e.Test, "/") {
			results[Test{strings.TrimPrefix(e.Package, module), e.Test}] = Outcome(e.Action)
		}
	}
}

// report is the output of a package and of its tests that have not passed.
type report struct {
	output map[string][]string
}

// write writes one line of a package that passed, and all of one that failed.
func (r *report) write(out io.Writer, failed bool) {
	of := r.output[""]
	delete(r.output, "")
	for _, test := range slices.Sorted(maps.Keys(r.output)) {
		for _, line := range r.output[test] {
			if failed && !strings.HasPrefix(line, "=== ") {
				_, _ = io.WriteString(out, line)
			}
		}
	}
	for _, line := range of {
		if failed || strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "?   \t") {
			_, _ = io.WriteString(out, line)
		}
	}
}

// Write writes the results in the form that Follow reads.
func (r Results) Write(out io.Writer) error {
	lines := json.NewEncoder(out)
	for _, test := range slices.SortedFunc(maps.Keys(r), compareTests) {
		if err := lines.Encode(event{Action: string(r[test]), Package: module + test.Folder, Test: test.Name}); err != nil {
			return err
		}
	}
	return nil
}

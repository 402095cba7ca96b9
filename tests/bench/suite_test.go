package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	everything = flag.Bool("full", false, "measure everything, and print it")
	figures    = flag.String("json", "", "also write the figures to this file")
)

// TestMain runs this program as the controller of the hold cases if it has the flag --hold.
func TestMain(m *testing.M) {
	if !slices.Contains(os.Args, "--hold") {
		flag.Parse()
		os.Exit(m.Run())
	}
	if err := holdAsChild(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// versionDocument is read once in ten minutes, independently of the case.
const versionDocument = "GET /load-balancer/"

// Tests that count allocations do not run beside others.

func TestBench_TakesWritesAndCyclesOfFloor(t *testing.T) {
	rows := measure(t)
	floored := []string{
		casePolicyChange, caseCreate, caseNoop, caseRestart, caseDelete, caseNodeAdd, caseNodeAddCold, caseListenerChange, casePortRemove, caseNodeRemove, caseNodeChurn, caseIdle,
		caseRollout, caseScale, casePodsNodeLost, caseCreateMany, caseNodeAddMany, caseDeleteMany,
	}
	for _, r := range rows {
		if r.Error != "" {
			t.Errorf("%s: %s", describe(r), r.Error)
			continue
		}
		if slices.Contains(floored, r.Case) && (r.Writes != r.Floor.Writes || r.Cycles != r.Floor.Cycles) {
			t.Errorf("%s: %d writes and %d cycles, the floor is %d and %d", describe(r), r.Writes, r.Cycles, r.Floor.Writes, r.Floor.Cycles)
		}
		// A creation that is larger than a request may be is several requests here.
		if r.Peer != nil && r.Writes > max(r.Peer.Writes, r.Floor.Writes) && r.Case != caseIdle {
			t.Errorf("%s: %d writes, more than cloud-provider-openstack's %d", describe(r), r.Writes, r.Peer.Writes)
		}
		if reads := []string{caseCreate, caseNoop, caseRestart, caseNodeAdd, caseNodeAddCold, caseNodeAddManyCold, caseNodeChurn, caseRollout, caseScale, casePodsNodeLost, caseNodeAddMany}; slices.Contains(reads, r.Case) && r.Reads-r.Requests[versionDocument] > r.Floor.Reads {
			t.Errorf("%s: %d reads beside the watcher's, the floor is %d: %v", describe(r), r.Reads, r.Floor.Reads, r.Requests)
		}
		if r.Case == caseCreateMany && r.Units > 1.35 { // ten workers for a hundred Services take 1.33
			t.Errorf("%s by %d workers: %.1f s, %.2f times the cloud's own limit", describe(r), r.Workers, r.Seconds, r.Units)
		}
		if log := total(r); log < r.Reads+r.WatchReads+r.Writes {
			t.Errorf("%s: the log has %d requests, %d were counted", describe(r), log, r.Reads+r.WatchReads+r.Writes)
		}
	}
	for _, name := range []string{
		caseCreate, caseNoop, caseRestart, caseNodeAdd, caseNodeRemove, caseNodeChurn, caseListenerChange, casePortAdd, casePortRemove,
		caseDelete, caseRollout, caseScale, casePodsNodeLost, caseCreateMany, caseNodeAddMany, caseIdle,
	} {
		if !slices.ContainsFunc(rows, func(r Row) bool { return r.Case == name }) {
			t.Errorf("no case %s", name)
		}
	}
	inShape(t, rows)
}

// measure runs a few small cases, or all of them with the flag -full.
func measure(t *testing.T) []Row {
	t.Helper()
	suite, out, progress := small(), io.Discard, io.Discard
	if *everything {
		suite, out, progress = full(), os.Stdout, os.Stderr
	}
	rows, err := suite.run(t, progress)
	printTable(out, rows)
	if err != nil {
		t.Fatal(err)
	}
	if *figures != "" {
		if err := save(*figures, rows); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// inShape checks the format of the figures.
func inShape(t *testing.T, rows []Row) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out", "bench.json")
	if err := save(file, rows); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	if err := json.Unmarshal(text, &objects); err != nil {
		t.Fatal(err)
	}
	if len(objects) != len(rows) {
		t.Fatalf("%d objects for %d rows", len(objects), len(rows))
	}
	for _, object := range objects {
		for _, key := range []string{
			"case", "ports", "nodes", "services", "provider", "reads", "watch_reads", "writes", "cycles", "floor", "peer",
			"bytes", "allocs", "rss_mib", "seconds",
		} {
			if _, has := object[key]; !has {
				t.Errorf("%s has no %q", object["case"], key)
			}
		}
		floor, isObject := object["floor"].(map[string]any)
		if !isObject || floor["writes"] == nil || floor["cycles"] == nil {
			t.Errorf("%s: floor is %v", object["case"], object["floor"])
		}
	}
}

func total(r Row) int {
	sum := 0
	for _, n := range r.Requests {
		sum += n
	}
	return sum
}

func describe(r Row) string {
	return fmt.Sprintf("%s (%s, %d ports, %d nodes, %d services)", r.Case, r.Provider, r.Ports, r.Nodes, r.Services)
}

func TestHold_MeasuresMemoryOfControllerAlone(t *testing.T) {
	rows, err := hold(t.Context(), scale{provider: ovn, ports: 2, nodes: 3, services: 3})
	if err != nil {
		t.Fatal(err)
	}
	writes := map[string]int{caseHold: 6, caseHoldNoop: 0, caseHoldNodeAdd: 6, caseHoldRestart: 0}
	for _, r := range rows {
		if want, ok := writes[r.Case]; !ok || r.Error != "" || !r.Alone || r.Writes != want || r.Allocs == 0 {
			t.Errorf("got %+v", r)
		}
		delete(writes, r.Case)
	}
	if len(writes) > 0 {
		t.Errorf("no rows of %v", writes)
	}
	r := rows[0]
	if _, err := os.Stat("/proc/self/status"); err == nil && (r.RSSMiB == 0 || r.RSSPeakMiB < r.RSSMiB) {
		t.Errorf("%f MiB, at most %f", r.RSSMiB, r.RSSPeakMiB)
	}
}

func TestTable_ShowsCasesAboveFloorWithTheirRequests(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printTable(&out, []Row{
		{Case: caseNoop, Provider: amphora, Ports: 1, Nodes: 3, Services: 1, Peer: &Peer{Requests: 6}},
		{Case: caseDelete, Provider: ovn, Ports: 3, Nodes: 3, Services: 100, Workers: 7, Writes: 3, Floor: Floor{Writes: 2, Cycles: 1},
			Requests: map[string]int{"DELETE /network/v2.0/floatingips/{id}": 3}},
		{Case: caseCreate, Error: "the cloud is full"},
	})
	for _, want := range []string{"6 [0]", "> delete", "100 by 7", "3 [2]", "3  DELETE /network/v2.0/floatingips/{id}", "! create", "failed: the cloud is full"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "> noop") {
		t.Error("a case at its floor is marked")
	}
}

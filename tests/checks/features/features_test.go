package features_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/checks/features"
)

const root = "../../.."

// Rows are numbered without a gap, and no test proves a row that does not exist.
func TestRows_AreNumberedWithoutGap(t *testing.T) {
	t.Parallel()
	rows := features.Rows()
	for i, row := range rows {
		if row.N != i+1 {
			t.Errorf("row %d has the number %d", i+1, row.N)
		}
	}
	for _, proof := range proofs(t) {
		if proof.Row < 1 || proof.Row > len(rows) {
			t.Errorf("%s in %s proves row %d, which does not exist", proof.Name, proof.Folder, proof.Row)
		}
	}
}

// TestBreaks_StillApply finds breaks that no longer fit the source at each change. `make prove`,
// which applies them, takes too long for that.
func TestBreaks_StillApply(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(root + "/" + features.Page)
	if err != nil {
		t.Fatal(err)
	}
	if err := features.CheckBreaks(root, features.Breaks(), proofs(t), features.Kept(string(page))); err != nil {
		t.Error(err)
	}
}

func TestBreaks_AreThereOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, b := range features.Breaks() {
		if key := fmt.Sprint(b.Row, b.File, b.Old, b.New); seen[key] {
			t.Errorf("row %d: %q is there twice", b.Row, b.What)
		} else {
			seen[key] = true
		}
	}
}

// TestBreaks_AreDescribedInPlainEnglish fails for a description that cannot be understood without
// the row. Package prose checks further constructions.
func TestBreaks_AreDescribedInPlainEnglish(t *testing.T) {
	t.Parallel()
	unclear := regexp.MustCompile(`^(it|its|they|their|neither|there|what|whatever|all|any) |\b(nobody|told|heard|asked for|looked (at|for)|taken for|left alone)\b`)
	for _, b := range features.Breaks() {
		if found := unclear.FindString(b.What); found != "" || len(b.What) < 15 {
			t.Errorf("row %d: %q has no concrete subject or verb (%q)", b.Row, b.What, found)
		}
	}
}

func TestRows_ShowResultsOfTheirTests(t *testing.T) {
	t.Parallel()
	a, b := features.Test{Folder: "pkg/a", Name: "TestA"}, features.Test{Folder: "pkg/b", Name: "TestB"}
	for _, c := range []struct {
		what    string
		proofs  []features.Test
		results features.Results
		partly  string
		want    string
	}{
		{"no tests", nil, nil, "", "no"},
		{"all passed", []features.Test{a, b}, features.Results{a: features.Passed, b: features.Passed}, "", "yes"},
		{"some is missing", []features.Test{a}, features.Results{a: features.Passed}, "no chart", "partly: no chart"},
		{"one failed", []features.Test{a, b}, features.Results{a: features.Passed, b: features.Failed}, "", "no: TestB failed"},
		{"one did not run", []features.Test{a, b}, features.Results{a: features.Passed}, "no chart", "no: TestB did not run"},
		{"one was skipped", []features.Test{a, b}, features.Results{a: features.Passed, b: features.Skipped}, "", "on a real OpenStack only"},
	} {
		var proofs []features.Proof
		for _, test := range c.proofs {
			proofs = append(proofs, features.Proof{Row: 1, Test: test})
		}
		page := features.Document([]features.Row{{N: 1, Feature: "UDP", Partly: c.partly}}, proofs, c.results)
		if !strings.Contains(page, "| 1 | UDP | "+c.want+" |") {
			t.Errorf("%s: want %q in\n%s", c.what, c.want, page)
		}
		if got := features.Kept(page)[1]; got != (c.want == "yes") {
			t.Errorf("%s: the page is read as %v", c.what, got)
		}
	}
}

// TestFollow_ShowsRunAndReadsItsResultsAgain checks that Follow writes the same output as `go
// test`: a line for each package that passes, and the whole output of one that fails.
func TestFollow_ShowsRunAndReadsItsResultsAgain(t *testing.T) {
	t.Parallel()
	const pkg = `"Package":"github.com/openstack-ccm/openstack-ccm/pkg/`
	var shown strings.Builder
	results, err := features.Follow(strings.NewReader(`no event
{"Action":"build-output","ImportPath":"x","Output":"x.go:1:1: undefined: y\n"}
{"Action":"output",`+pkg+`good","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output",`+pkg+`bad","Test":"TestBad/sub","Output":"    bad_test.go:1: bad\n"}
{"Action":"output",`+pkg+`bad","Test":"TestBad/other","Output":"    bad_test.go:2: good\n"}
{"Action":"fail",`+pkg+`bad","Test":"TestBad/sub"}
{"Action":"pass",`+pkg+`bad","Test":"TestBad/other"}
{"Action":"output",`+pkg+`bad","Test":"TestBad","Output":"=== RUN   TestBad\n"}
{"Action":"output",`+pkg+`bad","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}
{"Action":"fail",`+pkg+`bad","Test":"TestBad"}
{"Action":"output",`+pkg+`good","Test":"TestGood","Output":"a log\n"}
{"Action":"pass",`+pkg+`good","Test":"TestGood"}
{"Action":"skip",`+pkg+`good","Test":"TestSkipped"}
{"Action":"output",`+pkg+`good","Output":"PASS\n"}
{"Action":"output",`+pkg+`good","Output":"ok  \tgood\t1.2s\n"}
{"Action":"pass",`+pkg+`good"}
{"Action":"output",`+pkg+`bad","Output":"FAIL\tbad\t1.2s\n"}
{"Action":"fail",`+pkg+`bad"}
`), &shown)
	if err != nil {
		t.Fatal(err)
	}
	want := "no event\nx.go:1:1: undefined: y\nok  \tgood\t1.2s\n--- FAIL: TestBad (0.00s)\n    bad_test.go:1: bad\nFAIL\tbad\t1.2s\n"
	if diff := cmp.Diff(want, shown.String()); diff != "" {
		t.Errorf("shown (-want +have):\n%s", diff)
	}
	became := features.Results{
		{Folder: "pkg/good", Name: "TestGood"}: features.Passed, {Folder: "pkg/good", Name: "TestSkipped"}: features.Skipped,
		{Folder: "pkg/bad", Name: "TestBad"}: features.Failed,
	}
	if diff := cmp.Diff(became, results); diff != "" {
		t.Errorf("results (-want +have):\n%s", diff)
	}
	var kept strings.Builder
	if err := results.Write(&kept); err != nil {
		t.Fatal(err)
	}
	again, err := features.Follow(strings.NewReader(kept.String()), &shown)
	if diff := cmp.Diff(became, again); err != nil || diff != "" {
		t.Errorf("read again: %v (-want +have):\n%s", err, diff)
	}
}

func proofs(t *testing.T) []features.Proof {
	t.Helper()
	found, err := features.Proofs(root)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

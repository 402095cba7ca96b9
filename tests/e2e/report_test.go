package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestReadReport_LeavesOutSpecsThatWereNotSelected(t *testing.T) {
	t.Parallel()
	const report = `<testsuites><testsuite>
		<testcase name="[It] passes" status="passed" time="1.5"></testcase>
		<testcase name="[It] skips itself" status="skipped" time="0.5"></testcase>
		<testcase name="[It] is not selected" status="skipped" time="0"></testcase>
		<testcase name="[ReportAfterSuite] reports" status="passed" time="0.1"></testcase>
		<testcase name="[It] fails" status="failed" time="2"><failure></failure></testcase>
	</testsuite></testsuites>`
	path := filepath.Join(t.TempDir(), "junit_01.xml")
	if err := os.WriteFile(path, []byte(report), 0o600); err != nil {
		t.Fatal(err)
	}
	specs, err := readReport(path)
	want := []Spec{{"passes", "passed", 1.5}, {"skips itself", "skipped", 0.5}, {"fails", "failed", 2}}
	if err != nil || !slices.Equal(specs, want) {
		t.Errorf("readReport = %v, %v; want %v", specs, err, want)
	}
}

package features_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/refusal"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// rowsOf returns the second cell of each row under a heading of a page in docs, by the first.
func rowsOf(t *testing.T, name, heading string) map[string]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("../../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, section, _ = strings.Cut(section, "\n|---") // after the names of the columns
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.+?) \\| .+ \\|$").FindAllStringSubmatch(section, -1) {
		rows[row[1]] = row[2]
	}
	return rows
}

// TestEvents_PageHasARowForEachReason compares the table of docs/events.md with the reasons of
// events on Services, and their types.
func TestEvents_PageHasARowForEachReason(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	for _, entry := range reason.Table() {
		if entry.On == reason.Service && entry.Type != "" {
			want[string(entry.Reason)] = entry.Type
		}
	}
	if diff := cmp.Diff(want, rowsOf(t, "events.md", "Events on Services")); diff != "" {
		t.Errorf("the events in docs/events.md differ from the code (-code +page):\n%s", diff)
	}
}

// TestEvents_PagesNameReasonsThatThereAre fails if a page names a reason of events that the source
// does not have.
func TestEvents_PagesNameReasonsThatThereAre(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	internals, err := filepath.Glob("../../../docs/internals/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Concat(pages, internals, []string{"../../../README.md"}) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile("\\b(?:events?|reason)\\s+`(\\w+)`").FindAllStringSubmatch(string(text), -1) {
			named++
			if !inSource(t, found[1]) {
				t.Errorf("%s names events of reason %s, which does not exist", filepath.Base(path), found[1])
			}
		}
	}
	if named < 5 {
		t.Errorf("only %d reasons are found", named)
	}
}

// TestRefusals_PageHasARowForEachReason compares docs/services.md with the label values of the
// metric refused_services.
func TestRefusals_PageHasARowForEachReason(t *testing.T) {
	t.Parallel()
	rows := slices.Collect(maps.Keys(rowsOf(t, "services.md", "Services that are refused")))
	if diff := cmp.Diff(slices.Sorted(slices.Values(refusal.Reasons())), slices.Sorted(slices.Values(rows))); diff != "" {
		t.Errorf("the reasons in docs/services.md differ from the code (-code +page):\n%s", diff)
	}
}

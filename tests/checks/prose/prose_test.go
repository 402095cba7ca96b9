package prose_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/checks/prose"
)

const root = "../../.."

// Comments, messages and pages are in plain English: each directory has at most five of each
// construction in a thousand lines.
func TestProse_IsPlainEnglish(t *testing.T) {
	t.Parallel()
	counts, err := prose.Count(root, "cmd", "pkg", "docs", "manifests", "tests", "README.md", "CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, directory := range slices.Sorted(maps.Keys(counts)) {
		c := counts[directory]
		limit := prose.Allowed(c.Lines)
		for i, construction := range prose.Constructions {
			if c.Found[i] <= limit {
				continue
			}
			t.Errorf("%s has %d of %q in %d lines, want at most %d:", directory, c.Found[i], construction.Name, c.Lines, limit)
			for _, find := range c.Finds {
				if find.Construction == construction.Name {
					t.Logf("%s:%d: %s: %s", find.File, find.Number, find.Construction, find.Text)
				}
			}
		}
	}
}

func TestCount_FindsProseOfEachKind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/a.go":      "package a\n\n// A tells what is\n// told.\n//go:tells nothing\nconst A = \"nobody is told\" + \"tells\" + `two\nlines is to be`\n",
		"a/a_test.go": "package a\n\n// Tells.\nconst b = \"nobody is told\"\n",
		"b/b.md":      "# Whoever\n\nsays it\n",
		"b/b.yaml":    "says: tells # says\n# told\nurl: http://a#says\n",
		"b/b.txt":     "says\n", "b/testdata/c.md": "says\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	counts, err := prose.Count(dir, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][5]int{}
	for directory, c := range counts {
		got[directory] = [5]int{c.Lines, c.Found[0], c.Found[1], c.Found[2], c.Found[3]}
	}
	want := map[string][5]int{"a": {6, 1, 4, 1, 1}, "b": {4, 1, 3, 0, 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if find := counts["a"].Finds[0]; find.File != "a/a.go" || find.Number != 3 {
		t.Errorf("first = %s:%d, want a/a.go:3", find.File, find.Number)
	}
}

func TestAllowed_IsFivePerThousandRoundedUp(t *testing.T) {
	t.Parallel()
	for lines, want := range map[int]int{0: 0, 1: 1, 200: 1, 201: 2, 1000: 5, 1001: 6} {
		if got := prose.Allowed(lines); got != want {
			t.Errorf("%d lines may have %d, want %d", lines, got, want)
		}
	}
}

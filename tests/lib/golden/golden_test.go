package golden

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func code(text string) func(string) (string, error) {
	return func(string) (string, error) { return text, nil }
}

func TestCompare_NamesCommandForFileThatDiffersOrIsMissing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "page.md")
	if err := os.WriteFile(path, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := compare(path, false, code("old\n"), t.Name()); err != nil {
		t.Errorf("a file that is as it should be fails: %v", err)
	}
	for _, path := range []string{path, filepath.Join(folder, "missing.md")} {
		err := compare(path, false, code("new\n"), "TestPage_IsUpToDate/case")
		want := "go test ./tests/lib/golden -run '^TestPage_IsUpToDate$' -update"
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "new") {
			t.Errorf("err = %v, want the difference and %q", err, want)
		}
	}
	if err := compare(filepath.Join(folder, "missing.md"), false, code(""), t.Name()); err == nil {
		t.Error("a file that is not there passes for an empty one")
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "old\n" {
		t.Errorf("the file has %q, %v: want it as it was", text, err)
	}
}

func TestCompare_WritesFileWhenItIsUpdated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "testdata", "page.md")
	for _, want := range []string{"first\n", "second\n"} {
		if err := compare(path, true, code(want), t.Name()); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != want {
			t.Errorf("the file has %q, %v; want %q", text, err, want)
		}
	}
	broken := errors.New("no marker")
	if err := compare(path, true, func(string) (string, error) { return "", broken }, t.Name()); !errors.Is(err, broken) {
		t.Errorf("err = %v, want %v", err, broken)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "second\n" {
		t.Errorf("the file has %q, %v: want it as it was", text, err)
	}
}

func TestPart_ChangesOnlyWhatIsBetweenItsLines(t *testing.T) {
	t.Parallel()
	const page = "above\n<!-- values: written by make generate -->\nold\n<!-- end of values -->\nbelow\n"
	got, err := withPart(page, "values", "new\n")
	if want := strings.Replace(page, "old", "new", 1); err != nil || got != want {
		t.Errorf("the page is %q, %v; want %q", got, err, want)
	}
	for _, page := range []string{"", "<!-- values: written by make generate -->\nold\n", strings.Replace(page, "end of values", "end of others", 1)} {
		if _, err := withPart(page, "values", "new\n"); err == nil {
			t.Errorf("the page %q passes", page)
		}
	}
}

func TestOutputs_AreThoseOfFilesOrBelowHeadings(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"all-good.golden": {Data: []byte("well\n")},
		"long.golden":     {Data: []byte("Settings\n  a\n\nFindings here\n  b\n  c\n\nLast\n  d\n")},
	}
	const page = "text\n<!-- output: a/all-good -->\n```\nold\n```\nmore\n<!-- output: a/long, Findings here -->\n```\n```\n" +
		"<!-- output: a/long, Last -->\n```\n```\n<!-- output: b/all-good -->\n```\nof b\n```\n"
	const want = "text\n<!-- output: a/all-good -->\n```\nwell\n```\nmore\n<!-- output: a/long, Findings here -->\n```\nFindings here\n  b\n  c\n```\n" +
		"<!-- output: a/long, Last -->\n```\nLast\n  d\n```\n<!-- output: b/all-good -->\n```\nof b\n```\n"
	got, err := withOutputs(page, "a", files)
	if err != nil || got != want {
		t.Errorf("the page is %q, %v; want %q", got, err, want)
	}
	for _, test := range []struct {
		page, want string
	}{
		{"<!-- output: b/all-good -->\n```\n```\n", "no outputs of a"},
		{"<!-- output: a/gone -->\n```\n```\n", "gone.golden"},
		{"<!-- output: a/long, Nothing -->\n```\n```\n", `"Nothing"`},
	} {
		if _, err := withOutputs(test.page, "a", files); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("err = %v, want it to tell %s", err, test.want)
		}
	}
}

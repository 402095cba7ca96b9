package features_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each promise names the tests that prove it, and these exist.
func TestReliability_NamesTestsThatThereAre(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs", "internals", "reliability.md"))
	if err != nil {
		t.Fatal(err)
	}
	there := testsBelow(t, "pkg", "cmd", "tests")
	promises := 0
	for line := range strings.Lines(string(page)) {
		promise, proof, is := strings.Cut(strings.Trim(line, "| \n"), " | ")
		if !is || promise == "promise" {
			continue
		}
		promises++
		names := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(proof, -1)
		if len(names) == 0 {
			t.Errorf("nothing proves: %s", promise)
		}
		for _, name := range names {
			if !there[name[1]] {
				t.Errorf("%s, which proves a promise, does not exist: %s", name[1], promise)
			}
		}
	}
	if promises == 0 {
		t.Error("nothing is promised")
	}
}

// testsBelow returns the names of all tests in some folders.
func testsBelow(t *testing.T, folders ...string) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(t \*testing\.T\)`)
	names := map[string]bool{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range declared.FindAllSubmatch(text, -1) {
				names[string(match[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

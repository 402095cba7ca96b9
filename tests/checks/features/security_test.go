package features_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each item of the threat model names at least one test, and these exist.
func TestThreatModel_NamesTestInEachSentence(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	written := testsOf(t, "../../..")
	_, list, _ := strings.Cut("\n"+string(text), "\n- ")
	for sentence := range strings.SplitSeq(list, "\n- ") {
		sentence, _, _ = strings.Cut(sentence, "\n\n")
		named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`").FindAllStringSubmatch(sentence, -1)
		if len(named) == 0 {
			t.Errorf("this item names no test: %s", sentence)
		}
		for _, name := range named {
			if !written[name[1]] {
				t.Errorf("%s does not exist, but this item names it: %s", name[1], sentence)
			}
		}
	}
}

// testsOf returns the names of all tests and fuzz targets below a folder.
func testsOf(t *testing.T, root string) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, name := range declared.FindAllStringSubmatch(string(source), -1) {
			found[name[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

package status_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compareDocs compares the output in docs/status.md with the golden files.
func compareDocs(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "status.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)<!-- output: ([a-z-]+) -->\n```\n.*?```\n")
	blocks := 0
	want := block.ReplaceAllStringFunc(string(page), func(found string) string {
		blocks++
		parts := block.FindStringSubmatch(found)
		output, err := os.ReadFile(filepath.Join("testdata", parts[1]+".golden"))
		if err != nil {
			t.Fatal(err)
		}
		return "<!-- output: " + parts[1] + " -->\n```\n" + string(output) + "```\n"
	})
	if blocks < 4 {
		t.Errorf("%d outputs in the page, want four at least", blocks)
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("%s is stale: run go test ./pkg/status -update (-want +got):\n%s", path, diff)
	}
}

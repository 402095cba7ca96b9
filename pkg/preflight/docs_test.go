package preflight_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compareDocs compares the output in docs/plan.md with the golden files.
func compareDocs(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "plan.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)<!-- output: ([a-z-]+) -->\n```\n.*?```\n")
	blocks := 0
	want := block.ReplaceAllStringFunc(string(page), func(found string) string {
		blocks++
		name := block.FindStringSubmatch(found)[1]
		output, err := os.ReadFile(filepath.Join("testdata", name+".golden"))
		if err != nil {
			t.Fatal(err)
		}
		return "<!-- output: " + name + " -->\n```\n" + string(output) + "```\n"
	})
	if blocks < 5 {
		t.Errorf("%d outputs in the page, want five at least", blocks)
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("%s is stale: run go test ./pkg/preflight -update (-want +got):\n%s", path, diff)
	}
}

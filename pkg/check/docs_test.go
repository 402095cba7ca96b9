package check_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compareDocs compares the output in docs/check.md with the golden files.
func compareDocs(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "check.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)<!-- output: ([a-zA-Z0-9-]+)(, [A-Z][a-z -]+)? -->\n```\n.*?```\n")
	blocks := 0
	want := block.ReplaceAllStringFunc(string(page), func(found string) string {
		blocks++
		parts := block.FindStringSubmatch(found)
		output, err := os.ReadFile(filepath.Join("testdata", parts[1]+".golden"))
		if err != nil {
			t.Fatal(err)
		}
		shown := string(output)
		if parts[2] != "" {
			shown = section(shown, strings.TrimPrefix(parts[2], ", "))
		}
		return "<!-- output: " + parts[1] + parts[2] + " -->\n```\n" + shown + "```\n"
	})
	if blocks < 6 {
		t.Errorf("%d outputs in the page, want six at least", blocks)
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(page)); diff != "" {
		t.Errorf("%s is stale: run go test ./pkg/check -update (-want +got):\n%s", path, diff)
	}
}

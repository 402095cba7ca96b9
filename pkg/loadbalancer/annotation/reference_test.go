package annotation_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
)

var update = flag.Bool("update", false, "write docs/services.md anew")

const (
	page  = "../../../docs/services.md"
	begin = "<!-- made from pkg/loadbalancer/annotation: make generate -->\n"
	end   = "<!-- end -->\n"
)

// TestReferenceIsTrue keeps the table of annotations in the documentation like the
// table in the code.
func TestReferenceIsTrue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(text), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	want := head + begin + reference() + end + tail
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s is not like the code: run make generate", page)
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func reference() string {
	var b strings.Builder
	b.WriteString("\n| annotation | values | effect |\n|---|---|---|\n")
	var without []string
	for _, a := range annotation.Table() {
		if !a.Effective() {
			without = append(without, "`"+a.Name+"`")
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", a.Name, a.Allowed, a.Doc)
	}
	fmt.Fprintf(&b, "\nKnown, but without effect in this version (an event says so): %s.\n\n", strings.Join(without, ", "))
	return b.String()
}

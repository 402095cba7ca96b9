package layers_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/layers"
)

var update = flag.Bool("update", false, "write the table of packages in docs/design.md")

const root = "../.."

// The packages of the controller. The simulator must stay apart from them.
func controller(t *testing.T) []layers.Package {
	t.Helper()
	packages, err := layers.Packages(t.Context(), root, "./cmd/openstack-cloud-controller-manager", "./pkg/...")
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

func rules(t *testing.T) layers.Rules {
	t.Helper()
	rules, err := layers.ReadRules(root)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func TestLayers_ImportsAreThoseThatTheLinterAllows(t *testing.T) {
	t.Parallel()
	if err := layers.Check(controller(t), rules(t)); err != nil {
		t.Error(err)
	}
}

// The simulator is a product of its own, and must not share code with what it tests.
func TestLayers_SimulatorImportsNothingOfTheController(t *testing.T) {
	t.Parallel()
	packages, err := layers.Packages(t.Context(), root, "./tests/simulator/...", "./cmd/openstack-sim")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		for _, imported := range p.Imports {
			if !strings.HasPrefix(imported+"/", "tests/simulator/") {
				t.Errorf("%s imports %s", p.Path, imported)
			}
		}
	}
}

func TestLayersReference_TableOfDesignIsMadeFromTheRules(t *testing.T) {
	t.Parallel()
	const page, begin, end = root + "/docs/design.md", "<!-- packages: written by make generate -->\n", "<!-- end of packages -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	have, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no lines %q and %q", page, begin, end)
	}
	want := layers.Table(controller(t), rules(t))
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("docs/design.md is stale: run make generate (-want +have):\n%s", diff)
	}
}

func TestCheck_NamesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	packages := []layers.Package{
		{Path: "pkg/a", Imports: []string{"pkg/b", "pkg/c"}},
		{Path: "pkg/b"},
		{Path: "pkg/c"},
	}
	err := layers.Check(packages, layers.Rules{"pkg/a": {"pkg/b"}, "pkg/b": {"pkg/c"}, "pkg/gone": {}})
	for _, want := range []string{
		"pkg/a imports pkg/c, which .golangci.yml does not allow",
		"pkg/b does not import pkg/c, which .golangci.yml allows",
		"pkg/c has no depguard rule",
		"rule for pkg/gone, which does not exist",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want it to contain %q", err, want)
		}
	}
}

func TestTable_PutsNoPackageAboveItsImporters(t *testing.T) {
	t.Parallel()
	packages := []layers.Package{
		{Path: "pkg/a", Doc: "Package a is the lowest."},
		{Path: "pkg/loadbalancer/b", Doc: "Package b joins a: it adds to it."},
		{Path: "pkg/loadbalancer", Doc: "Package loadbalancer has both."},
	}
	want := "| package | what it does | imports below `pkg` (`…` is `loadbalancer`) |" + `
|---|---|---|
| ` + "`pkg/loadbalancer` | has both | `a`, `…/b`" + ` |
| ` + "`pkg/loadbalancer/b` | joins a | `a`" + ` |
| ` + "`pkg/a` | is the lowest" + ` | nothing of ours |
`
	got := layers.Table(packages, layers.Rules{
		"pkg/a": {}, "pkg/loadbalancer/b": {"pkg/a"}, "pkg/loadbalancer": {"pkg/loadbalancer/b", "pkg/a"},
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

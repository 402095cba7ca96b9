package layers_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/golden"
	"github.com/openstack-ccm/openstack-ccm/tests/layers"
)

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
	golden.Part(t, root+"/docs/design.md", "packages", layers.Table(controller(t), rules(t)))
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

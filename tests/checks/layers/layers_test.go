package layers_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/checks/layers"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

const root = "../../.."

// The packages of the controller. The simulator must stay apart from them.
func controller(t *testing.T) []layers.Package {
	t.Helper()
	packages, err := layers.Packages(t.Context(), root, "./cmd/openstack-cloud-controller-manager", "./pkg/...")
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

func borders(t *testing.T) []layers.Border {
	t.Helper()
	text, err := os.ReadFile("borders.txt")
	if err != nil {
		t.Fatal(err)
	}
	borders, err := layers.ReadBorders(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return borders
}

func TestLayers_ImportsAreThoseOfTheBorders(t *testing.T) {
	t.Parallel()
	if err := layers.Check(controller(t), borders(t)); err != nil {
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

func TestLayersReference_TableOfDesignIsMadeFromTheBorders(t *testing.T) {
	t.Parallel()
	golden.Part(t, root+"/docs/internals/design.md", "packages", layers.Table(controller(t), borders(t)))
}

// docs/internals/design.md is for newcomers. Details of a package are in its comment.
func TestLayers_DesignIsShort(t *testing.T) {
	t.Parallel()
	const limit = 20 << 10
	text, err := os.ReadFile(root + "/docs/internals/design.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > limit {
		t.Errorf("docs/internals/design.md has %d bytes, want at most %d: move details of a package into its comment", len(text), limit)
	}
}

func TestCheck_NamesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	packages := []layers.Package{
		{Path: "pkg/a", Imports: []string{"pkg/b", "pkg/c"}},
		{Path: "pkg/b", Imports: []string{"pkg/loadbalancer/d"}},
		{Path: "pkg/c"},
		{Path: "pkg/loadbalancer/d"},
		{Path: "pkg/d"},
	}
	borders, err := layers.ReadBorders("# comment\n[top] the top\nd:\na: b\n    gone\nb: d\nlost: a\nb: d\n")
	if err != nil {
		t.Fatal(err)
	}
	err = layers.Check(packages, borders)
	for _, want := range []string{
		"a imports c, which borders.txt does not allow",
		"a does not import gone, which borders.txt allows",
		"b imports d, which is above it in borders.txt",
		"c is missing in borders.txt",
		"borders.txt has lost, which does not exist",
		"borders.txt has b twice",
		"pkg/loadbalancer/d and pkg/d have the same name in borders.txt",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want it to contain %q", err, want)
		}
	}
}

func TestReadBorders_RejectsLinesOutsideOfTheFormat(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a: b\n", "    b\n", "[top] the top\na\n"} {
		if borders, err := layers.ReadBorders(text); err == nil {
			t.Errorf("%q is read as %v", text, borders)
		}
	}
}

func TestTable_GroupsPackagesByDistrict(t *testing.T) {
	t.Parallel()
	packages := []layers.Package{
		{Path: "pkg/a", Doc: "Package a is the lowest."},
		{Path: "pkg/loadbalancer/b", Doc: "Package b joins a: it adds to it."},
		{Path: "pkg/loadbalancer", Doc: "Package loadbalancer has both."},
	}
	borders, err := layers.ReadBorders("[top] the program\nloadbalancer: b a\n\n[tools] for all\nb: a\na:\n")
	if err != nil {
		t.Fatal(err)
	}
	want := `**top**: the program

| package | what it does |
|---|---|
| ` + "`pkg/loadbalancer`" + ` | has both |

**tools**: for all

| package | what it does |
|---|---|
| ` + "`pkg/loadbalancer/b`" + ` | joins a |
| ` + "`pkg/a`" + ` | is the lowest |
`
	if diff := cmp.Diff(want, layers.Table(packages, borders)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

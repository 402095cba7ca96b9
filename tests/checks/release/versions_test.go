package main

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

const (
	recordings   = "../../simulator/replay/testdata/"
	releaseFiles = "../../e2e/openstack/releases/"
)

// The tables of docs/versions.md are made from what the tests run against: the modules of the
// test control planes, the releases that the simulator knows, and the recordings of real
// ones. Run with -update to write them.
//
//proves:133
func TestVersionsReference_TablesAreWhatTestsRunAgainst(t *testing.T) {
	t.Parallel()
	golden.Part(t, "../../../docs/versions.md", "versions", kubernetesTable(t)+"\n"+openStackTable(t))
}

// required is the version of a module in a go.mod.
func required(t *testing.T, path, module string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(module) + ` (v\S+)$`).FindStringSubmatch(read(t, path))
	if found == nil {
		t.Fatalf("%s does not require %s", path, module)
	}
	return found[1]
}

func minor(version string) string {
	return strings.Join(strings.Split(strings.TrimPrefix(version, "v"), ".")[:2], ".")
}

func kubernetesTable(t *testing.T) string {
	t.Helper()
	newest := required(t, "../../controlplane/hyper/go.mod", "k8s.io/kubernetes")
	oldest := required(t, "../../controlplane/oldest/go.mod", "k8s.io/kubernetes")
	return "| Kubernetes | tests |\n|---|---|\n" +
		fmt.Sprintf("| %s (%s) | all: `make test`, `make e2e` |\n", minor(newest), newest) +
		fmt.Sprintf("| %s (%s) | the start matrix: `make oldest` |\n", minor(oldest), oldest) +
		fmt.Sprintf("\nThe Kubernetes libraries are %s.\n", required(t, "../../../go.mod", "k8s.io/cloud-provider"))
}

func openStackTable(t *testing.T) string {
	t.Helper()
	releases := slices.SortedFunc(maps.Values(octavia.Releases()), func(a, b octavia.Release) int {
		var x, y int
		_, _ = fmt.Sscan(strings.Split(a.Version, ".")[0], &x)
		_, _ = fmt.Sscan(strings.Split(b.Version, ".")[0], &y)
		return cmp.Compare(x, y)
	})
	suite := suiteReleases(t)
	var table strings.Builder
	table.WriteString("| OpenStack | Octavia | API | simulated | recorded answers of the real one | the real one |\n|---|---|---|---|---|---|\n")
	for _, r := range slices.CompactFunc(releases, func(a, b octavia.Release) bool { return a.Name == b.Name }) {
		var recorded []string
		if count := exchanges(t, "golden/"+r.Name+"*/*.jsonl") + exchanges(t, "corners/"+r.Name+"/*.jsonl"); count > 0 {
			recorded = append(recorded, fmt.Sprintf("%d, of its API process", count))
		}
		if files, err := filepath.Glob(recordings + r.Name + "/*/*.json"); err == nil && len(files) > 0 {
			recorded = append(recorded, "of a whole control plane, with amphora and ovn")
		}
		fmt.Fprintf(&table, "| %s | %s | v2.%d | yes | %s | %s |\n", r.Name, r.Version, r.Minor,
			cmp.Or(strings.Join(recorded, "; "), "–"), cmp.Or(suite[r.Name], "–"))
	}
	return table.String()
}

// suiteReleases returns how make e2e runs on each release of OpenStack, and on what: the first lines of
// the files with the differences between them are comments such as "# Debian 12: OpenStack Zed,
// Octavia 11.0, ovn-octavia-provider 3.0, …".
func suiteReleases(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(releaseFiles + "*.sh")
	if err != nil || len(files) == 0 {
		t.Fatalf("releases %v, error %v", files, err)
	}
	suite := map[string]string{}
	for _, file := range files {
		text := read(t, file)
		found := regexp.MustCompile(`# (Debian (?:\d+|unstable \(best effort\))): .*(ovn-octavia-provider [\d.]+)(?s:.*)\nOPENSTACK=(\S+)\n`).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("%s does not name its packages", file)
		}
		command := "make e2e RELEASE=" + strings.TrimSuffix(filepath.Base(file), ".sh")
		if found[3] == "zed" {
			command = "make e2e"
		}
		suite[found[3]] = fmt.Sprintf("`%s`: %s, amphora and %s", command, found[1], found[2])
	}
	return suite
}

// exchanges counts the recorded requests.
func exchanges(t *testing.T, pattern string) int {
	t.Helper()
	files, err := filepath.Glob(recordings + pattern)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range files {
		count += strings.Count(read(t, file), "\n")
	}
	return count
}

// The chart is refused by the releases of Kubernetes that nothing is tried on.
func TestVersions_ChartWantsOldestKubernetesThatIsTested(t *testing.T) {
	t.Parallel()
	wanted := `kubeVersion: ">= ` + minor(required(t, "../../controlplane/oldest/go.mod", "k8s.io/kubernetes")) + `.0-0"`
	if !strings.Contains(read(t, "../../../manifests/chart/Chart.yaml"), wanted) {
		t.Errorf("Chart.yaml has no %s", wanted)
	}
}

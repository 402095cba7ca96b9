package features_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// migration holds the tables of docs/migration-reference.md: the second cell of each name, by the heading of
// the table.
type migration map[string]map[string]string

func readMigration(t *testing.T) migration {
	t.Helper()
	text, err := os.ReadFile("../../../docs/migration-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	table, heading := migration{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if found, is := strings.CutPrefix(line, "## "); is {
			heading = found
			table[heading] = map[string]string{}
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		name := strings.Trim(cells[1], " `")
		if _, twice := table[heading][name]; twice {
			t.Errorf("%s: %s occurs twice", heading, name)
		}
		table[heading][name] = strings.TrimSpace(cells[2])
		if follows := strings.TrimSpace(cells[3]); !isRenamed(heading) && table[heading][name] != "same" && follows == "" {
			t.Errorf("%s: %s is %s, but there is no explanation", heading, name, table[heading][name])
		}
	}
	return table
}

// isRenamed reports whether a table lists the names of cloud-provider-openstack and those of this
// project, which may be missing.
func isRenamed(heading string) bool {
	return slices.Contains([]string{"Events", "Log lines", "Metrics"}, heading)
}

// checkRenamed fails if the page gives a name that the source does not have.
func checkRenamed(t *testing.T, old, said string) {
	t.Helper()
	if said == "same" {
		said = "`" + old + "`"
	}
	if name := strings.Trim(said, "`"); name != "" && !inSource(t, name) {
		t.Errorf("docs/migration-reference.md has the name %[2]s for %[1]s, but the source has no %[2]s", old, name)
	}
}

// fromUpstream are reasons of Kubernetes' controllers.
var fromUpstream = []string{"SyncLoadBalancerFailed", "EnsuringLoadBalancer", "DeletedLoadBalancer", "FailedToCreateRoute"}

// inSource reports whether the source of the program has a string.
func inSource(t *testing.T, text string) bool {
	t.Helper()
	if slices.Contains(fromUpstream, text) {
		return true
	}
	found := false
	err := filepath.WalkDir("../../../pkg", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || found || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		found = strings.Contains(string(source), `"`+text+`"`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestMigration_NamesAllThatUsersHave fails if a key or annotation of cloud-provider-openstack is
// missing on the page, or if the page has an unknown one.
func TestMigration_NamesAllThatUsersHave(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/peer.txt")
	if err != nil {
		t.Fatal(err)
	}
	page, heading, left := readMigration(t), "", readMigration(t)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if found, is := strings.CutPrefix(line, "## "); is {
			heading = found
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		switch said, there := page[heading][line]; {
		case !there:
			t.Errorf("docs/migration-reference.md does not have %s under %s", line, heading)
		case isRenamed(heading):
			checkRenamed(t, line, said)
		case !slices.Contains([]string{"same", "better", "not needed"}, said):
			t.Errorf("docs/migration-reference.md has %q for %s: want same, better or not needed", said, line)
		}
		delete(left[heading], line)
	}
	for heading, names := range left {
		for name := range names {
			t.Errorf("docs/migration-reference.md has %s under %s, which cloud-provider-openstack does not have", name, heading)
		}
	}
}

// TestMigration_PromisesOnlyExistingKeysAndAnnotations fails if the page promises a key or
// annotation that this project does not have.
func TestMigration_PromisesOnlyExistingKeysAndAnnotations(t *testing.T) {
	t.Parallel()
	page := readMigration(t)
	for heading, section := range map[string]reflect.Type{
		"[Global]": reflect.TypeFor[config.Global](), "[LoadBalancer]": reflect.TypeFor[config.LoadBalancer](),
		"[LoadBalancerClass]": reflect.TypeFor[config.LoadBalancerClass](), "[Networking]": reflect.TypeFor[config.Networking](),
		"[Route]": reflect.TypeFor[config.Route](), "[Metadata]": reflect.TypeFor[config.Metadata](),
	} {
		keys := map[string]bool{}
		for i := range section.NumField() {
			keys[section.Field(i).Tag.Get("gcfg")] = true
		}
		for name, said := range page[heading] {
			if said != "not needed" && !keys[name] {
				t.Errorf("%s %s is %s, but the section has no such key", heading, name, said)
			}
		}
	}
	known := map[string]bool{}
	for _, a := range annotation.Table() {
		known[a.Name] = true
	}
	for name, said := range page["Annotations"] {
		if said != "not needed" && !known[name] {
			t.Errorf("annotation %s is %s, but does not exist", name, said)
		}
	}
}

// The page has all annotations and keys of cloud-provider-openstack. Those that the page does not
// have must be marked as new in the code.
func TestMigration_HasEveryAnnotationAndKeyThatIsNotNew(t *testing.T) {
	t.Parallel()
	page := readMigration(t)
	for _, a := range annotation.Table() {
		if _, there := page["Annotations"][a.Name]; there == a.New {
			t.Errorf("%s: on the page %v, new %v", a.Name, there, a.New)
		}
	}
	conf := filepath.Join(t.TempDir(), "cloud.conf")
	if err := os.WriteFile(conf, []byte("[LoadBalancerClass \"a\"]\nsubnet-id=s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range config.Inspect(conf, nil).Settings {
		if _, there := page["["+s.SectionName()+"]"][s.Key]; there == s.New {
			t.Errorf("%s %s: on the page %v, new %v", s.Section, s.Key, there, s.New)
		}
	}
}

// TestMigration_RemovesOurConditionsOnTheWayBack applies the patch of the page as the API server does.
func TestMigration_RemovesOurConditionsOnTheWayBack(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/migration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, patch, _ := strings.Cut(string(text), "--type=strategic -p '")
	patch, _, _ = strings.Cut(patch, "'")
	var svc v1.Service
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "203.0.113.5"}}
	svc.Status.Conditions = []metav1.Condition{{Type: "example.org/Audited", Status: metav1.ConditionTrue}}
	want := svc.DeepCopy()
	for _, condition := range reason.Conditions() {
		svc.Status.Conditions = append(svc.Status.Conditions, metav1.Condition{Type: string(condition), Status: metav1.ConditionTrue})
	}
	before, err := json.Marshal(svc)
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, []byte(patch), v1.Service{})
	if err != nil {
		t.Fatal(err)
	}
	var have v1.Service
	if err := json.Unmarshal(after, &have); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Status, have.Status); diff != "" {
		t.Errorf("status (-want +have):\n%s", diff)
	}
}

// TestMigration_NamesLimitsThatTheSwitchBrings compares the limits of the page with the defaults of cloud.conf.
func TestMigration_NamesLimitsThatTheSwitchBrings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/migration.md")
	if err != nil {
		t.Fatal(err)
	}
	page, section := strings.ReplaceAll(string(text), ",", ""), reflect.TypeFor[config.LoadBalancer]()
	for _, name := range []string{"MaxPorts", "MaxSourceRanges"} {
		field, _ := section.FieldByName(name)
		if row := "| no limit | " + field.Tag.Get("default") + " | `" + field.Tag.Get("gcfg") + "=0` |"; !strings.Contains(page, row) {
			t.Errorf("docs/migration.md has no row that ends with %s", row)
		}
	}
}

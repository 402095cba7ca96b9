package monitoring_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/tests/checks/monitoring"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

const (
	root          = "../../.."
	dashboardPath = root + "/manifests/monitoring/dashboard.json"
	rulesPath     = root + "/manifests/monitoring/prometheusrule.yaml"
	runbooks      = root + "/docs/runbooks"
)

func registrations(t *testing.T) map[string]monitoring.Registration {
	t.Helper()
	registered, err := monitoring.Registrations()
	if err != nil {
		t.Fatal(err)
	}
	return registered
}

func uses() (all []monitoring.Use) {
	for _, group := range monitoring.Groups() {
		all = append(all, group.Uses...)
	}
	return all
}

//proves:99
func TestMetricsReference_IsMadeFromRegistrations(t *testing.T) {
	t.Parallel()
	introduction, err := os.ReadFile("testdata/introduction.md")
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, root+"/docs/metrics.md", string(introduction)+monitoring.Page(registrations(t))+alertTable(t))
}

func TestDashboardReference_IsMadeFromTable(t *testing.T) {
	t.Parallel()
	dashboard, err := monitoring.Dashboard()
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, dashboardPath, string(dashboard))
}

//proves:99,100
func TestTable_HasEachMetricWithItsLabels(t *testing.T) {
	t.Parallel()
	registered := registrations(t)
	for _, use := range uses() {
		r, ok := registered[use.Metric]
		if !ok {
			t.Errorf("the table has %s, which nobody registers", use.Metric)
		}
		delete(registered, use.Metric)
		var labels []string
		for _, label := range use.Labels {
			labels = append(labels, label.Name)
			if (label.Pattern == "") == (len(label.Values) == 0) {
				t.Errorf("label %s of %s has no values, or two descriptions of them", label.Name, use.Metric)
			}
		}
		if diff := cmp.Diff(r.Labels, labels); diff != "" {
			t.Errorf("labels of %s (-registered +table):\n%s", use.Metric, diff)
		}
		if r.Stability == "" || !strings.HasSuffix(r.Help, ".") || use.Title == "" || use.Unit == "" || !strings.Contains(use.Query, use.Metric) {
			t.Errorf("of %s something is missing: %+v, %+v", use.Metric, r, use)
		}
	}
	for name := range registered {
		t.Errorf("%s is not in the table", name)
	}
}

// However many Services there are: what a label can be is in the table, and that is few.
//
//proves:100
func TestTable_BoundsSeries(t *testing.T) {
	t.Parallel()
	registered, ours := registrations(t), 0
	for _, use := range uses() {
		most := use.Most(registered[use.Metric])
		if strings.HasPrefix(use.Metric, "cloudprovider_openstack_") {
			ours += most
		}
		if most > 2000 {
			t.Errorf("%s can have %d series", use.Metric, most)
		}
	}
	if ours > 1000 {
		t.Errorf("the metrics of Services and load balancers can have %d series", ours)
	}
}

// rule is an alerting rule of the manifest.
type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func rules(t *testing.T) []rule {
	t.Helper()
	var manifest struct {
		Spec struct{ Groups []struct{ Rules []rule } }
	}
	text, err := os.ReadFile(rulesPath)
	if err == nil {
		err = yaml.Unmarshal(text, &manifest)
	}
	if err != nil || len(manifest.Spec.Groups) != 1 {
		t.Fatalf("%s: %d groups, %v", rulesPath, len(manifest.Spec.Groups), err)
	}
	return manifest.Spec.Groups[0].Rules
}

// alertTable returns the section of docs/metrics.md about alerts.
func alertTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n## Alerts\n\n| alert | severity | after | meaning |\n|---|---|---|---|\n")
	for _, r := range rules(t) {
		fmt.Fprintf(&b, "| [%s](runbooks/%[1]s.md) | %s | %s | %s |\n", r.Alert, r.Labels["severity"], r.For, r.Annotations["summary"])
	}
	return b.String()
}

//proves:100
func TestQueries_AskForMetricsAndLabelsThatExist(t *testing.T) {
	t.Parallel()
	series := monitoring.Series(registrations(t))
	dashboard, err := os.ReadFile(dashboardPath)
	if err != nil {
		t.Fatal(err)
	}
	var panels struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := yaml.Unmarshal(dashboard, &panels); err != nil {
		t.Fatal(err)
	}
	queries := 0
	for _, panel := range panels.Panels {
		for _, target := range panel.Targets {
			queries++
			if unknown := monitoring.Unknown(target.Expr, series); unknown != nil {
				t.Errorf("panel %s asks for %v, which there are not", panel.Title, unknown)
			}
		}
	}
	for _, rule := range rules(t) {
		queries++
		if unknown := monitoring.Unknown(rule.Expr, series); unknown != nil {
			t.Errorf("alert %s asks for %v, which there are not", rule.Alert, unknown)
		}
	}
	if queries < 40 {
		t.Errorf("only %d queries were looked at", queries)
	}
	for _, wrong := range []string{
		`sum(cloudprovider_openstack_nothing)`, `rate(openstack_api_requests_total{reqest="x"}[5m])`, `sum by (operaton) (cloudprovider_openstack_reconcile_total)`,
		`histogram_quantile(0.9, openstack_api_wait_seconds)`,
	} {
		if monitoring.Unknown(wrong, series) == nil {
			t.Errorf("%s passes", wrong)
		}
	}
}

//proves:135
func TestRunbooks_AreThereForEachAlert(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(runbooks + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, file := range files {
		left[strings.TrimSuffix(filepath.Base(file), ".md")] = true
	}
	link := regexp.MustCompile(`\]\((\.?[^)#]*)(?:#[^)]*)?\)`)
	for _, rule := range rules(t) {
		text, err := os.ReadFile(filepath.Join(runbooks, rule.Alert+".md"))
		if err != nil {
			t.Errorf("alert %s has no runbook: %v", rule.Alert, err)
		}
		delete(left, rule.Alert)
		for _, heading := range []string{"# " + rule.Alert, "## Symptom", "## What it means", "## What to look at\n\n    ", "## What to do", "## When to call the cloud's operator"} {
			if !strings.Contains(string(text), heading) {
				t.Errorf("the runbook of %s does not have %q", rule.Alert, heading)
			}
		}
		for _, target := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(runbooks, target[1])); err != nil {
				t.Errorf("the runbook of %s leads nowhere: %v", rule.Alert, err)
			}
		}
		if !strings.HasSuffix(rule.Annotations["runbook_url"], "/docs/runbooks/"+rule.Alert+".md") || rule.Labels["severity"] == "" || rule.For == "" {
			t.Errorf("alert %s lacks its runbook, severity or time: %+v", rule.Alert, rule)
		}
	}
	for name := range left {
		if !slices.ContainsFunc(rules(t), func(r rule) bool { return r.Alert == name }) {
			t.Errorf("there is a runbook for %s, and no alert", name)
		}
	}
}

// The evaluator is Prometheus' own engine, built once.
//
//proves:100,135
func TestAlerts_FireWhenTheyShouldAndOnlyThen(t *testing.T) {
	t.Parallel()
	promrules := build(t)
	text, err := os.ReadFile(rulesPath)
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Spec any `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	spec, err := yaml.Marshal(manifest.Spec)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, spec, 0o600); err != nil {
		t.Fatal(err)
	}
	const tests = "testdata/alerts_test.yaml"
	if output, err := promrules("", file, tests); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	cases, err := os.ReadFile(tests)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules(t) {
		if n := strings.Count(string(cases), "alertname: "+rule.Alert+"}") + strings.Count(string(cases), "alertname: "+rule.Alert+"\n"); n < 2 {
			t.Errorf("alert %s is tested %d times: want where it fires and where it does not", rule.Alert, n)
		}
	}
	changed := strings.Replace(string(spec), "> 1800", "> 100000", 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := promrules("", file, tests); err == nil || !strings.Contains(output, "OpenStackCCMServicePending") {
		t.Errorf("a rule that fires too late passes: %v\n%s", err, output)
	}
	var queries strings.Builder
	for _, use := range uses() {
		queries.WriteString(use.Query + "\n")
	}
	if output, err := promrules(queries.String(), "-parse"); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// build returns the evaluator, which it builds into the user's cache where it is not there.
func build(t *testing.T) func(input string, args ...string) (string, error) {
	t.Helper()
	run, err := monitoring.BuildEvaluator(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

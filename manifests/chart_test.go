package manifests_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/chart"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

// minimalImage is what each installation needs, and minimalValues are what a new one needs.
const (
	minimalImage  = "image: {repository: registry.example.org/ccm}\n"
	minimalConf   = "cloudConfig: {global: {auth-url: 'https://k/v3'}}\n"
	minimalValues = minimalImage + minimalConf
)

// rendered is what Helm makes of the chart with values, as a release named occm.
func rendered(t *testing.T, values ...string) []chart.Rendered {
	t.Helper()
	var releases []chart.Release
	for _, text := range values {
		releases = append(releases, chart.Release{Name: "occm", Namespace: "kube-system", Values: text})
	}
	all, err := chart.Render(t.Context(), t.Logf, releases...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// variants are the files of testdata/values, by their names.
func variants(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no values: %v", err)
	}
	all := map[string]string{}
	for _, file := range files {
		all[strings.TrimSuffix(filepath.Base(file), ".yaml")] = string(readFile(t, file))
	}
	return all
}

// manifests/static is the chart without Helm. Run with -update to write it.
//
//proves:119
func TestStaticGolden_IsRenderedFromChart(t *testing.T) {
	t.Parallel()
	static := rendered(t, string(readFile(t, "static.values.yaml")))[0]
	if static.Error != "" {
		t.Fatal(static.Error)
	}
	files := map[string]string{"rbac.yaml": "rbac.yaml", "workload.yaml": "daemonset.yaml"}
	for name, text := range static.Files {
		if text = strings.TrimSpace(text); filepath.Ext(name) != ".yaml" || text == "" {
			continue
		}
		file, known := files[name]
		if !known {
			t.Errorf("%s is of no file in manifests/static:\n%s", name, text)
			continue
		}
		golden.File(t, filepath.Join("static", file), text+"\n")
	}
}

// manifests/additional-rights is the part of the chart about rights, under names of its own. Run with
// -update to write it.
func TestAdditionalRightsGolden_IsRenderedFromChart(t *testing.T) {
	t.Parallel()
	const values = "clusterRoleName: system:openstack-cloud-controller-manager\nserviceAccount: {create: false}\n"
	of := rendered(t, string(readFile(t, "static.values.yaml"))+values)[0]
	if of.Error != "" {
		t.Fatal(of.Error)
	}
	golden.File(t, "additional-rights/rbac.yaml", strings.Replace(strings.TrimSpace(of.Files["rbac.yaml"])+"\n", "\n---\n", "\n", 1))
}

// Every variant is compared as a whole, and its objects have no fields that do not exist.
//
//proves:119
func TestChartGolden_VariantsAreAsRecorded(t *testing.T) {
	t.Parallel()
	values := variants(t)
	names := slices.Sorted(maps.Keys(values))
	var texts []string
	for _, name := range names {
		texts = append(texts, values[name])
	}
	for i, of := range rendered(t, texts...) {
		if of.Error != "" {
			t.Errorf("%s: %s", names[i], of.Error)
			continue
		}
		golden.File(t, filepath.Join("testdata", "golden", names[i]+".yaml"), of.Manifest())
		for _, document := range strings.Split(of.Manifest(), "\n---\n") {
			if !strings.Contains(document, "apiVersion: monitoring.coreos.com/") {
				object(t, names[i], []byte(document))
			}
		}
	}
}

func TestChart_LintFindsNothing(t *testing.T) {
	t.Parallel()
	values := variants(t)
	values["the defaults"] = ""
	names := slices.Sorted(maps.Keys(values))
	var releases []chart.Release
	for _, name := range names {
		releases = append(releases, chart.Release{Namespace: "kube-system", Values: values[name], Lint: true})
	}
	all, err := chart.Render(t.Context(), t.Logf, releases...)
	if err != nil {
		t.Fatal(err)
	}
	for i, of := range all {
		for _, message := range of.Messages {
			if message != "[INFO] Chart.yaml: icon is recommended" {
				t.Errorf("%s: %s", names[i], message)
			}
		}
	}
}

// Every key of every section arrives in cloud.conf, where the controller knows it.
//
//proves:119
func TestChart_WritesEveryKeyOfCloudConf(t *testing.T) {
	t.Parallel()
	values, count := map[string]any{}, 0
	for section, of := range cloudConfSchema(t) {
		named := of["properties"] == nil
		if named {
			of = of["additionalProperties"].(map[string]any)
		}
		keys := map[string]any{}
		for key, schema := range of["properties"].(map[string]any) {
			if key != "use-octavia" {
				keys[key], count = sample(key, schema.(map[string]any)), count+1
			}
		}
		values[section] = keys
		if named {
			values[section] = map[string]any{"one": keys, `an "other" one`: keys}
		}
	}
	text, err := yaml.Marshal(map[string]any{"cloudConfig": values})
	if err != nil {
		t.Fatal(err)
	}
	conf := cloudConf(t, string(text), "cloud.conf")
	_, warnings, _ := config.Load(strings.NewReader(conf), nil)
	for _, warning := range warnings {
		if strings.Contains(warning.Text, "unknown") || strings.Contains(warning.Text, "takes no name") {
			t.Errorf("%s", warning.Text)
		}
	}
	if got := strings.Count(conf, "=\""); got < count {
		t.Errorf("%d of %d keys are there:\n%s", got, count, conf)
	}
}

// sample is a value that the schema of a key allows.
func sample(key string, schema map[string]any) any {
	if values, ok := schema["enum"].([]any); ok {
		return values[0]
	}
	if key == "auth-url" {
		return "https://keystone.example.org/v3"
	}
	return "1"
}

// cloudConf is a file of the Secret that the chart makes.
func cloudConf(t *testing.T, values, file string) string {
	t.Helper()
	of := rendered(t, minimalImage+values)[0]
	if of.Error != "" {
		t.Fatal(of.Error)
	}
	var secret v1.Secret
	if err := yaml.UnmarshalStrict([]byte(of.Files["secret.yaml"]), &secret); err != nil {
		t.Fatal(err)
	}
	return string(secret.Data[file])
}

// Secrets have every character, and numbers all of their digits.
//
//proves:119
func TestChart_KeepsValuesOfCloudConfAsTheyAre(t *testing.T) {
	t.Parallel()
	const values = `
cloudConfig:
  global: {auth-url: "https://k/v3", username: u, user-domain-name: d, tenant-id: t, password: "\"#;\\ ä\t=[x]"}
  loadBalancer: {timeout-client-data: 31536000000, create-monitor: true, lb-provider: null, region: null}
  loadBalancerClass: {"a \"b\" \\c": {internal-lb: false}}
  networking: {public-network-name: [one, "two three"]}
ca: "A\n"
secret: {files: {clouds.yaml: "x: y\n"}}
`
	loaded, warnings, err := config.Load(strings.NewReader(cloudConf(t, strings.Replace(values, ", region: null", "", 1), "cloud.conf")), nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, warnings %v", err, warnings)
	}
	class := loaded.LoadBalancerClass[`a "b" \c`]
	if class == nil || class.InternalLB == nil || *class.InternalLB {
		t.Errorf("classes %v", loaded.LoadBalancerClass)
	}
	got := fmt.Sprintf("%s|%s|%d|%v|%s|%q", loaded.Global.Password, loaded.Global.CAFile, *loaded.LoadBalancer.TimeoutClientData,
		loaded.LoadBalancer.CreateMonitor, loaded.LoadBalancer.LBProvider, loaded.Networking.PublicNetworkName)
	if want := "\"#;\\ ä\t=[x]|/etc/config/ca.crt|31536000000|true|amphora|[\"one\" \"two three\"]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A file of values of cloud-provider-openstack's chart, with all of its defaults and what it
// documents, gives the objects by the same names, with the same selector, so that its release
// is upgraded in place, and a container that does the same.
//
//proves:119
func TestChart_TakesValuesOfCloudProviderOpenStacksChart(t *testing.T) {
	t.Parallel()
	of := rendered(t, variants(t)["cloud-provider-openstack"])[0]
	if of.Error != "" {
		t.Fatal(of.Error)
	}
	var names []string
	var set appsv1.DaemonSet
	for _, document := range strings.Split(of.Manifest(), "\n---\n") {
		asJSON, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		var object unstructured.Unstructured
		if err := json.Unmarshal(asJSON, &object.Object); err != nil {
			t.Fatal(err)
		}
		names = append(names, object.GetKind()+" "+object.GetName())
		if object.GetKind() == "DaemonSet" {
			set = *decoded[appsv1.DaemonSet](t, document)
		}
	}
	for _, name := range []string{
		"DaemonSet openstack-cloud-controller-manager", "ServiceAccount cloud-controller-manager", "ClusterRole system:cloud-controller-manager",
		"ClusterRoleBinding system:cloud-controller-manager", "Secret cloud-config", "Service openstack-cloud-controller-manager",
		"ServiceMonitor openstack-cloud-controller-manager",
	} {
		if !slices.Contains(names, name) {
			t.Errorf("there is no %s in %v", name, names)
		}
	}
	selector := map[string]string{"app": "openstack-cloud-controller-manager", "component": "controllermanager", "release": "occm"}
	if diff := cmp.Diff(selector, set.Spec.Selector.MatchLabels); diff != "" {
		t.Errorf("the selector, which cannot be changed (-want +got):\n%s", diff)
	}
	pod := set.Spec.Template.Spec
	for _, arg := range []string{
		"--cloud-config=/etc/config/cloud.conf", "--cluster-name=kubernetes", "--controllers=cloud-node,cloud-node-lifecycle,route,service",
		"--bind-address=0.0.0.0", "--v=2",
	} {
		if !slices.Contains(pod.Containers[0].Args, arg) {
			t.Errorf("no argument %s in %q", arg, pod.Containers[0].Args)
		}
	}
	if args := pod.Containers[0].Args; args[len(args)-1] != "--cluster-name=my-cluster" {
		t.Errorf("controllerExtraArgs are not the last: %q", args)
	}
	got := fmt.Sprintf("%v %s %d %q %d %d %d %v %v", pod.NodeSelector, pod.DNSPolicy, len(pod.Tolerations), pod.PriorityClassName,
		*pod.SecurityContext.RunAsUser, len(pod.Volumes), len(pod.InitContainers), pod.HostNetwork, pod.Affinity == nil)
	if want := `map[node-role.kubernetes.io/control-plane:] ClusterFirst 2 "" 1001 3 1 true true`; got != want {
		t.Errorf("the pod\n got %s\nwant %s", got, want)
	}
}

// The rules and dashboards are those of manifests/monitoring; without any, asking for them is
// refused. Run with -update to copy them, before the others render with them.
//
//proves:119
func TestMonitoringGolden_ChartHasRulesAndDashboards(t *testing.T) {
	count := map[string]int{}
	rules, err := filepath.Glob("monitoring/*rule*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dashboards, err := filepath.Glob("monitoring/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range append(rules, dashboards...) {
		count[filepath.Ext(source)]++
		golden.File(t, filepath.Join("chart", "files", filepath.Base(source)), string(readFile(t, source)))
	}
	t.Parallel()
	for i, of := range rendered(t, minimalValues+"prometheusRule: {enabled: true}", minimalValues+"dashboards: {enabled: true}") {
		extension, kind := []string{".yaml", ".json"}[i], []string{"kind: PrometheusRule", "kind: ConfigMap"}[i]
		switch {
		case count[extension] == 0 && !strings.Contains(of.Error, "this chart has no"):
			t.Errorf("without any *%s: %q", extension, of.Error)
		case count[extension] > 0 && (of.Error != "" || !strings.Contains(of.Manifest(), kind)):
			t.Errorf("no %s: %s", kind, of.Error)
		}
	}
}

// The resources are those that docs/internals/sizing.md has for the container: the smallest
// requests, and the highest limit.
func TestResources_AreThoseOfSizingPage(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(string(readFile(t, "../docs/internals/sizing.md")), "## Requests and limits of the container")
	var values struct{ Resources v1.ResourceRequirements }
	if err := yaml.Unmarshal(readFile(t, "chart/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	resources := values.Resources
	var limits, requests []string
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) == 6 && strings.Contains(line, "MiB") {
			short := strings.NewReplacer(" MiB", "Mi", " ", "")
			requests = append(requests, short.Replace(cells[2])+" "+short.Replace(cells[4]))
			limits = append(limits, short.Replace(cells[3]))
		}
	}
	if got := resources.Requests.Memory().String() + " " + resources.Requests.Cpu().String(); len(requests) == 0 || got != requests[0] {
		t.Errorf("requests %s, the page has %v", got, requests)
	}
	higher := func(limit string) bool {
		quantity := resource.MustParse(limit)
		return quantity.Cmp(*resources.Limits.Memory()) > 0
	}
	if got := resources.Limits.Memory().String(); !slices.Contains(limits, got) || slices.ContainsFunc(limits, higher) {
		t.Errorf("limit %s, the page has %v", got, limits)
	}
	if !resources.Limits.Cpu().IsZero() {
		t.Errorf("a limit of CPU: %s", resources.Limits.Cpu())
	}
}

func decoded[T any](t *testing.T, document string) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
		t.Fatal(err)
	}
	return object
}

package startmatrix

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	helmchart "github.com/openstack-ccm/openstack-ccm/tests/lib/chart"
)

// chartRows are installations of our chart: with the values that it needs and a private
// authority, with a Secret that is there already, in a namespace of its own, with the values of
// cloud-provider-openstack's chart and a service account for each controller, and for nodes only. Their objects are applied; those of all other
// variants are accepted by the API server.
func chartRows(t *testing.T, env *environment) []container {
	t.Helper()
	prepareForCharts(t, env)
	dryRun(t, env, chartValues(t))
	const image = "image: {repository: registry.example.org/ccm}\n"
	minimal := env.chartRow(t, "chart", "kube-system", image+chartConf(t, env.facts.secureConf)+
		indented("ca", env.facts.caBundle)+"cluster: {name: prod}\ncontrollerExtraArgs: ['--cluster-name=kubernetes']\n")
	other := env.chartRow(t, "chart, Deployment with a Secret in a namespace", "cloud", image+`
kind: Deployment
hostNetwork: false
secret: {create: false, name: theirs, key: theirs.conf}
serviceAccountName: ccm
clusterRoleName: ccm
leaderElection: {name: `+otherLease+`, namespace: cloud}
rbac: {sharingAcrossNamespaces: false}
`)
	other.lease, other.namespace = otherLease, "cloud"
	peer := env.chartRow(t, "chart, values of cloud-provider-openstack", "kube-system", chartConf(t, env.facts.plainConf),
		withoutConf(t, chartValues(t)["cloud-provider-openstack"]))
	nodes := env.chartRow(t, "chart, nodes only", "kube-system", image+chartConf(t, env.facts.plainConf)+`
serviceAccountName: nodes
clusterRoleName: nodes
nameOverride: nodes
enabledControllers: [cloud-node, cloud-node-lifecycle]
`)
	nodes.nodesOnly = true
	return []container{minimal, other, peer, nodes}
}

// prepareForCharts creates the objects that charts need: a namespace, and the kinds of the
// Prometheus Operator.
func prepareForCharts(t *testing.T, env *environment) {
	t.Helper()
	const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: cloud}\n"
	kinds, err := os.ReadFile(filepath.Join("testdata", "monitoring.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	kubectl(t, env, namespace+"---\n"+string(kinds), "apply", "-f", "-")
	kubectl(t, env, "", "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
}

// chartValues are the variants that the tests of manifests have, and those of the recipes,
// by name.
func chartValues(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(moduleRoot(t), "manifests", "testdata", "values", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no values: %v", err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".yaml")] = string(text)
	}
	recipes, err := helmchart.Recipes(filepath.Join(moduleRoot(t), "docs", "recipes"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range recipes {
		if block.Values != "" {
			all["docs/recipes/"+block.Page] = block.Values
		}
	}
	return all
}

// dryRun has the API server check the objects of all variants as strictly as it can, without
// keeping them.
func dryRun(t *testing.T, env *environment, variants map[string]string) {
	t.Helper()
	var releases []helmchart.Release
	for _, name := range slices.Sorted(maps.Keys(variants)) {
		releases = append(releases, helmchart.Release{Name: "occm", Namespace: "kube-system", Values: variants[name]})
	}
	all, err := helmchart.Render(t.Context(), t.Logf, releases...)
	if err != nil {
		t.Fatal(err)
	}
	var manifests []string
	for i, of := range all {
		if of.Error != "" {
			t.Fatalf("%s\n%s", of.Error, releases[i].Values)
		}
		manifests = append(manifests, of.Manifest())
	}
	kubectl(t, env, strings.Join(manifests, "---\n"), "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-")
}

func kubectl(t *testing.T, env *environment, stdin string, args ...string) {
	t.Helper()
	if _, err := env.plane.Kubectl(t.Context(), stdin, args...); err != nil {
		t.Fatal(err)
	}
}

// chartRow installs the chart, and returns its container.
func (env *environment) chartRow(t *testing.T, name, namespace string, values ...string) container {
	t.Helper()
	manifest, err := helmchart.Install(t.Context(), t.Logf, helmchart.Release{Name: "occm", Namespace: namespace, Values: strings.Join(values, "\n")})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	kubectl(t, env, manifest, "apply", "--server-side", "--force-conflicts", "-f", "-")
	files := map[string]content{"theirs.conf": cloudConf}
	var pod *corev1.PodSpec
	for _, document := range strings.Split(manifest, "\n---\n") {
		var found struct {
			Kind string
			Data map[string][]byte
			Spec struct{ Template corev1.PodTemplateSpec }
		}
		if err := yaml.Unmarshal([]byte(document), &found); err != nil {
			continue // its spec is another one
		}
		switch found.Kind {
		case "Secret":
			files = map[string]content{}
			for file, data := range found.Data {
				files[file] = text(string(data))
			}
		case "DaemonSet", "Deployment":
			pod = &found.Spec.Template.Spec
		}
	}
	if pod == nil {
		t.Fatalf("%s has no pod:\n%s", name, manifest)
	}
	return rowOf(t, name, *pod, files)
}

// chartConf is a cloud.conf as values of the chart.
func chartConf(t *testing.T, conf string) string {
	t.Helper()
	values, section := map[string]map[string]string{}, ""
	for line := range strings.Lines(conf) {
		line = strings.TrimSpace(line)
		if key, value, given := strings.Cut(line, "="); given {
			values[section][strings.TrimSpace(key)] = strings.Trim(strings.TrimSpace(value), `"`)
		} else if line != "" {
			name := strings.Trim(line, "[]")
			section = strings.ToLower(name[:1]) + name[1:]
			values[section] = map[string]string{}
		}
	}
	text, err := yaml.Marshal(map[string]any{"cloudConfig": values})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// withoutConf leaves the sections of cloud.conf out, and the init container and the alias,
// which have no place here.
func withoutConf(t *testing.T, values string) string {
	t.Helper()
	var all map[string]any
	if err := yaml.Unmarshal([]byte(values), &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "cloudConfig")
	all["controllerExtraArgs"] = "- --cluster-name=kubernetes\n- --use-service-account-credentials=true"
	text, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func indented(key, text string) string {
	return fmt.Sprintf("%s: |\n  %s\n", key, strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  "))
}

package manifests_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// read reads a manifest of manifests/monitoring, and fails on a field that the type does not have.
func read[T any](t *testing.T, name string, document int) (object T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("monitoring", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(bytes.Split(text, []byte("\n---\n"))[document], &object); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return object
}

//proves:99
func TestMonitoring_ScraperMayReadMetricsAndNothingElse(t *testing.T) {
	t.Parallel()
	role, binding := read[rbacv1.ClusterRole](t, "rbac.yaml", 0), read[rbacv1.ClusterRoleBinding](t, "rbac.yaml", 1)
	if diff := cmp.Diff([]rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}, role.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if binding.RoleRef.Kind != "ClusterRole" || binding.RoleRef.Name != role.Name || len(binding.Subjects) != 1 {
		t.Errorf("bound is %+v to %+v", binding.RoleRef, binding.Subjects)
	}
}

//proves:99
func TestMonitoring_FindsPodsAndTheirPort(t *testing.T) {
	t.Parallel()
	template := only[*appsv1.DaemonSet](t).Spec.Template
	service := read[v1.Service](t, "service.yaml", 0)
	for label, value := range service.Spec.Selector {
		if template.Labels[label] != value {
			t.Errorf("the Service selects %s=%s, pods have %v", label, value, template.Labels)
		}
	}
	port := service.Spec.Ports[0]
	if !slices.ContainsFunc(template.Spec.Containers[0].Ports, func(p v1.ContainerPort) bool {
		return p.Name == port.TargetPort.StrVal && p.ContainerPort == port.Port
	}) {
		t.Errorf("no port of the container is %+v", port)
	}
	var monitor struct {
		Spec struct {
			Selector  struct{ MatchLabels map[string]string }
			Endpoints []struct{ Port, Scheme string }
		}
	}
	text, err := os.ReadFile("monitoring/servicemonitor.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &monitor)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(service.Labels, monitor.Spec.Selector.MatchLabels); diff != "" {
		t.Errorf("labels of the Service and those that the ServiceMonitor selects (-+):\n%s", diff)
	}
	if endpoint := monitor.Spec.Endpoints[0]; endpoint.Port != port.Name || endpoint.Scheme != "https" {
		t.Errorf("the ServiceMonitor scrapes %+v, the Service has %+v", endpoint, port)
	}
}

//proves:99
func TestMonitoring_ComponentHasAllFilesAndOpensPort(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("monitoring/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var component struct {
		Kind               string
		Resources          []string
		ConfigMapGenerator []struct{ Files []string }
		Patches            []struct {
			Target struct{ Kind, Name string }
			Patch  string
		}
	}
	if err := yaml.Unmarshal(text, &component); err != nil || component.Kind != "Component" {
		t.Fatalf("a %s, %v", component.Kind, err)
	}
	files, err := filepath.Glob("monitoring/*")
	if err != nil {
		t.Fatal(err)
	}
	named := append(component.Resources, strings.SplitN(component.ConfigMapGenerator[0].Files[0], "=", 2)[1], "kustomization.yaml")
	for i, name := range named {
		named[i] = filepath.Join("monitoring", name)
	}
	slices.Sort(named)
	if diff := cmp.Diff(files, named); diff != "" {
		t.Errorf("files and those that the component names (-+):\n%s", diff)
	}
	set := only[*appsv1.DaemonSet](t)
	patch := component.Patches[0]
	if patch.Target.Kind != "DaemonSet" || patch.Target.Name != set.Name || !strings.Contains(patch.Patch, "value: --bind-address=0.0.0.0") {
		t.Errorf("it patches %+v", patch)
	}
}

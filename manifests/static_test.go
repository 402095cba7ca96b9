package manifests_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/records"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
)

// objects reads all objects of manifests/static; an unknown field is an error.
func objects(t *testing.T) []runtime.Object {
	t.Helper()
	return objectsOf(t, "static")
}

// objectsOf reads all objects of a directory of manifests.
func objectsOf(t *testing.T, directory string) []runtime.Object {
	t.Helper()
	files, err := filepath.Glob(directory + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	var all []runtime.Object
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			all = append(all, object(t, file, document))
		}
	}
	return all
}

func object(t *testing.T, file string, document []byte) runtime.Object {
	t.Helper()
	decoded, kind, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	empty, err := scheme.Scheme.New(*kind)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(document, empty); err != nil {
		t.Errorf("%s, %s: %v", file, kind.Kind, err)
	}
	return decoded
}

// only gives the one object of a type.
func only[T runtime.Object](t *testing.T) T {
	t.Helper()
	var found []T
	for _, object := range objects(t) {
		if wanted, ok := object.(T); ok {
			found = append(found, wanted)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects of type %T, want 1", len(found), *new(T))
	}
	return found[0]
}

func printed(rules []rbacv1.PolicyRule) []string {
	var lines []string
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			line := strings.TrimPrefix(rule.APIGroups[0]+"/"+resource, "/")
			if len(rule.ResourceNames) > 0 {
				line += " " + fmt.Sprint(rule.ResourceNames)
			}
			lines = append(lines, line+": "+strings.Join(rule.Verbs, " "))
		}
	}
	slices.Sort(lines)
	return lines
}

// Each right has its reason in rbac.yaml.
//
//proves:97
func TestRBAC_GrantsOnlyListedRightsInCluster(t *testing.T) {
	t.Parallel()
	want := []string{
		"authentication.k8s.io/tokenreviews: create",
		"authorization.k8s.io/subjectaccessreviews: create",
		"discovery.k8s.io/endpointslices: list watch",
		"events: create patch",
		"namespaces: get",
		"nodes/status: patch",
		"nodes: get list watch update patch delete",
		"services/status: patch",
		"services: get list watch patch",
	}
	if diff := cmp.Diff(want, printed(only[*rbacv1.ClusterRole](t).Rules)); diff != "" {
		t.Errorf("ClusterRole (-want +got):\n%s", diff)
	}
}

func TestRBAC_GrantsOnlyListedRightsInKubeSystem(t *testing.T) {
	t.Parallel()
	want := []string{
		"configmaps [" + strings.Join(append([]string{cluster.ScopeRecord, routes.RecordName}, records.Names()...), " ") + "]: get update",
		"configmaps: create",
		"coordination.k8s.io/leases [cloud-controller-manager]: get update",
		"coordination.k8s.io/leases: create",
	}
	if diff := cmp.Diff(want, printed(only[*rbacv1.Role](t).Rules)); diff != "" {
		t.Errorf("Role (-want +got):\n%s", diff)
	}
}

func TestRBAC_BindsOnlyServiceAccountOfPod(t *testing.T) {
	t.Parallel()
	account := only[*v1.ServiceAccount](t)
	if pod := only[*appsv1.DaemonSet](t); pod.Spec.Template.Spec.ServiceAccountName != account.Name || pod.Namespace != account.Namespace {
		t.Errorf("the pod runs as %s", pod.Spec.Template.Spec.ServiceAccountName)
	}
	want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: account.Namespace}}
	bound := map[string]bool{}
	for _, object := range objects(t) {
		switch binding := object.(type) {
		case *rbacv1.ClusterRoleBinding:
			bound[binding.RoleRef.Kind+" "+binding.RoleRef.Name] = cmp.Equal(want, binding.Subjects)
		case *rbacv1.RoleBinding:
			bound[binding.RoleRef.Kind+" "+binding.RoleRef.Name] = cmp.Equal(want, binding.Subjects) && binding.Namespace == "kube-system"
		}
	}
	wanted := map[string]bool{
		"ClusterRole system:cloud-controller-manager":    true,
		"Role system:cloud-controller-manager":           true,
		"Role extension-apiserver-authentication-reader": true,
	}
	if diff := cmp.Diff(wanted, bound); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
}

// The rights of a controller that another tool has installed stay as they are, beside ours: a role of
// that tool may have what its flags need, such as tokens of service accounts.
func TestAdditionalRights_ReplaceNothingAndGrantTheSame(t *testing.T) {
	t.Parallel()
	names := func(directory string) map[string][]string {
		all := map[string][]string{}
		for _, of := range objectsOf(t, directory) {
			switch object := of.(type) {
			case *rbacv1.ClusterRole:
				all["ClusterRole "+object.Name] = printed(object.Rules)
			case *rbacv1.Role:
				all["Role "+object.Name] = printed(object.Rules)
			case *rbacv1.ClusterRoleBinding:
				all["ClusterRoleBinding "+object.Name] = []string{object.RoleRef.Kind, fmt.Sprint(object.Subjects)}
			case *rbacv1.RoleBinding:
				all["RoleBinding "+object.Name] = []string{object.RoleRef.Kind, fmt.Sprint(object.Subjects)}
			case *v1.ServiceAccount:
				all["ServiceAccount "+object.Name] = nil
			}
		}
		return all
	}
	const theirs, ours = "system:cloud-controller-manager", "system:openstack-cloud-controller-manager"
	want := map[string][]string{}
	for name, content := range names("static") {
		if !strings.HasPrefix(name, "ServiceAccount ") {
			want[strings.Replace(name, theirs, ours, 1)] = content
		}
	}
	if diff := cmp.Diff(want, names("additional-rights")); diff != "" {
		t.Errorf("manifests/additional-rights (-want +got):\n%s", diff)
	}
}

//proves:98
func TestPod_IsConfined(t *testing.T) {
	t.Parallel()
	pod := only[*appsv1.DaemonSet](t).Spec.Template.Spec
	wantPod := &v1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532), RunAsGroup: ptr.To[int64](65532), FSGroup: ptr.To[int64](65532),
		SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault},
	}
	if diff := cmp.Diff(wantPod, pod.SecurityContext); diff != "" {
		t.Errorf("security context of the pod (-want +got):\n%s", diff)
	}
	wantContainer := &v1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
		Capabilities: &v1.Capabilities{Drop: []v1.Capability{"ALL"}},
	}
	for _, container := range pod.Containers {
		if diff := cmp.Diff(wantContainer, container.SecurityContext); diff != "" {
			t.Errorf("security context of %s (-want +got):\n%s", container.Name, diff)
		}
		if container.Resources.Requests.Cpu().IsZero() || container.Resources.Requests.Memory().IsZero() {
			t.Errorf("%s requests no CPU or no memory", container.Name)
		}
	}
	for _, volume := range pod.Volumes {
		if volume.HostPath != nil {
			t.Errorf("volume %s is a directory of the host", volume.Name)
		}
	}
}

//proves:98
func TestPod_RunsBeforePodNetworkAndDNS(t *testing.T) {
	t.Parallel()
	pod := only[*appsv1.DaemonSet](t).Spec.Template.Spec
	if !pod.HostNetwork || pod.DNSPolicy != v1.DNSDefault {
		t.Errorf("hostNetwork %v, dnsPolicy %s: it runs before the pod network and DNS", pod.HostNetwork, pod.DNSPolicy)
	}
	probes := pod.Containers[0]
	paths := map[string]string{"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}
	for name, probe := range map[string]*v1.Probe{"startup": probes.StartupProbe, "liveness": probes.LivenessProbe, "readiness": probes.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Scheme != v1.URISchemeHTTPS || probe.HTTPGet.Path != paths[name] || probe.HTTPGet.Port.IntValue() != 10258 {
			t.Errorf("%s probe: %+v", name, probe)
		}
	}
}

func TestSecret_IsTheOneThatPodMounts(t *testing.T) {
	t.Parallel()
	pod := only[*appsv1.DaemonSet](t).Spec.Template.Spec
	if command := "create secret generic " + pod.Volumes[0].Secret.SecretName + " --from-file=cloud.conf"; !strings.Contains(confExample(t), command) {
		t.Errorf("the example has no %s", command)
	}
	if want := "--cloud-config=" + pod.Containers[0].VolumeMounts[0].MountPath + "/cloud.conf"; !slices.Contains(pod.Containers[0].Args, want) {
		t.Errorf("no argument %s in %v", want, pod.Containers[0].Args)
	}
}

func confExample(t *testing.T) string {
	t.Helper()
	return string(readFile(t, "static/cloud.conf.example"))
}

// Applying or deleting a directory keeps an existing Secret.
func TestManifests_HaveNoSecret(t *testing.T) {
	t.Parallel()
	for _, directory := range []string{"static", "dry-run", "additional-rights", "host-certificates"} {
		for _, object := range objectsOf(t, directory) {
			if secret, is := object.(*v1.Secret); is {
				t.Errorf("%s has Secret %s/%s", directory, secret.Namespace, secret.Name)
			}
		}
	}
}

// A forgotten placeholder must cause an error, and the example must contain no real value.
func TestSecret_LoadsWhenFilledInAndNamesNothingReal(t *testing.T) {
	t.Parallel()
	text := confExample(t)
	for line := range strings.Lines(text) {
		key, value, given := strings.Cut(strings.TrimSpace(line), "=")
		if given && !strings.HasPrefix(key, "#") && !strings.Contains(value, "<") {
			t.Errorf("%s has the value %q, which looks real", key, value)
		}
	}
	filled := strings.NewReplacer(
		"<UUID of a subnet>", "7f3c8b1e-2d49-4f0a-9f5e-1f0d2c3b4a02",
		"<UUID of an external network>", "7f3c8b1e-2d49-4f0a-9f5e-1f0d2c3b4a03",
		"<", "", ">", "").Replace(text)
	_, warnings, err := config.Load(strings.NewReader(filled), nil)
	if err != nil || len(warnings) > 0 {
		t.Errorf("filled in, it gives %v, warnings %v", err, warnings)
	}
}

//proves:119
func TestKustomization_NamesExistingResourcesAndImage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("static/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct {
		Resources []string
		Images    []struct{ Name string }
	}
	if err := json.Unmarshal(asJSON, &kustomization); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"rbac.yaml", "daemonset.yaml"}, kustomization.Resources); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	if image := only[*appsv1.DaemonSet](t).Spec.Template.Spec.Containers[0].Image; kustomization.Images[0].Name != image {
		t.Errorf("it sets image %s, the DaemonSet has %s", kustomization.Images[0].Name, image)
	}
}

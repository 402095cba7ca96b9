package manifests_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

// The alert on the lease is about the lease that the values name.
func TestMonitoring_RulesFollowNameOfLease(t *testing.T) {
	t.Parallel()
	const values = minimalValues + "prometheusRule: {enabled: true}\n"
	for i, of := range rendered(t, values, values+"leaderElection: {name: ours}", values+"args: {leader-elect-resource-name: ours}",
		values+"controllerExtraArgs: '- --leader-elect-resource-name=ours'") {
		lease := []string{"cloud-controller-manager", "ours", "ours", "ours"}[i]
		if named := `leader_election_master_status{name="` + lease + `"}`; of.Error != "" || !strings.Contains(of.Manifest(), named) {
			t.Errorf("no rule has %s: %s", named, of.Error)
		}
		if i > 0 && strings.Contains(of.Manifest(), `name="cloud-controller-manager"`) {
			t.Error("a rule is about the lease of the default")
		}
	}
}

// The policies are those of manifests/admission and manifests/readiness-gates, in their order, with the
// labels of all objects. Run with -update to copy them, before the others render with them.
//
//proves:119
func TestAdmissionGolden_ChartHasPolicies(t *testing.T) {
	required, optional, gates := string(readFile(t, "admission/policy.yaml")), string(readFile(t, "admission/deny-unknown/policy.yaml")), string(readFile(t, "readiness-gates/policy.yaml"))
	for name, text := range map[string]string{"policy.yaml": required, "deny-unknown.yaml": optional, "readiness-gates.yaml": gates} {
		golden.File(t, filepath.Join("chart", "files", "admission", name), text)
	}
	t.Parallel()
	const minimal = minimalValues + "helmLabels: false\nselectorLabels: {app: ccm}\n"
	wants := [][]string{nil, {required}, {required, optional}, {gates}}
	for i, of := range rendered(t, minimal, minimal+"admissionPolicy: {enabled: true}", minimal+"admissionPolicy: {enabled: true, denyUnknown: true}", minimal+"readinessGates: {enabled: true}") {
		if of.Error != "" {
			t.Fatal(of.Error)
		}
		want := documentsOf(t, strings.Join(wants[i], "\n---\n"))
		for _, policy := range want {
			if err := unstructured.SetNestedStringMap(policy, map[string]string{"app": "ccm"}, "metadata", "labels"); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, documentsOf(t, of.Files["policies.yaml"])); diff != "" {
			t.Errorf("values %d (-want +got):\n%s", i, diff)
		}
	}
}

// documentsOf returns the objects in a manifest.
func documentsOf(t *testing.T, manifest string) (all []map[string]any) {
	t.Helper()
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		if object := *decoded[map[string]any](t, document); object != nil {
			all = append(all, object)
		}
	}
	return all
}

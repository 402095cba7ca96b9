package manifests_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/openstack-ccm/openstack-ccm/manifests/admission"
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

// The policies are those of manifests/admission, in their order, with the labels of all objects.
// Run with -update to copy them, before the others render with them.
//
//proves:119
func TestAdmissionGolden_ChartHasPolicies(t *testing.T) {
	source, optional := string(readFile(t, "admission/policy.yaml")), string(readFile(t, "admission/deny-unknown/policy.yaml"))
	golden.File(t, filepath.Join("chart", "files", "admission", "policy.yaml"), source)
	golden.File(t, filepath.Join("chart", "files", "admission", "deny-unknown.yaml"), optional)
	t.Parallel()
	const minimal = minimalValues + "helmLabels: false\nselectorLabels: {app: ccm}\n"
	var want []map[string]any
	for document := range strings.SplitSeq(source+"\n---\n"+optional, "\n---\n") {
		policy := *decoded[map[string]any](t, document)
		if err := unstructured.SetNestedStringMap(policy, map[string]string{"app": "ccm"}, "metadata", "labels"); err != nil {
			t.Fatal(err)
		}
		want = append(want, policy)
	}
	required := len(admission.Objects())
	for i, of := range rendered(t, minimal, minimal+"admissionPolicy: {enabled: true}", minimal+"admissionPolicy: {enabled: true, denyUnknown: true}") {
		if of.Error != "" {
			t.Fatal(of.Error)
		}
		var got []map[string]any
		for document := range strings.SplitSeq(of.Files["policies.yaml"], "\n---\n") {
			if object := *decoded[map[string]any](t, document); object != nil {
				got = append(got, object)
			}
		}
		if diff := cmp.Diff(want[:[]int{0, required, len(want)}[i]], got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("values %d (-want +got):\n%s", i, diff)
		}
	}
}

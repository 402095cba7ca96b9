package admission_test

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/manifests/admission"
)

var update = flag.Bool("update", false, "write policy.yaml anew")

// TestPolicyReference_IsMadeFromTheTableOfAnnotations keeps the manifest like the code.
func TestPolicyReference_IsMadeFromTheTableOfAnnotations(t *testing.T) {
	t.Parallel()
	want, err := admission.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("policy.yaml", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Fatalf("policy.yaml is not like the code: run make generate (-want +got):\n%s", diff)
	}
}

package admission_test

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/manifests/admission"
	"github.com/openstack-ccm/openstack-ccm/tests/golden"
)

// TestPolicyReference_IsMadeFromTheTableOfAnnotations keeps the manifest like the code.
func TestPolicyReference_IsMadeFromTheTableOfAnnotations(t *testing.T) {
	t.Parallel()
	want, err := admission.YAML()
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "policy.yaml", want)
}

package admission_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/openstack-ccm/openstack-ccm/manifests/admission"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/golden"
)

// TestPolicyReference_IsMadeFromTheTableOfAnnotations keeps the manifest like the code.
//
//proves:134
func TestPolicyReference_IsMadeFromTheTableOfAnnotations(t *testing.T) {
	t.Parallel()
	for file, objects := range map[string][]runtime.Object{
		"policy.yaml": admission.Objects(), "deny-unknown/policy.yaml": admission.Optional(),
	} {
		want, err := admission.YAML(objects)
		if err != nil {
			t.Fatal(err)
		}
		golden.File(t, file, want)
	}
}

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
	for file, of := range map[string]struct {
		objects []runtime.Object
		version string
	}{
		"policy.yaml":                    {admission.Objects(), "1.31"},
		"deny-unknown/policy.yaml":       {admission.Optional(), "1.31"},
		"../readiness-gates/policy.yaml": {admission.Gates(), "1.36"},
	} {
		want, err := admission.YAML(of.objects, of.version)
		if err != nil {
			t.Fatal(err)
		}
		golden.File(t, file, want)
	}
}

package annotation_test

import (
	"slices"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

func TestDenied_ReadsOnAfterAnEmptyName(t *testing.T) {
	t.Parallel()
	got, err := annotation.Denied("port-id,, class")
	if want := []string{annotation.PortID, annotation.Class}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

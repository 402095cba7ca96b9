package sharing_test

import (
	"context"
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
)

func TestAllows_FailsWhereTheOwnersNamespaceCannotBeRead(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	of := ownership.Identity{ClusterName: "rig", ClusterID: "cluster", ServiceUID: "u", Namespace: "shop", Service: "web"}
	other := of
	other.Namespace, other.ServiceUID = "infra", "v"
	policy := sharing.Policy{
		Namespace: func(context.Context, string) (*v1.Namespace, error) { return nil, failed },
	}
	if may, err := policy.Allows(t.Context(), of, ownership.OwnerOf(other.Name(), other.Description(), other.Tags())); may || !errors.Is(err, failed) {
		t.Errorf("it may have it: %v, error %v", may, err)
	}
}

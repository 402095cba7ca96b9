package cloudprovider

import (
	"context"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/cloudscope"
)

// instancesAdapter implements cloudprovider.InstancesV2: it ties the calls of the node controllers
// to the life of the process.
type instancesAdapter struct {
	inner cloudprovider.InstancesV2
	calls *calls
	scope *cloudscope.Guard
}

// InstanceExists reports whether the node's server exists. False is only returned in the
// project and region that the cluster is known to be in.
func (i *instancesAdapter) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	ctx, end, err := i.calls.begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	exists, err := i.inner.InstanceExists(ctx, node)
	if exists || err != nil {
		return exists, err
	}
	return false, i.scope.Check(ctx)
}

// InstanceShutdown reports whether the node's server is switched off.
func (i *instancesAdapter) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	ctx, end, err := i.calls.begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	return i.inner.InstanceShutdown(ctx, node)
}

// InstanceMetadata returns the addresses, type, zone and region of the node's server.
func (i *instancesAdapter) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	ctx, end, err := i.calls.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return i.inner.InstanceMetadata(ctx, node)
}

package cloudprovider

import (
	"context"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// instances ties the calls of the node controllers to the life of the process.
type instances struct {
	inner cloudprovider.InstancesV2
	calls *calls
	cloud *cloudCheck
}

// InstanceExists says whether the node's server exists. That it does not is only said
// of the project and region that the cluster is known to be in.
func (i *instances) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	ctx, end, err := i.calls.begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	exists, err := i.inner.InstanceExists(ctx, node)
	if exists || err != nil {
		return exists, err
	}
	return false, i.cloud.allow(ctx)
}

// InstanceShutdown says whether the node's server is switched off.
func (i *instances) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	ctx, end, err := i.calls.begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	return i.inner.InstanceShutdown(ctx, node)
}

// InstanceMetadata describes the node's server.
func (i *instances) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	ctx, end, err := i.calls.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return i.inner.InstanceMetadata(ctx, node)
}

package cloudprovider

import (
	"context"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/cloudscope"
	"github.com/openstack-ccm/openstack-ccm/pkg/instances"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
)

// instancesAdapter implements cloudprovider.InstancesV2: it ties the calls of the node controllers
// to the life of the process. They write its errors to the log as they are.
type instancesAdapter struct {
	inner     cloudprovider.InstancesV2
	calls     *calls
	scope     *cloudscope.Guard
	deletions *instances.Deletions
}

// InstanceExists reports whether the node's server exists. k8s.io/cloud-provider deletes the
// Node on false, which is only returned in the project and region that the cluster is known to
// be in, and for a Node that may go.
func (i *instancesAdapter) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	ctx, end, err := i.calls.begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	exists, err := i.inner.InstanceExists(ctx, node)
	if err != nil {
		return exists, message.TruncateError(err, message.MaxError)
	}
	if exists {
		i.deletions.Seen(node)
		return true, nil
	}
	if err := i.scope.Check(ctx); err != nil {
		return false, err
	}
	return false, message.TruncateError(i.deletions.Allow(ctx, node), message.MaxError)
}

// InstanceShutdown reports whether the node's server is switched off.
func (i *instancesAdapter) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	ctx, end, err := i.calls.begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	shutdown, err := i.inner.InstanceShutdown(ctx, node)
	return shutdown, message.TruncateError(err, message.MaxError)
}

// InstanceMetadata returns the addresses, type, zone and region of the node's server.
func (i *instancesAdapter) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	ctx, end, err := i.calls.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	metadata, err := i.inner.InstanceMetadata(ctx, node)
	if err == nil {
		i.deletions.Seen(node)
	}
	return metadata, message.TruncateError(err, message.MaxError)
}

package cloudprovider

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/instances"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
)

// instancesAdapter implements cloudprovider.InstancesV2. It ends the calls of the node controllers
// with the process. They write its errors to the log without escaping them.
type instancesAdapter struct {
	inner     cloudprovider.InstancesV2
	calls     *calls
	scope     *cluster.Guard
	deletions *instances.Deletions
}

// begin begins a call about a node.
func (i *instancesAdapter) begin(ctx context.Context, operation string, node *v1.Node) (tied context.Context, end func(error), err error) {
	return i.calls.traced(ctx, "node", operation, attribute.String("k8s.node.name", node.Name))
}

// InstanceExists reports whether the node's server exists. k8s.io/cloud-provider deletes the Node
// if it does not. So the result is false only if the session works in the recorded project and
// region of the cluster, and the Node may be deleted.
func (i *instancesAdapter) InstanceExists(ctx context.Context, node *v1.Node) (exists bool, err error) {
	ctx, end, err := i.begin(ctx, "exists", node)
	if err != nil {
		return false, err
	}
	defer func() { end(err) }()
	exists, err = i.inner.InstanceExists(ctx, node)
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
func (i *instancesAdapter) InstanceShutdown(ctx context.Context, node *v1.Node) (shutdown bool, err error) {
	ctx, end, err := i.begin(ctx, "shutdown", node)
	if err != nil {
		return false, err
	}
	defer func() { end(err) }()
	shutdown, err = i.inner.InstanceShutdown(ctx, node)
	return shutdown, message.TruncateError(err, message.MaxError)
}

// InstanceMetadata returns the addresses, type, zone and region of the node's server.
func (i *instancesAdapter) InstanceMetadata(ctx context.Context, node *v1.Node) (metadata *cloudprovider.InstanceMetadata, err error) {
	ctx, end, err := i.begin(ctx, "metadata", node)
	if err != nil {
		return nil, err
	}
	defer func() { end(err) }()
	metadata, err = i.inner.InstanceMetadata(ctx, node)
	if err == nil {
		i.deletions.Seen(node)
	}
	return metadata, message.TruncateError(err, message.MaxError)
}

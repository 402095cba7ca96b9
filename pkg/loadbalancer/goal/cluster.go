package goal

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// Cluster identifies the cluster of this controller.
type Cluster struct {
	// Name is --cluster-name; ID is the UID of the namespace kube-system, "" if it could not be
	// read.
	Name, ID string
	// Nodes lists the nodes of the cluster, to find the subnets of its load balancers; if nil, only
	// the subnets in cloud.conf count.
	Nodes func(ctx context.Context) ([]v1.Node, error)
}

// Identity returns the identity of a Service in the cloud.
func (c Cluster) Identity(owner model.Owner, version model.Version) ownership.Identity {
	return ownership.Identity{
		ClusterName: c.Name,
		ClusterID:   c.ID,
		ServiceUID:  string(owner.UID),
		Namespace:   owner.Namespace,
		Service:     owner.Name,
		Untagged:    !version.AtLeast(driver.VersionTags),
	}
}

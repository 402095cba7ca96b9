package cloudprovider

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
)

// routes ties the calls of the route controller to the life of the process.
type routes struct {
	inner cloudprovider.Routes
	calls *calls
	cloud *cloudCheck
}

// ListRoutes gives the routes to pods that are ours.
func (r *routes) ListRoutes(ctx context.Context, clusterName string) ([]*cloudprovider.Route, error) {
	ctx, end, err := r.calls.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return r.inner.ListRoutes(ctx, clusterName)
}

// CreateRoute adds the route to a pod CIDR of a node. Upstream puts its error into an
// event on the Node.
func (r *routes) CreateRoute(ctx context.Context, clusterName, nameHint string, route *cloudprovider.Route) error {
	ctx, end, err := r.calls.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err := r.cloud.allow(ctx); err != nil {
		return err
	}
	return message.Within(r.inner.CreateRoute(ctx, clusterName, nameHint, route), message.MaxRouteError)
}

// DeleteRoute removes a route that ListRoutes gave.
func (r *routes) DeleteRoute(ctx context.Context, clusterName string, route *cloudprovider.Route) error {
	ctx, end, err := r.calls.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err := r.cloud.allow(ctx); err != nil {
		return err
	}
	return r.inner.DeleteRoute(ctx, clusterName, route)
}

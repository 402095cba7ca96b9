package cloudprovider

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/cloudscope"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
)

// routesAdapter implements cloudprovider.Routes: it ties the calls of the route controller to the
// life of the process.
type routesAdapter struct {
	inner cloudprovider.Routes
	calls *calls
	scope *cloudscope.Guard
}

// ListRoutes returns the routes to pods that are ours.
func (r *routesAdapter) ListRoutes(ctx context.Context, clusterName string) ([]*cloudprovider.Route, error) {
	ctx, end, err := r.calls.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	routes, err := r.inner.ListRoutes(ctx, clusterName)
	return routes, message.TruncateError(err, message.MaxRouteError)
}

// CreateRoute adds the route to a pod CIDR of a node. The route controller puts its error
// into an event on the Node.
func (r *routesAdapter) CreateRoute(ctx context.Context, clusterName, nameHint string, route *cloudprovider.Route) error {
	ctx, end, err := r.calls.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err := r.scope.Check(ctx); err != nil {
		return err
	}
	return message.TruncateError(r.inner.CreateRoute(ctx, clusterName, nameHint, route), message.MaxRouteError)
}

// DeleteRoute removes a route that ListRoutes has returned.
func (r *routesAdapter) DeleteRoute(ctx context.Context, clusterName string, route *cloudprovider.Route) error {
	ctx, end, err := r.calls.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err := r.scope.Check(ctx); err != nil {
		return err
	}
	return message.TruncateError(r.inner.DeleteRoute(ctx, clusterName, route), message.MaxRouteError)
}

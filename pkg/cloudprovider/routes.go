package cloudprovider

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
)

// routesAdapter implements cloudprovider.Routes. It ends the calls of the route controller with the
// process.
type routesAdapter struct {
	inner cloudprovider.Routes
	calls *calls
	scope *cluster.Guard
}

// begin begins a call about a route.
func (r *routesAdapter) begin(ctx context.Context, operation string, route *cloudprovider.Route) (tied context.Context, end func(error), err error) {
	return r.calls.traced(ctx, "route", operation,
		attribute.String("k8s.node.name", string(route.TargetNode)), attribute.String("destination", route.DestinationCIDR))
}

// ListRoutes returns the routes to pods that are ours.
func (r *routesAdapter) ListRoutes(ctx context.Context, clusterName string) (routes []*cloudprovider.Route, err error) {
	ctx, end, err := r.calls.traced(ctx, "route", "list")
	if err != nil {
		return nil, err
	}
	defer func() { end(err) }()
	routes, err = r.inner.ListRoutes(ctx, clusterName)
	return routes, message.TruncateError(err, message.MaxRouteError)
}

// CreateRoute adds the route to a pod CIDR of a node. The route controller puts its error
// into an event on the Node.
func (r *routesAdapter) CreateRoute(ctx context.Context, clusterName, nameHint string, route *cloudprovider.Route) (err error) {
	ctx, end, err := r.begin(ctx, "create", route)
	if err != nil {
		return err
	}
	defer func() { end(err) }()
	if err := r.scope.Check(ctx); err != nil {
		return err
	}
	return message.TruncateError(r.inner.CreateRoute(ctx, clusterName, nameHint, route), message.MaxRouteError)
}

// DeleteRoute removes a route that ListRoutes has returned.
func (r *routesAdapter) DeleteRoute(ctx context.Context, clusterName string, route *cloudprovider.Route) (err error) {
	ctx, end, err := r.begin(ctx, "delete", route)
	if err != nil {
		return err
	}
	defer func() { end(err) }()
	if err := r.scope.Check(ctx); err != nil {
		return err
	}
	return message.TruncateError(r.inner.DeleteRoute(ctx, clusterName, route), message.MaxRouteError)
}

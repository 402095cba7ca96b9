package routes

import (
	"context"
	"net/netip"

	cloudprovider "k8s.io/cloud-provider"
)

// CreateTogether carries out the creation of routes in one batch, each asked for with
// its own context, and returns their errors.
func (t *Table) CreateTogether(ctx context.Context, asked []context.Context, routes []*cloudprovider.Route) []error {
	var operations []*operation
	for i, route := range routes {
		to := netip.MustParsePrefix(route.DestinationCIDR)
		operations = append(operations, &operation{ctx: asked[i], node: string(route.TargetNode), to: to, through: nextHops(route.TargetNodeAddresses, to)})
	}
	return t.reconcile(ctx, operations)
}

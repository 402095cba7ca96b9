package routes

import (
	"context"
	"net/netip"

	cloudprovider "k8s.io/cloud-provider"
)

// CreateTogether carries out the creation of routes in one batch, each asked for with
// its own context, and gives their errors.
func (t *Table) CreateTogether(ctx context.Context, asked []context.Context, routes []*cloudprovider.Route) []error {
	var calls []*call
	for i, route := range routes {
		to := netip.MustParsePrefix(route.DestinationCIDR)
		calls = append(calls, &call{ctx: asked[i], node: string(route.TargetNode), to: to, through: nextHops(route.TargetNodeAddresses, to)})
	}
	return t.carryOut(ctx, calls)
}

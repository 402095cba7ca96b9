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

// Gathered returns how many operations wait for the next batch to begin.
func (t *Table) Gathered() int {
	t.batcher.mu.Lock()
	defer t.batcher.mu.Unlock()
	if t.batcher.next == nil {
		return 0
	}
	return len(t.batcher.next.operations)
}

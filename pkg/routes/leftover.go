package routes

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Remove removes routes from a router, in one request if Neutron has extraroute-atomic. The caller
// must have proof that they belong to the cluster.
func Remove(ctx context.Context, network Network, routerID string, routes []neutron.ExtraRoute) error {
	t := New(Options{Network: network, RouterID: routerID})
	router, err := t.readRouter(ctx)
	if err != nil {
		return err
	}
	return t.change(ctx, router, nil, routes)
}

package routes

import (
	"context"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Remove removes routes from a router, in one request if Neutron has extraroute-atomic. The caller
// must have proof that they belong to the cluster.
func Remove(ctx context.Context, network Network, routerID string, routes []neutron.ExtraRoute) error {
	extra := extraRoutes{network: network, routerID: routerID, clock: clock.RealClock{}}
	router, err := extra.read(ctx)
	if err != nil {
		return err
	}
	return extra.change(ctx, router, nil, routes)
}

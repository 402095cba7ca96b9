package routes

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// attempts is the maximum number of attempts of a change that conflicts with another client's.
const attempts = 10

// nonAtomicAge is how long Neutron is assumed to lack extraroute-atomic. It may be upgraded, or the
// answer came from an API server that differs from the others.
const nonAtomicAge = 10 * time.Minute

// extraRoutes reads and changes the routes of one router. It is safe for concurrent use.
type extraRoutes struct {
	network  Network
	routerID string
	clock    clock.PassiveClock
	// nonAtomicUntil is the time until which Neutron is assumed to lack extraroute-atomic, in Unix
	// nanoseconds.
	nonAtomicUntil atomic.Int64
	// size is the number of routes as last read or changed, plus 1; 0 if it is unknown.
	size atomic.Int64
}

// read returns the router, and records the number of its routes.
func (e *extraRoutes) read(ctx context.Context) (*neutron.Router, error) {
	router, err := e.network.Router(ctx, e.routerID)
	if apierror.IsNoRouter(err) {
		return nil, fmt.Errorf("cloud.conf [Route] router-id is not a router that this project owns or can see: %w", err)
	}
	if err == nil {
		e.size.Store(int64(len(router.Routes)) + 1)
	}
	return router, err
}

// change adds routes to the router, or removes them. router is its last known state and is updated
// if necessary.
func (e *extraRoutes) change(ctx context.Context, router *neutron.Router, add, remove []neutron.ExtraRoute) error {
	if now := e.clock.Now(); now.UnixNano() >= e.nonAtomicUntil.Load() {
		var err error
		if len(add) > 0 {
			err = e.network.AddRoutes(ctx, e.routerID, add)
		} else {
			err = e.network.RemoveRoutes(ctx, e.routerID, remove)
		}
		if !apierror.IsUnknownAction(err) {
			return err
		}
		klog.FromContext(ctx).Info("Neutron has no extension extraroute-atomic: routes are read and written back as a whole", "router", e.routerID)
		e.nonAtomicUntil.Store(now.Add(nonAtomicAge).UnixNano())
	}
	return e.replace(ctx, router, add, remove)
}

// replace is for Neutron without extraroute-atomic. It writes the complete list of routes, unless
// another client has changed the router since it was read.
func (e *extraRoutes) replace(ctx context.Context, router *neutron.Router, add, remove []neutron.ExtraRoute) error {
	for attempt := 1; ; attempt++ {
		routes := slices.DeleteFunc(slices.Clone(router.Routes), func(r neutron.ExtraRoute) bool { return slices.Contains(remove, r) })
		for _, r := range add {
			if !slices.Contains(routes, r) {
				routes = append(routes, r)
			}
		}
		written, err := e.network.SetRoutes(ctx, router, routes)
		if err == nil {
			*router = *written
			return nil
		}
		if !apierror.IsStale(err) || attempt == attempts {
			return err
		}
		read, err := e.read(ctx)
		if err != nil {
			return err
		}
		*router = *read
	}
}

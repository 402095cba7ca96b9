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

// limitAge is how long a router that was full is assumed to accept no more routes than it had then.
const limitAge = time.Minute

// nonAtomicAge is how long Neutron is assumed to lack extraroute-atomic. It may be upgraded, or the
// answer came from an API server that differs from the others.
const nonAtomicAge = 10 * time.Minute

// routeLimit is the observed maximum number of routes of the router.
type routeLimit struct {
	most  int
	until time.Time
}

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

// add adds routes in as few requests as possible. Neutron applies all routes of a request or none:
// a refused request is split in halves until the refused routes are known. It records the errors of
// the routes that were not added.
func (t *Table) add(ctx context.Context, r *reconciliation, hops []hop) {
	var full error
	room := len(hops)
	if limit := t.limit; t.clock.Now().Before(limit.until) {
		room = min(room, max(0, limit.most-len(r.has)))
		full = t.fullError(limit.most)
	}
	if room > 0 {
		if refused := t.addSome(ctx, r, hops[:room]); refused != nil {
			full = refused
		}
	}
	for _, h := range hops[room:] {
		r.errs[h] = full
	}
}

// addSome returns an error if the router is full.
func (t *Table) addSome(ctx context.Context, r *reconciliation, hops []hop) error {
	routes := make([]neutron.ExtraRoute, 0, len(hops))
	for _, h := range hops {
		routes = append(routes, neutron.ExtraRoute{Destination: h.to.String(), NextHop: h.via.String()})
	}
	err := r.noting(ctx, hops, func(ctx context.Context) error { return t.routes.change(ctx, r.router, routes, nil) })
	switch {
	case err == nil:
		for i, h := range hops {
			r.has[h], r.added[h] = routes[i], true
		}
		return nil
	case len(hops) > 1 && (apierror.IsInvalid(err) || apierror.IsRouteLimit(err)):
		half := len(hops) / 2
		full := t.addSome(ctx, r, hops[:half])
		if full == nil {
			return t.addSome(ctx, r, hops[half:])
		}
		for _, h := range hops[half:] {
			r.errs[h] = full
		}
		return full
	case apierror.IsRouteLimit(err):
		t.limit = routeLimit{most: len(r.has), until: t.clock.Now().Add(limitAge)}
		err = fmt.Errorf("%w: %w", t.fullError(t.limit.most), err)
		r.errs[hops[0]] = err
		return err
	}
	for _, h := range hops {
		r.errs[h] = err
	}
	return nil
}

func (t *Table) fullError(most int) error {
	return fmt.Errorf("router %s has %d routes and Neutron allows no more: every node needs one for each of its pod CIDRs, "+
		"and every Service of provider router one, so the cloud's operator must raise max_routes in neutron.conf, or from 2026.2 on the project's quota of router_route (default: 30)", t.routerID, most)
}

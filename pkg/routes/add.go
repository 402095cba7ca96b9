package routes

import (
	"context"
	"fmt"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// limitAge is how long a router that was full is assumed to accept no more routes than it had then.
const limitAge = time.Minute

// routeLimit is the observed maximum number of routes of the router.
type routeLimit struct {
	most  int
	until time.Time
}

// full reports whether the router has refused routes because of their number.
func (l routeLimit) full(now time.Time) bool { return now.Before(l.until) }

// add adds routes in as few requests as possible. Neutron applies all routes of a request or none:
// a refused request is split in halves until the refused routes are known. It records the errors of
// the routes that were not added.
func (r *reconciliation) add(ctx context.Context, hops []hop) {
	var full error
	room := len(hops)
	if limit := r.table.limit; limit.full(r.table.clock.Now()) {
		room = min(room, max(0, limit.most-len(r.has)))
		full = fullError(r.table.routerID, limit.most)
	}
	if room > 0 {
		if refused := r.addSome(ctx, hops[:room]); refused != nil {
			full = refused
		}
	}
	for _, h := range hops[room:] {
		r.errs[h] = full
	}
}

// addSome returns an error if the router is full.
func (r *reconciliation) addSome(ctx context.Context, hops []hop) error {
	routes := make([]neutron.ExtraRoute, 0, len(hops))
	for _, h := range hops {
		routes = append(routes, neutron.ExtraRoute{Destination: h.to.String(), NextHop: h.via.String()})
	}
	err := r.change(ctx, hops, routes, nil)
	switch {
	case err == nil:
		for i, h := range hops {
			r.has[h], r.added[h] = routes[i], true
		}
		return nil
	case len(hops) > 1 && (apierror.IsInvalid(err) || apierror.IsRouteLimit(err)):
		half := len(hops) / 2
		full := r.addSome(ctx, hops[:half])
		if full == nil {
			return r.addSome(ctx, hops[half:])
		}
		for _, h := range hops[half:] {
			r.errs[h] = full
		}
		return full
	case apierror.IsRouteLimit(err):
		r.table.limit = routeLimit{most: len(r.has), until: r.table.clock.Now().Add(limitAge)}
		err = fmt.Errorf("%w: %w", fullError(r.table.routerID, len(r.has)), err)
		r.errs[hops[0]] = err
		return err
	}
	for _, h := range hops {
		r.errs[h] = err
	}
	return nil
}

func fullError(routerID string, most int) error {
	return fmt.Errorf("router %s has %d routes and Neutron allows no more: every node needs one for each of its pod CIDRs, "+
		"and every Service of provider router one, so the cloud's operator must raise max_routes in neutron.conf, or from 2026.2 on the project's quota of router_route (default: 30)", routerID, most)
}

package octavia

import (
	"context"
	"net/url"
)

// listenerAPI reads and writes listeners.
type listenerAPI struct{ requests }

// Listeners lists the listeners of a load balancer with all their settings.
func (c listenerAPI) Listeners(ctx context.Context, loadBalancerID string) ([]Listener, error) {
	q := url.Values{"loadbalancer_id": {loadBalancerID}}
	return listAll(ctx, c.requests, "listeners", q, func(l Listener) string { return l.ID })
}

// ListenersTagged lists the listeners with one of these tags, in all load balancers.
func (c listenerAPI) ListenersTagged(ctx context.Context, tags ...string) ([]Listener, error) {
	return listAll(ctx, c.requests, "listeners", tagged(tags), func(l Listener) string { return l.ID })
}

// AllListeners lists the listeners of all load balancers.
func (c listenerAPI) AllListeners(ctx context.Context) ([]Listener, error) {
	return listAll(ctx, c.requests, "listeners", url.Values{}, func(l Listener) string { return l.ID })
}

// CreateListener creates a listener on an existing load balancer.
func (c listenerAPI) CreateListener(ctx context.Context, listener Listener) (*Listener, error) {
	return create(ctx, c.requests, "listeners", "listener", listener, "create listener "+listener.Name)
}

// UpdateListener changes settings of a listener. The answer has the default values of settings that
// were reset.
func (c listenerAPI) UpdateListener(ctx context.Context, id string, changes Changes) (*Listener, error) {
	return update[Listener](ctx, c.requests, "listeners", id, "listener", changes, "update listener "+id)
}

// DeleteListener deletes a listener; its pool stays. After a 404 it reads the listener, which is a
// second request.
func (c listenerAPI) DeleteListener(ctx context.Context, id string) error {
	return c.removeSurely(ctx, "listeners", id, "listener "+id)
}

// ListenerOwners lists the listeners of all load balancers. Only ID, Name, Tags and LoadBalancers of
// a listener are read.
func (c listenerAPI) ListenerOwners(ctx context.Context) ([]Listener, error) {
	return listAll(ctx, c.requests, "listeners", url.Values{"fields": ownerFields()}, func(l Listener) string { return l.ID })
}

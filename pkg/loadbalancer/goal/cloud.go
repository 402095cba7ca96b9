package goal

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
)

// read finds and reads the load balancers of a Service, which may name one, and remembers them.
func (e *Engine) read(ctx context.Context, in Inputs, named string, scope reading.Scope, lock *async.Guard, at *reading.Search) (Observation, error) {
	found, err := e.Cloud.Read(ctx, in.ID, e.hints(in.Service, named), scope, lock, at)
	if err != nil {
		return Observation{}, err
	}
	switch {
	case found.ID == "":
	case !found.As.Sharing.Is:
		e.Store.SetLoadBalancerID(in.Owner.UID, found.ID)
	case found.As.Sharing.Served:
		e.Store.SetServedOn(in.Owner.UID, found.ID)
	}
	return Observation{Observed: found.Observed, As: found.As, Knowledge: model.Knowledge{Confirmed: true}}, nil
}

// nothing returns the observation of a Service without load balancer.
func nothing(id ownership.Identity) Observation {
	return Observation{Observed: &model.Observed{}, As: id, Knowledge: model.Knowledge{Confirmed: true}}
}

// leaving returns the scope for a load balancer to be deleted; known are its known contents, nil for
// none.
func (e *Engine) leaving(known *model.LoadBalancer) reading.Scope {
	return reading.Scope{Leaving: true, Cascade: e.Config.LoadBalancer.CascadeDelete, Known: known}
}

// Unchanged reports whether an observation is still true, with a request if that is unknown. It is
// false for an unconfirmed one from lists.
func (e *Engine) Unchanged(ctx context.Context, have Observation) (bool, error) {
	if have.Confirmed || have.Source == model.Lists {
		return have.Confirmed, nil
	}
	lb := have.LoadBalancer
	return e.Cloud.Unchanged(ctx, lb.ID, lb.Provider, lb.UpdatedAt)
}

// Verify calls the goal's Verify for an observation that is known to be unchanged, and reads the
// settings of members that are unknown. The result is like a read from the cloud.
func (e *Engine) Verify(ctx context.Context, g Goal, r Round) (have Observation, another bool, err error) {
	have, another, err = g.Verify(ctx, r)
	if err == nil && have.Depth == model.Settings {
		another, err = true, e.Cloud.Observer.ReadMembers(ctx, have.LoadBalancer)
	}
	have.Knowledge = model.Knowledge{Confirmed: true}
	return have, another, err
}

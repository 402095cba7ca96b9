package goal

import (
	"context"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/barbican"
)

// Cloud reads and writes load balancers and floating IPs, and reads what they depend on.
type Cloud struct {
	reading.Reader
	Lookup   *lookup.Reader
	Barbican *barbican.Client
	Applier  Applier
	Project  *project.Reader
	// VIPs reads those of provider router, Forwardings those of provider port-forwarding.
	VIPs        *router.Ports
	Forwardings *router.Forwardings
}

// Applier applies plans. *apply.Applier implements it; *apply.Rehearsal does so without a write.
type Applier interface {
	Continue(ctx context.Context, run *apply.Run) (model.Observed, error)
	reading.Settler
}

// NodeGroups are the security groups of nodes. *securitygroup.Groups implements it.
type NodeGroups interface {
	Plan(ctx context.Context, r securitygroup.Request) (*securitygroup.Task, error)
	Open(ctx context.Context, t *securitygroup.Task) error
	Close(ctx context.Context, t *securitygroup.Task) error
	Remove(ctx context.Context, id ownership.Identity) error
	Exists(ctx context.Context, id ownership.Identity) (bool, error)
}

// Unchanged reports whether an observation is still true, with a request if that is unknown. It is
// false for an unconfirmed one from lists.
func (c Cloud) Unchanged(ctx context.Context, have Observation) (bool, error) {
	if have.Confirmed || have.Source == model.Lists {
		return have.Confirmed, nil
	}
	lb := have.LoadBalancer
	return c.Reader.Unchanged(ctx, lb.ID, lb.Provider, lb.UpdatedAt)
}

// Verify calls the goal's Verify for an observation that is known to be unchanged, and reads the
// settings of members that are unknown. The result is like a read from the cloud.
func (c Cloud) Verify(ctx context.Context, g Goal, r Round) (have Observation, another bool, err error) {
	have, another, err = g.Verify(ctx, r)
	if err == nil && have.Depth == model.Settings {
		another, err = true, c.Observer.ReadMembers(ctx, have.LoadBalancer)
	}
	have.Knowledge = model.Knowledge{Confirmed: true}
	return have, another, err
}

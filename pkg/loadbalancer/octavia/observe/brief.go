package observe

import (
	"context"
	"errors"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// ErrTorn reports inconsistent reads of a load balancer: it has changed between the requests, or
// has pools that the status tree omits.
var ErrTorn = errors.New("the lists of the project and the load balancer's status tree do not go together")

// brief reads the health monitors of pools and, of their members, the data of the status tree, and
// one member in full for each type of these monitors: members with the same type of monitor have
// the same settings. Without a monitor, the port of checks does not matter. The error may be
// ErrTorn.
func (o *Observer) brief(ctx context.Context, id ownership.Identity, parts *Parts) (err error) {
	if len(parts.Listeners) != len(parts.LoadBalancer.Listeners) || len(parts.Pools) != len(parts.LoadBalancer.Pools) {
		return ErrTorn
	}
	if parts.Monitors, err = o.monitors(ctx, id, parts.Pools); err != nil {
		return err
	}
	tree, err := o.Octavia.StatusTree(ctx, parts.LoadBalancer.ID)
	if err != nil {
		return err
	}
	statuses, samples := membersByPool(tree), map[string]octavia.Member{}
	parts.Members, parts.Depth = map[string][]octavia.Member{}, model.Settings
	for _, pool := range parts.Pools {
		of := statuses[pool.ID]
		if len(of) != len(pool.Members) {
			return ErrTorn
		}
		kind := parts.Monitors[pool.MonitorID].Type
		sample, known := samples[kind]
		if !known && kind != "" && len(of) > 0 {
			if sample, err = (memberReader{o.Octavia}).sample(ctx, pool.ID, of[0]); err != nil {
				return err
			}
			samples[kind] = sample
		}
		parts.Members[pool.ID] = alike(sample, of, nil)
	}
	return nil
}

// ReadMembers reads the members of a load balancer that is otherwise known, like Contents.
func (o *Observer) ReadMembers(ctx context.Context, lb *model.LoadBalancer) error {
	version, err := o.Version(ctx)
	if err != nil {
		return err
	}
	var all []octavia.Pool
	for i := range lb.Listeners {
		if pool := &lb.Listeners[i].Pool; pool.ID != "" {
			all = append(all, octavia.Pool{ID: pool.ID, Members: make([]octavia.ObjectID, pool.Members.Len())})
		}
	}
	var parts Parts
	parts.Members, parts.Sampled, err = memberReader{o.Octavia}.all(ctx, lb.ID, all, version)
	if err != nil {
		return err
	}
	for i := range lb.Listeners {
		lb.Listeners[i].Pool.Members = parts.members(lb.Listeners[i].Pool.ID)
	}
	lb.Sort()
	return nil
}

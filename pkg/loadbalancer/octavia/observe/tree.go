package observe

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Contents reads all parts of a listed load balancer: listeners, pools and monitors with one
// request each, members with one per pool (see memberReader).
func (o *Observer) Contents(ctx context.Context, id ownership.Identity, lb octavia.LoadBalancer) (*model.LoadBalancer, error) {
	parts := Parts{LoadBalancer: lb}
	if len(lb.Listeners) == 0 && len(lb.Pools) == 0 {
		return parts.Model(id), nil
	}
	version, err := o.Version(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.listenersAndPools(ctx, &parts); err != nil {
		return nil, err
	}
	if o.Depth == model.Settings {
		if err := o.brief(ctx, id, &parts); err != nil {
			return nil, err
		}
		return parts.Model(id), nil
	}
	group, grouped := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		parts.Monitors, err = o.monitors(grouped, id, parts.Pools)
		return err
	})
	group.Go(func() (err error) {
		parts.Members, parts.Sampled, err = memberReader{o.Octavia}.all(grouped, lb.ID, parts.Pools, version)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return parts.Model(id), nil
}

// Settings reads the same as Contents, but only the IDs of members.
func (o *Observer) Settings(ctx context.Context, id ownership.Identity, lb octavia.LoadBalancer) (Parts, error) {
	parts := Parts{LoadBalancer: lb}
	err := o.listenersAndPools(ctx, &parts)
	if err == nil {
		parts.Monitors, err = o.monitors(ctx, id, parts.Pools)
	}
	return parts, err
}

func (o *Observer) listenersAndPools(ctx context.Context, parts *Parts) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		parts.Listeners, err = o.Octavia.Listeners(ctx, parts.LoadBalancer.ID)
		return err
	})
	group.Go(func() (err error) {
		parts.Pools, err = o.Octavia.Pools(ctx, parts.LoadBalancer.ID)
		return err
	})
	return group.Wait()
}

// monitors reads the health monitors of pools: ours by their tag in one request, those of
// cloud-provider-openstack, which have no tag, one by one.
func (o *Observer) monitors(ctx context.Context, id ownership.Identity, all []octavia.Pool) (map[string]octavia.HealthMonitor, error) {
	found := map[string]octavia.HealthMonitor{}
	missing := func() (ids []string) {
		for _, p := range all {
			if _, ok := found[p.MonitorID]; p.MonitorID != "" && !ok {
				ids = append(ids, p.MonitorID)
			}
		}
		return ids
	}
	if len(missing()) > 1 && !id.Untagged {
		tagged, err := o.Octavia.MonitorsTagged(ctx, id.ServiceTag())
		if err != nil {
			return nil, err
		}
		for _, m := range tagged {
			found[m.ID] = m
		}
	}
	for _, monitorID := range missing() {
		m, err := o.Octavia.Monitor(ctx, monitorID)
		if err != nil {
			return nil, err
		}
		found[m.ID] = *m
	}
	return found, nil
}

// Parts are the load balancer service's objects of one load balancer.
type Parts struct {
	LoadBalancer octavia.LoadBalancer
	Listeners    []octavia.Listener
	Pools        []octavia.Pool
	Monitors     map[string]octavia.HealthMonitor // by ID
	Members      map[string][]octavia.Member      // by pool ID
	// Sampled are the pools of which only the first member was read in full.
	Sampled map[string]bool
	// Depth is model.Settings if not even one member of each pool was read in full.
	Depth model.Depth
}

// MemberIDs returns the IDs of the members of a pool.
func (p Parts) MemberIDs(poolID string) []string {
	var ids []string
	for _, pool := range p.Pools {
		if pool.ID == poolID {
			for _, m := range pool.Members {
				ids = append(ids, m.ID)
			}
		}
	}
	return ids
}

// Created returns the parts in the answer to a fully populated create.
func Created(lb octavia.LoadBalancer) Parts {
	parts := Parts{LoadBalancer: lb, Listeners: lb.Listeners, Pools: slices.Clone(lb.Pools), Monitors: map[string]octavia.HealthMonitor{}}
	for i := range parts.Pools {
		if monitor := parts.Pools[i].Monitor; monitor != nil {
			parts.Pools[i].MonitorID = monitor.ID
			parts.Monitors[monitor.ID] = *monitor
		}
	}
	return parts
}

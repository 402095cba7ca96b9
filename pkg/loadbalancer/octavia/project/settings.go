package project

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// SettingsOf reads the same as observe.Observer.Settings for the load balancers of several Services,
// by their tags, with three requests, and a fourth if there are health monitors. It returns them by
// the ID of the load balancer, of which they hold only the ID. It omits a load balancer with any
// part that lacks the tag of its Service, because another client or controller created it.
func (r *Reader) SettingsOf(ctx context.Context, services []ownership.Identity) (map[string]observe.Parts, error) {
	tags := make([]string, 0, len(services))
	for _, id := range services {
		tags = append(tags, id.ServiceTag())
	}
	var loadBalancers []octavia.LoadBalancer
	var pools []octavia.Pool
	var found Lists
	group, grouped := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		loadBalancers, err = r.octavia.LoadBalancers(grouped, octavia.LoadBalancerFilter{AnyTag: tags, Fields: []string{"id", "listeners", "pools"}})
		return err
	})
	group.Go(func() error {
		all, err := r.octavia.ListenersTagged(grouped, tags...)
		found.addListeners(all)
		return err
	})
	group.Go(func() (err error) {
		pools, err = r.octavia.PoolsTagged(grouped, tags...)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(pools, func(p octavia.Pool) bool { return p.MonitorID != "" }) {
		all, err := r.octavia.MonitorsTagged(ctx, tags...)
		if err != nil {
			return nil, err
		}
		found.addMonitors(all)
	}
	return found.whole(loadBalancers, pools), nil
}

// whole returns the complete load balancers among these; pools are an argument, because Lists have
// none.
func (l *Lists) whole(loadBalancers []octavia.LoadBalancer, pools []octavia.Pool) map[string]observe.Parts {
	poolsOf := make(index[octavia.Pool], len(loadBalancers))
	for i := range pools {
		for _, lb := range pools[i].LoadBalancers {
			poolsOf.add(&pools[i], nil, selector{byLoadBalancer, lb.ID})
		}
	}
	whole := make(map[string]observe.Parts, len(loadBalancers))
	for _, lb := range loadBalancers {
		on := selector{byLoadBalancer, lb.ID}
		parts := observe.Parts{Listeners: l.listeners.having(on), Pools: poolsOf.having(on)}
		parts.LoadBalancer.ID = lb.ID
		if parts.Monitors = l.monitorsOf(parts.Pools); parts.Monitors != nil && complete(parts, lb) {
			whole[lb.ID] = parts
		}
	}
	return whole
}

// monitorsOf returns the health monitors of pools by their ID, nil if the Lists lack one.
func (l *Lists) monitorsOf(pools []octavia.Pool) map[string]octavia.HealthMonitor {
	all := map[string]octavia.HealthMonitor{}
	for _, pool := range pools {
		if pool.MonitorID == "" {
			continue
		}
		found := l.monitors[selector{byID, pool.MonitorID}]
		if len(found) == 0 {
			return nil
		}
		all[pool.MonitorID] = *found[0]
	}
	return all
}

// complete reports whether these are all listeners and pools of the load balancer.
func complete(parts observe.Parts, lb octavia.LoadBalancer) bool {
	var have, want []string
	for _, l := range parts.Listeners {
		have = append(have, l.ID)
	}
	for _, pool := range parts.Pools {
		have = append(have, pool.ID)
	}
	for _, l := range lb.Listeners {
		want = append(want, l.ID)
	}
	for _, pool := range lb.Pools {
		want = append(want, pool.ID)
	}
	slices.Sort(have)
	slices.Sort(want)
	return slices.Equal(have, want)
}

package observe

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"golang.org/x/sync/errgroup"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// SettingsOf reads Settings of the load balancers of several Services by their tags, with three
// requests, and a fourth where there are health monitors. It returns them by the ID of the load
// balancer. Of the load balancers themselves there is the ID. One is missing where anything in it
// does not carry the tag of its Service, as another client or controller made it.
func (o *Observer) SettingsOf(ctx context.Context, services []ownership.Identity) (map[string]Parts, error) {
	tags := make([]string, 0, len(services))
	for _, id := range services {
		tags = append(tags, id.ServiceTag())
	}
	var read tagged
	group, grouped := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		read.loadBalancers, err = o.Octavia.LoadBalancers(grouped, octavia.LoadBalancerFilter{AnyTag: tags, Fields: []string{"id", "listeners", "pools"}})
		return err
	})
	group.Go(func() (err error) {
		read.listeners, err = o.Octavia.ListenersTagged(grouped, tags...)
		return err
	})
	group.Go(func() (err error) {
		read.pools, err = o.Octavia.PoolsTagged(grouped, tags...)
		return err
	})
	err := group.Wait()
	if err == nil && slices.ContainsFunc(read.pools, func(p octavia.Pool) bool { return p.MonitorID != "" }) {
		read.monitors, err = o.Octavia.MonitorsTagged(ctx, tags...)
	}
	if err != nil {
		return nil, err
	}
	return read.byLoadBalancer(), nil
}

// tagged is all that carries one of several tags.
type tagged struct {
	loadBalancers []octavia.LoadBalancer
	listeners     []listeners.Listener
	pools         []octavia.Pool
	monitors      []monitors.Monitor
}

// byLoadBalancer returns the load balancers of which all parts are there.
func (t tagged) byLoadBalancer() map[string]Parts {
	all := make(map[string]Parts, len(t.loadBalancers))
	for _, l := range t.listeners {
		for _, on := range l.Loadbalancers {
			parts := all[on.ID]
			parts.Listeners = append(parts.Listeners, l)
			all[on.ID] = parts
		}
	}
	for _, p := range t.pools {
		for _, on := range p.Loadbalancers {
			parts := all[on.ID]
			parts.Pools = append(parts.Pools, p)
			all[on.ID] = parts
		}
	}
	byID := make(map[string]monitors.Monitor, len(t.monitors))
	for _, m := range t.monitors {
		byID[m.ID] = m
	}
	whole := make(map[string]Parts, len(t.loadBalancers))
	for _, lb := range t.loadBalancers {
		parts := all[lb.ID]
		parts.LoadBalancer.ID = lb.ID
		if parts.Monitors = monitorsOf(parts.Pools, byID); parts.Monitors != nil && parts.are(lb) {
			whole[lb.ID] = parts
		}
	}
	return whole
}

// monitorsOf returns the health monitors of pools, nil where one of them is not there.
func monitorsOf(all []octavia.Pool, byID map[string]monitors.Monitor) map[string]monitors.Monitor {
	found := map[string]monitors.Monitor{}
	for _, p := range all {
		if p.MonitorID == "" {
			continue
		}
		m, ok := byID[p.MonitorID]
		if !ok {
			return nil
		}
		found[m.ID] = m
	}
	return found
}

// are reports whether these are all listeners and pools that the load balancer has.
func (p Parts) are(lb octavia.LoadBalancer) bool {
	var have, want []string
	for _, l := range p.Listeners {
		have = append(have, l.ID)
	}
	for _, pool := range p.Pools {
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

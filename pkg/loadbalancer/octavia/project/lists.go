package project

import (
	"context"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"golang.org/x/sync/errgroup"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Lists are the load balancers, listeners, health monitors and floating IPs of the project at one
// time, each read with one request. An Observer reads them from there. Pools and members are read
// from Octavia, because for a list of pools it loads all of their members.
type Lists struct {
	observe.Octavia
	// Began is the time before the first list: later changes may be missing.
	Began time.Time

	all           []octavia.LoadBalancer
	loadBalancers index[octavia.LoadBalancer]
	listeners     index[octavia.Listener]
	monitors      index[octavia.HealthMonitor]
	floatingIPs   index[floatingips.FloatingIP]
}

// index holds objects by the attributes of lookups.
type index[T any] map[selector][]*T

// selector is an attribute of a lookup, and its value.
type selector struct {
	by    attribute
	value string
}

type attribute int

const (
	byID attribute = iota
	byTag
	byDescription
	byAddress
	byPort
	byLoadBalancer
)

// Observer returns an observer that reads from the Lists, and the rest from Octavia. For depth see
// observe.Observer.Depth.
func (l *Lists) Observer(of *observe.Observer, depth model.Depth) *observe.Observer {
	return &observe.Observer{Octavia: l, Neutron: l, Version: of.Version, Depth: depth, Source: model.Lists}
}

// Tagged reports whether a load balancer has the tag of a Service.
func (l *Lists) Tagged(id ownership.Identity) bool {
	return len(l.loadBalancers[selector{byTag, id.ServiceTag()}]) > 0
}

// LoadBalancers implements observe.Octavia.
func (l *Lists) LoadBalancers(_ context.Context, filter octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	wanted := given(selector{byID, filter.ID}, selector{byPort, filter.VIPPortID}, selector{byAddress, filter.VIPAddress}, selector{byDescription, filter.Description})
	for _, tag := range filter.Tags {
		wanted = append(wanted, selector{byTag, tag})
	}
	found := l.loadBalancers.having(wanted...)
	if len(wanted) == 0 {
		found = slices.Clone(l.all)
	}
	if len(filter.AnyTag) == 0 {
		return found, nil
	}
	return slices.DeleteFunc(found, func(lb octavia.LoadBalancer) bool {
		return !slices.ContainsFunc(filter.AnyTag, func(tag string) bool { return slices.Contains(lb.Tags, tag) })
	}), nil
}

// LoadBalancer implements observe.Octavia. It reads one that the Lists do not have from Octavia.
func (l *Lists) LoadBalancer(ctx context.Context, id string) (*octavia.LoadBalancer, error) {
	if found := l.loadBalancers[selector{byID, id}]; len(found) > 0 {
		return found[0], nil
	}
	return l.Octavia.LoadBalancer(ctx, id)
}

// Listeners implements observe.Octavia.
func (l *Lists) Listeners(_ context.Context, loadBalancerID string) ([]octavia.Listener, error) {
	return l.listeners.having(selector{byLoadBalancer, loadBalancerID}), nil
}

// ListenersTagged implements observe.Octavia.
func (l *Lists) ListenersTagged(_ context.Context, tags ...string) ([]octavia.Listener, error) {
	return l.listeners.tagged(tags), nil
}

// Monitor implements observe.Octavia. It reads one that the Lists do not have from Octavia.
func (l *Lists) Monitor(ctx context.Context, id string) (*octavia.HealthMonitor, error) {
	if found := l.monitors[selector{byID, id}]; len(found) > 0 {
		return found[0], nil
	}
	return l.Octavia.Monitor(ctx, id)
}

// MonitorsTagged implements observe.Octavia.
func (l *Lists) MonitorsTagged(_ context.Context, tags ...string) ([]octavia.HealthMonitor, error) {
	return l.monitors.tagged(tags), nil
}

// FloatingIPs implements observe.Neutron.
func (l *Lists) FloatingIPs(_ context.Context, filter neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	wanted := given(selector{byPort, filter.PortID}, selector{byAddress, filter.Address}, selector{byDescription, filter.Description}, selector{byTag, filter.Tag})
	if len(filter.IDs)+len(filter.PortIDs) == 0 {
		return l.floatingIPs.having(wanted...), nil
	}
	var found []floatingips.FloatingIP
	for by, values := range map[attribute][]string{byID: filter.IDs, byPort: filter.PortIDs} {
		for _, value := range values {
			found = append(found, l.floatingIPs.having(append([]selector{{by, value}}, wanted...)...)...)
		}
	}
	return found, nil
}

// given returns the selectors that have a value.
func given(all ...selector) []selector {
	return slices.DeleteFunc(all, func(s selector) bool { return s.value == "" })
}

// having returns copies of the objects that match all selectors, none without selectors.
func (i index[T]) having(wanted ...selector) (found []T) {
	if len(wanted) == 0 {
		return nil
	}
	for _, one := range i[wanted[0]] {
		if !slices.ContainsFunc(wanted[1:], func(s selector) bool { return !slices.Contains(i[s], one) }) {
			found = append(found, *one)
		}
	}
	return found
}

// tagged returns copies of the objects with one of these tags, each once.
func (i index[T]) tagged(tags []string) (found []T) {
	seen := map[*T]bool{}
	for _, tag := range tags {
		for _, one := range i[selector{byTag, tag}] {
			if !seen[one] {
				seen[one], found = true, append(found, *one)
			}
		}
	}
	return found
}

// add indexes an object by its tags and the other attributes of lookups.
func (i index[T]) add(object *T, tags []string, by ...selector) {
	for _, tag := range tags {
		by = append(by, selector{byTag, tag})
	}
	for _, s := range given(by...) {
		i[s] = append(i[s], object)
	}
}

// list reads the load balancers first: their updated_at are not newer than the rest.
func (r *Reader) list(ctx context.Context, began time.Time) (*Lists, error) {
	lists := &Lists{Octavia: r.octavia, Began: began}
	all, err := r.octavia.LoadBalancers(ctx, octavia.LoadBalancerFilter{All: true})
	if err != nil {
		return nil, err
	}
	lists.addLoadBalancers(all)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		all, err := r.octavia.AllListeners(ctx)
		lists.addListeners(all)
		return err
	})
	group.Go(func() error {
		all, err := r.octavia.AllMonitors(ctx)
		lists.addMonitors(all)
		return err
	})
	group.Go(func() error {
		all, err := r.neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{All: true})
		lists.addFloatingIPs(all)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return lists, nil
}

func (l *Lists) addLoadBalancers(all []octavia.LoadBalancer) {
	l.all, l.loadBalancers = all, make(index[octavia.LoadBalancer], 5*len(all))
	for i := range all {
		lb := &all[i]
		l.loadBalancers.add(lb, lb.Tags, selector{byID, lb.ID}, selector{byDescription, lb.Description},
			selector{byPort, lb.VIPPortID}, selector{byAddress, lb.VIPAddress})
	}
}

func (l *Lists) addListeners(all []octavia.Listener) {
	l.listeners = make(index[octavia.Listener], 2*len(all))
	for i := range all {
		var on []selector
		for _, lb := range all[i].LoadBalancers {
			on = append(on, selector{byLoadBalancer, lb.ID})
		}
		l.listeners.add(&all[i], all[i].Tags, on...)
	}
}

func (l *Lists) addMonitors(all []octavia.HealthMonitor) {
	l.monitors = make(index[octavia.HealthMonitor], len(all))
	for i := range all {
		l.monitors.add(&all[i], all[i].Tags, selector{byID, all[i].ID})
	}
}

func (l *Lists) addFloatingIPs(all []floatingips.FloatingIP) {
	l.floatingIPs = make(index[floatingips.FloatingIP], 4*len(all))
	for i := range all {
		fip := &all[i]
		l.floatingIPs.add(fip, fip.Tags, selector{byID, fip.ID}, selector{byPort, fip.PortID}, selector{byAddress, fip.FloatingIP}, selector{byDescription, fip.Description})
	}
}

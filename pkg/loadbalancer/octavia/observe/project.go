package observe

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// ListingOctavia is an Octavia that also lists the whole project.
type ListingOctavia interface {
	Octavia
	AllListeners(ctx context.Context) ([]octavia.Listener, error)
	AllMonitors(ctx context.Context) ([]octavia.HealthMonitor, error)
}

// Project is the state of a project at one time: all load balancers, listeners, health monitors and
// floating IPs, each read with one list. An Observer reads them from it. Pools and members are read
// from Octavia, because for a list of pools it loads all of their members.
type Project struct {
	Octavia
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
	byName
	byDescription
	byAddress
	byPort
	byLoadBalancer
)

// Observer returns an observer that reads from the Project, and the rest from Octavia. For brief
// see Observer.Brief.
func (p *Project) Observer(of *Observer, brief bool) *Observer {
	return &Observer{Octavia: p, Neutron: p, Version: of.Version, Brief: brief, Listed: true}
}

// LoadBalancers implements Octavia.
func (p *Project) LoadBalancers(_ context.Context, filter octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	wanted := given(selector{byID, filter.ID}, selector{byPort, filter.VIPPortID}, selector{byAddress, filter.VIPAddress}, selector{byName, filter.Name}, selector{byDescription, filter.Description})
	for _, tag := range filter.Tags {
		wanted = append(wanted, selector{byTag, tag})
	}
	found := p.loadBalancers.having(wanted...)
	if len(wanted) == 0 {
		found = slices.Clone(p.all)
	}
	if len(filter.AnyTag) == 0 {
		return found, nil
	}
	return slices.DeleteFunc(found, func(lb octavia.LoadBalancer) bool {
		return !slices.ContainsFunc(filter.AnyTag, func(tag string) bool { return slices.Contains(lb.Tags, tag) })
	}), nil
}

// LoadBalancer implements Octavia. It reads one that the Project does not have from Octavia.
func (p *Project) LoadBalancer(ctx context.Context, id string) (*octavia.LoadBalancer, error) {
	if found := p.loadBalancers[selector{byID, id}]; len(found) > 0 {
		return found[0], nil
	}
	return p.Octavia.LoadBalancer(ctx, id)
}

// Listeners implements Octavia.
func (p *Project) Listeners(_ context.Context, loadBalancerID string) ([]octavia.Listener, error) {
	return p.listeners.having(selector{byLoadBalancer, loadBalancerID}), nil
}

// ListenersTagged implements Octavia.
func (p *Project) ListenersTagged(_ context.Context, tags ...string) ([]octavia.Listener, error) {
	return p.listeners.tagged(tags), nil
}

// Monitor implements Octavia. It reads one that the Project does not have from Octavia.
func (p *Project) Monitor(ctx context.Context, id string) (*octavia.HealthMonitor, error) {
	if found := p.monitors[selector{byID, id}]; len(found) > 0 {
		return found[0], nil
	}
	return p.Octavia.Monitor(ctx, id)
}

// MonitorsTagged implements Octavia.
func (p *Project) MonitorsTagged(_ context.Context, tags ...string) ([]octavia.HealthMonitor, error) {
	return p.monitors.tagged(tags), nil
}

// FloatingIPs implements Neutron.
func (p *Project) FloatingIPs(_ context.Context, filter neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	wanted := given(selector{byPort, filter.PortID}, selector{byAddress, filter.Address}, selector{byDescription, filter.Description}, selector{byTag, filter.Tag})
	if len(filter.IDs)+len(filter.PortIDs) == 0 {
		return p.floatingIPs.having(wanted...), nil
	}
	var found []floatingips.FloatingIP
	for by, values := range map[attribute][]string{byID: filter.IDs, byPort: filter.PortIDs} {
		for _, value := range values {
			found = append(found, p.floatingIPs.having(append([]selector{{by, value}}, wanted...)...)...)
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

// Projects reads Projects. Concurrent callers share one. Create it with NewProjects.
type Projects struct {
	octavia ListingOctavia
	neutron Neutron
	clock   clock.WithDelayedExecution
	flight  async.Flight[*Project]

	mu   sync.Mutex
	last *Project
}

// NewProjects returns Projects that are read from these services.
func NewProjects(octaviaAPI ListingOctavia, neutronAPI Neutron, clk clock.WithDelayedExecution) *Projects {
	return &Projects{octavia: octaviaAPI, neutron: neutronAPI, clock: clk}
}

// Get returns a Project not older than an age, and reads one if there is none. It is kept only for
// the age.
func (p *Projects) Get(ctx context.Context, age time.Duration) (*Project, error) {
	p.mu.Lock()
	last := p.last
	p.mu.Unlock()
	if last != nil && p.clock.Since(last.Began) <= age {
		return last, nil
	}
	return p.flight.Do(ctx, "", func(ctx context.Context) (*Project, error) { return p.read(ctx, age) })
}

// read reads the load balancers first: their updated_at are not newer than the rest.
func (p *Projects) read(ctx context.Context, age time.Duration) (*Project, error) {
	project := &Project{Octavia: p.octavia, Began: p.clock.Now()}
	all, err := p.octavia.LoadBalancers(ctx, octavia.LoadBalancerFilter{All: true})
	if err != nil {
		return nil, err
	}
	project.addLoadBalancers(all)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		all, err := p.octavia.AllListeners(ctx)
		project.addListeners(all)
		return err
	})
	group.Go(func() error {
		all, err := p.octavia.AllMonitors(ctx)
		project.addMonitors(all)
		return err
	})
	group.Go(func() error {
		all, err := p.neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{All: true})
		project.addFloatingIPs(all)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	p.keep(project, age)
	return project, nil
}

func (p *Project) addLoadBalancers(all []octavia.LoadBalancer) {
	p.all, p.loadBalancers = all, make(index[octavia.LoadBalancer], 6*len(all))
	for i := range all {
		lb := &all[i]
		p.loadBalancers.add(lb, lb.Tags, selector{byID, lb.ID}, selector{byName, lb.Name}, selector{byDescription, lb.Description},
			selector{byPort, lb.VIPPortID}, selector{byAddress, lb.VIPAddress})
	}
}

func (p *Project) addListeners(all []octavia.Listener) {
	p.listeners = make(index[octavia.Listener], 2*len(all))
	for i := range all {
		var on []selector
		for _, lb := range all[i].LoadBalancers {
			on = append(on, selector{byLoadBalancer, lb.ID})
		}
		p.listeners.add(&all[i], all[i].Tags, on...)
	}
}

func (p *Project) addMonitors(all []octavia.HealthMonitor) {
	p.monitors = make(index[octavia.HealthMonitor], len(all))
	for i := range all {
		p.monitors.add(&all[i], all[i].Tags, selector{byID, all[i].ID})
	}
}

func (p *Project) addFloatingIPs(all []floatingips.FloatingIP) {
	p.floatingIPs = make(index[floatingips.FloatingIP], 4*len(all))
	for i := range all {
		fip := &all[i]
		p.floatingIPs.add(fip, fip.Tags, selector{byID, fip.ID}, selector{byPort, fip.PortID}, selector{byAddress, fip.FloatingIP}, selector{byDescription, fip.Description})
	}
}

// keep keeps a Project for an age: after the takeover the process does not need the memory.
func (p *Projects) keep(project *Project, age time.Duration) {
	p.mu.Lock()
	p.last = project
	p.mu.Unlock()
	p.clock.AfterFunc(age, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.last == project {
			p.last = nil
		}
	})
}

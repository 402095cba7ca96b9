package plan

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// pair is a desired load balancer next to the observed one, with the results of their comparison that
// several steps depend on. It does not change.
type pair struct {
	desired, observed *model.LoadBalancer
	members           memberDiffer
	// staleMonitors is the driver's quirk.
	staleMonitors bool
	// rebuilt are the pools to replace, recreated those with monitors to recreate, by ID.
	rebuilt, recreated map[string]bool
}

// newPair compares two load balancers. The driver is that of the options.
func newPair(desired, observed *model.LoadBalancer, opts Options) *pair {
	p := &pair{desired: desired, observed: observed, members: memberDiffer{opts, observed.VIP.SubnetID}, staleMonitors: opts.Driver.Quirks.StaleMonitors}
	p.rebuilt = p.poolsToRebuild()
	if p.staleMonitors {
		p.recreated = p.monitorsToRecreate()
	}
	return p
}

// kept yields the listeners on ports that the load balancer has and keeps.
func (p *pair) kept(yield func(listenerChange) bool) {
	for i := range p.desired.Listeners {
		want := &p.desired.Listeners[i]
		if have := p.observed.Listener(want.Key()); have != nil && !yield(p.change(want, have)) {
			return
		}
	}
}

// orphanFor returns the pool that was created for a listener that does not exist: the cloud refused
// the listener, or the process ended before its creation. For a driver that loses monitors a new
// pool is created. It returns nil if there is none.
func (p *pair) orphanFor(want model.Listener) *model.Pool {
	if p.staleMonitors || p.observed.Listener(want.Key()) != nil {
		return nil
	}
	i := slices.IndexFunc(p.observed.Orphans, func(orphan model.Pool) bool {
		return orphan.Name == want.Pool.Name && orphan.Protocol == want.Pool.Protocol && orphan.Status.Sound()
	})
	if i < 0 {
		return nil
	}
	return &p.observed.Orphans[i]
}

// reuses reports whether an unused pool becomes the pool of a desired listener.
func (p *pair) reuses(orphan model.Pool) bool {
	return slices.ContainsFunc(p.desired.Listeners, func(want model.Listener) bool {
		reused := p.orphanFor(want)
		return reused != nil && reused.ID == orphan.ID
	})
}

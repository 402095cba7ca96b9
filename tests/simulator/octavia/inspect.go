package octavia

import (
	"fmt"
	"slices"
	"time"
)

// Settle finishes due work. Every request and every method here does that itself. Settle is for
// reads of Neutron, where VIP ports are deleted together with load balancers.
func (o *Octavia) Settle() { o.locked(func() {}) }

// Snapshot returns a copy of all load balancers with everything below them,
// in order of creation, after due work is finished.
func (o *Octavia) Snapshot() []LoadBalancer {
	var copies []LoadBalancer
	o.reading(func() {
		for _, lb := range o.balancers {
			copied := lb.clone()
			for i, pool := range lb.Pools {
				if o.queued(lb) {
					copied.Pools[i].Serving = pool.serving()
				}
				if persistence := copied.Pools[i].Persistence; persistence != nil {
					persistence.Ignored = o.ignores(lb, *persistence)
				}
			}
			copies = append(copies, *copied)
		}
	})
	return copies
}

// Tally is how much there is of all load balancers together.
type Tally struct {
	// LoadBalancers are all, Pending those in a PENDING state, Failed those in ERROR.
	LoadBalancers, Pending, Failed int
	Listeners, Pools, Members      int
	// PoolsWith is how many pools have a member at each of the addresses that were
	// asked for.
	PoolsWith map[string]int
	// Allowing is how many listeners allow the CIDR that was asked for.
	Allowing int
	// Quiet is for how long no work of a provider has ended, in the cloud's time.
	Quiet time.Duration
}

// Tally counts without a copy, after due work is finished. It is cheap enough for frequent calls
// while a million members change.
func (o *Octavia) Tally(cidr string, addresses ...string) Tally {
	tally := Tally{PoolsWith: map[string]int{}}
	o.reading(func() {
		tally.Quiet = o.clock.Since(o.finished)
		for _, lb := range o.balancers {
			tally.add(lb, cidr, addresses)
		}
	})
	return tally
}

func (t *Tally) add(lb *LoadBalancer, cidr string, addresses []string) {
	t.LoadBalancers++
	if pending(lb.ProvisioningStatus) {
		t.Pending++
	}
	if lb.ProvisioningStatus == Error {
		t.Failed++
	}
	t.Listeners += len(lb.Listeners)
	for _, listener := range lb.Listeners {
		if slices.Contains(listener.AllowedCIDRs, cidr) {
			t.Allowing++
		}
	}
	for _, pool := range lb.Pools {
		t.Pools++
		t.Members += len(pool.Members)
		for _, address := range addresses {
			if slices.ContainsFunc(pool.Members, func(m *Member) bool { return m.Address == address }) {
				t.PoolsWith[address]++
			}
		}
	}
}

// LoadBalancerOf returns the load balancer that an object belongs to, or ""
// when it is unknown. kind is a collection of the API: loadbalancers,
// listeners, pools, healthmonitors or l7policies.
func (o *Octavia) LoadBalancerOf(kind, id string) string {
	found := ""
	o.reading(func() {
		if entry := o.index[id]; entry.lb != nil && kindOf(entry.thing) == kind {
			found = entry.lb.ID
		}
	})
	return found
}

func kindOf(thing object) string {
	switch thing.(type) {
	case *LoadBalancer:
		return "loadbalancers"
	case *Listener:
		return "listeners"
	case *Pool:
		return "pools"
	case *Monitor:
		return "healthmonitors"
	case *L7Policy:
		return "l7policies"
	}
	return ""
}

// SetProvisioningStatus puts a load balancer into a status, as an operator
// does in the database, and drops its unfinished work: a load balancer that is
// set PENDING_UPDATE stays so for ever. Children keep their statuses.
func (o *Octavia) SetProvisioningStatus(loadBalancerID, status string) error {
	return o.change(loadBalancerID, func(lb *LoadBalancer) {
		o.forget(lb)
		if pending(status) && !pending(lb.ProvisioningStatus) {
			o.countCycle(lb)
		}
		o.set(lb, status)
	})
}

// SetChildStatus puts a listener, pool, member or health monitor into a
// provisioning status, and leaves its load balancer as it is.
func (o *Octavia) SetChildStatus(id, status string) error {
	return o.changeChild(id, func(_ *LoadBalancer, child object) { o.set(child, status) })
}

// SetMemberOperatingStatus is what the health checks of a data path found. It
// decides the operating statuses of pool and load balancer too. Members
// without a health monitor keep NO_MONITOR.
func (o *Octavia) SetMemberOperatingStatus(memberID, status string) error {
	return o.changeChild(memberID, func(lb *LoadBalancer, child object) {
		if member, is := child.(*Member); is {
			member.reported = status
			o.remind(lb, member)
			o.operate(lb)
		}
	})
}

// Remove makes a load balancer vanish at once with its children and VIP port,
// as when another client deleted it.
func (o *Octavia) Remove(loadBalancerID string) error {
	return o.change(loadBalancerID, o.remove)
}

func (o *Octavia) change(id string, apply func(*LoadBalancer)) error {
	err := fmt.Errorf("change load balancer %s: it does not exist", id)
	o.locked(func() {
		if lb, failure := o.balancer(id); failure == nil {
			apply(lb)
			err = nil
		}
	})
	return err
}

func (o *Octavia) changeChild(id string, apply func(*LoadBalancer, object)) error {
	err := fmt.Errorf("change object %s: no load balancer has it", id)
	o.locked(func() {
		for _, lb := range o.balancers {
			for _, child := range children(lb) {
				if child.meta().ID == id {
					apply(lb, child)
					err = nil
				}
			}
		}
	})
	return err
}

// RemovedTwice returns the IDs of members that were to be removed, by whatever request,
// while they were being removed already. The driver of ovn logs an error for each.
func (o *Octavia) RemovedTwice() (ids []string) {
	o.reading(func() { ids = slices.Clone(o.removedTwice) })
	return ids
}

// Working returns how much work of providers has not ended.
func (o *Octavia) Working() (jobs int) {
	o.reading(func() { jobs = len(o.jobs) })
	return jobs
}

// Lose has a driver lose a member: Octavia shows it no more, and it gets no traffic. The load balancer
// stays as it is.
func (o *Octavia) Lose(memberID string) error {
	return o.changeChild(memberID, func(lb *LoadBalancer, child object) {
		for _, pool := range lb.Pools {
			if member, is := child.(*Member); is {
				pool.takeOut(member)
				pool.drop(member)
			}
		}
	})
}

// Unsettled lists the load balancers that are in a PENDING state themselves,
// or have a child that is.
func (o *Octavia) Unsettled() []string {
	var unsettled []string
	o.reading(func() {
		for _, lb := range o.balancers {
			if slices.ContainsFunc(append(children(lb), lb), func(thing object) bool {
				return pending(thing.meta().ProvisioningStatus)
			}) {
				unsettled = append(unsettled, lb.ID)
			}
		}
	})
	return unsettled
}

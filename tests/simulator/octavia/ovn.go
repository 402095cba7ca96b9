package octavia

import (
	"cmp"
	"maps"
	"slices"
)

// The provider ovn of Zed (ovn-octavia-provider 3.0) has one load balancer in
// OVN for each protocol, and reports what it thinks a request was about. What it
// forgets to report stays PENDING:
//
//	request                        reported beside the load balancer
//	full create                    all but the monitors, which OVN never hears of
//	POST monitor                   its pool and members, not the listeners
//	PUT monitor                    its pool, not the listeners
//	DELETE monitor                 the first pool of the OVN load balancer, not the listeners;
//	                               the other monitors of the protocol see nothing more until
//	                               a member or monitor is added
//	PUT, DELETE of a monitor       nothing: the load balancer stays PENDING_UPDATE
//	  that OVN never heard of
//	POST listener beside a         nothing: the driver dies
//	  monitor of its protocol
//	PUT pool                       the pool; the listeners too with admin_state_up
//	PUT listener                   the listener; with default_pool_id that pool too
//	members                        their pool and its listeners
//	what a monitor finds           all pools and listeners of its protocol

// check is a health check of an OVN load balancer. It outlives a pool that is
// deleted together with its monitor.
type check struct{ protocol, monitorID string }

func (o *Octavia) oldOVN(lb *LoadBalancer) bool {
	return lb.Provider == ProviderOVN && o.options.Quirks.OldOVN
}

// ignores reports whether the driver of ovn leaves the session persistence of a pool without effect:
// that of Zed supports none, and later ones need a timeout.
func (o *Octavia) ignores(lb *LoadBalancer, persistence SessionPersistence) bool {
	return o.oldOVN(lb) || lb.Provider == ProviderOVN && persistence.Timeout == nil
}

// heardOf reports whether OVN has a monitor.
func (lb *LoadBalancer) heardOf(monitor *Monitor) bool {
	return slices.ContainsFunc(lb.checks, func(c check) bool { return c.monitorID == monitor.ID })
}

// checked reports whether the OVN load balancer of a protocol has a health check.
func (lb *LoadBalancer) checked(protocol string) bool {
	return slices.ContainsFunc(lb.checks, func(c check) bool { return c.protocol == protocol })
}

func (lb *LoadBalancer) addCheck(pool *Pool, monitor *Monitor) {
	lb.checks = append(slices.Clone(lb.checks), check{pool.Protocol, monitor.ID})
	lb.see(pool.Protocol, true)
}

// see lets the health checks of a protocol see, or not: they share what the driver
// writes down of the members' ports, and clears with any of the monitors.
func (lb *LoadBalancer) see(protocol string, sight bool) {
	blind := maps.Clone(lb.blind)
	if blind == nil {
		blind = map[string]bool{}
	}
	blind[protocol] = !sight
	lb.blind = blind
}

// added is a member that is new to a pool.
func (lb *LoadBalancer) added(pool *Pool, member *Member) {
	if lb.checked(pool.Protocol) {
		member.driven = Online
		lb.see(pool.Protocol, true)
	}
}

func (lb *LoadBalancer) dropCheck(monitor *Monitor) {
	lb.checks = slices.DeleteFunc(slices.Clone(lb.checks), func(c check) bool { return c.monitorID == monitor.ID })
}

// firstPool is the one that the driver takes for the pool of any monitor: OVN
// keeps them by ID.
func (lb *LoadBalancer) firstPool(protocol string) *Pool {
	var first *Pool
	for _, pool := range lb.Pools {
		if pool.Protocol == protocol && (first == nil || pool.ID < first.ID) {
			first = pool
		}
	}
	return first
}

// updateForgetting is an update of which the driver reports the end for only some of the locked
// objects; the rest stays PENDING_UPDATE under an ACTIVE load balancer.
func (o *Octavia) updateForgetting(lb *LoadBalancer, locked, reported, created []object, finish func()) {
	forgotten := slices.DeleteFunc(slices.Clone(locked), func(thing object) bool { return slices.Contains(reported, thing) })
	o.update(lb, reported, created, finish)
	for _, thing := range forgotten {
		o.set(thing, PendingUpdate)
	}
}

// hang is an update that never ends. before is the work that the driver does
// nevertheless.
func (o *Octavia) hang(lb *LoadBalancer, locked []object, before func()) {
	o.lock(lb, PendingUpdate)
	for _, thing := range locked {
		o.set(thing, PendingUpdate)
	}
	o.after(lb, o.delays(lb.Provider).Update, before)
}

// ovnMonitorMade is POST healthmonitors.
func (o *Octavia) ovnMonitorMade(lb *LoadBalancer, pool *Pool) {
	lb.addCheck(pool, pool.Monitor)
	for _, member := range pool.Members {
		member.driven = Online
	}
	o.updateForgetting(lb, poolAndListeners(lb, pool), []object{pool}, []object{pool.Monitor}, nil)
}

// ovnMonitorChanged is PUT healthmonitors/{id}.
func (o *Octavia) ovnMonitorChanged(lb *LoadBalancer, pool *Pool) {
	monitor := pool.Monitor
	locked := append(poolAndListeners(lb, pool), monitor)
	if !lb.heardOf(monitor) {
		o.hang(lb, locked, func() { o.set(monitor, Error) })
		return
	}
	o.updateForgetting(lb, locked, []object{pool, monitor}, nil, nil)
}

// ovnMonitorGone is DELETE healthmonitors/{id}.
func (o *Octavia) ovnMonitorGone(lb *LoadBalancer, pool *Pool) {
	monitor := pool.Monitor
	gone := func() {
		if lb.heardOf(monitor) {
			lb.see(pool.Protocol, false)
		}
		lb.dropCheck(monitor)
		o.dropMonitor(pool)
	}
	locked := poolAndListeners(lb, pool)
	if !lb.heardOf(monitor) {
		o.hang(lb, locked, gone)
		return
	}
	var reported []object
	if lb.firstPool(pool.Protocol) == pool {
		reported = []object{pool}
	}
	o.updateForgetting(lb, locked, reported, nil, gone)
}

// drive sets the operating status that the driver reports for an enabled member: the last one if
// there are health checks, else that there is no monitor.
func (lb *LoadBalancer) drive(pool *Pool, member *Member) {
	if member.driven == "" || !lb.checked(pool.Protocol) {
		member.driven = NoMonitor
	}
}

// ovnMemberStatus is the operating status that the driver reported last; until
// then that of the member's creation stands.
func (lb *LoadBalancer) ovnMemberStatus(pool *Pool, member *Member) string {
	switch {
	case !member.AdminStateUp:
		return Offline
	case member.reported != "" && pool.Monitor != nil && lb.heardOf(pool.Monitor) && !lb.blind[pool.Protocol]:
		return member.reported
	default:
		return cmp.Or(member.driven, member.OperatingStatus)
	}
}

// remind is what comes with a change of a member's health that a monitor finds: the
// driver reports all of the protocol once more, so that nothing at rest is left behind.
func (o *Octavia) remind(lb *LoadBalancer, member *Member) {
	if !o.oldOVN(lb) || lb.ProvisioningStatus != Active {
		return
	}
	protocol := ""
	for _, pool := range lb.Pools {
		if slices.Contains(pool.Members, member) && pool.Monitor != nil && lb.heardOf(pool.Monitor) {
			protocol = pool.Protocol
		}
	}
	if protocol == "" || lb.blind[protocol] {
		return
	}
	for _, pool := range lb.Pools {
		if pool.Protocol == protocol && pool.ProvisioningStatus == PendingUpdate {
			o.set(pool, Active)
		}
	}
	for _, listener := range lb.Listeners {
		if listener.Protocol == protocol && listener.ProvisioningStatus == PendingUpdate {
			o.set(listener, Active)
		}
	}
}

// ChecksFloatingIPs reports whether the monitors of a provider apply to traffic of floating IPs
// too. Those of ovn of Zed apply only to that of the VIP.
func (o *Octavia) ChecksFloatingIPs(provider string) bool {
	return provider != ProviderOVN || !o.options.Quirks.OldOVN
}

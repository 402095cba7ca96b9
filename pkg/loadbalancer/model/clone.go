package model

import "slices"

// Clone returns a copy in which every load balancer, listener, pool, monitor and floating IP
// can be changed without a change of the original.
func (o Observed) Clone() Observed {
	o.LoadBalancer, o.Outgoing = o.LoadBalancer.Clone(), o.Outgoing.Clone()
	o.Duplicates = slices.Clone(o.Duplicates)
	for i := range o.Duplicates {
		o.Duplicates[i] = *o.Duplicates[i].Clone()
	}
	o.UnattachedFloatingIPs = slices.Clone(o.UnattachedFloatingIPs)
	return o
}

// Clone is Observed.Clone for one load balancer; nil is a copy of nil. Members, tags and subnets are shared with the
// original, as they never change.
func (lb *LoadBalancer) Clone() *LoadBalancer {
	if lb == nil {
		return nil
	}
	clone := *lb
	if lb.FloatingIP != nil {
		fip := *lb.FloatingIP
		clone.FloatingIP = &fip
	}
	clone.Listeners, clone.Orphans = slices.Clone(lb.Listeners), slices.Clone(lb.Orphans)
	for i := range clone.Listeners {
		l := &clone.Listeners[i]
		l.AllowedCIDRs, l.InsertHeaders = slices.Clone(l.AllowedCIDRs), slices.Clone(l.InsertHeaders) // Sort changes them
		l.Pool = l.Pool.clone()
	}
	for i := range clone.Orphans {
		clone.Orphans[i] = clone.Orphans[i].clone()
	}
	return &clone
}

// WithoutMembers returns a copy in which the pools of listeners have no members.
func (lb *LoadBalancer) WithoutMembers() *LoadBalancer {
	clone := lb.Clone()
	for i := range clone.Listeners {
		clone.Listeners[i].Pool.Members = Members{}
	}
	return clone
}

func (p Pool) clone() Pool {
	if p.Monitor != nil {
		monitor := *p.Monitor
		p.Monitor = &monitor
	}
	return p
}

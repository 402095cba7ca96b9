package model

import "slices"

// Clone returns a copy in which every load balancer, listener, pool, member, monitor and
// floating IP can be changed without a change of the original.
func (o Observed) Clone() Observed {
	o.LoadBalancer, o.Outgoing = o.LoadBalancer.Clone(), o.Outgoing.Clone()
	o.Duplicates = slices.Clone(o.Duplicates)
	for i := range o.Duplicates {
		o.Duplicates[i] = *o.Duplicates[i].Clone()
	}
	o.UnattachedFloatingIPs = slices.Clone(o.UnattachedFloatingIPs)
	return o
}

// Clone is Observed.Clone for one load balancer; nil is a copy of nil.
func (lb *LoadBalancer) Clone() *LoadBalancer {
	if lb == nil {
		return nil
	}
	clone := lb.cloneOutline()
	for i := range clone.Listeners {
		clone.Listeners[i].Pool.Members = slices.Clone(lb.Listeners[i].Pool.Members)
	}
	return clone
}

// cloneOutline is Clone without the members of listeners.
func (lb *LoadBalancer) cloneOutline() *LoadBalancer {
	clone := *lb
	if lb.FloatingIP != nil {
		fip := *lb.FloatingIP
		clone.FloatingIP = &fip
	}
	clone.Listeners, clone.Orphans = slices.Clone(lb.Listeners), slices.Clone(lb.Orphans)
	for i := range clone.Listeners {
		l := &clone.Listeners[i]
		l.AllowedCIDRs, l.InsertHeaders = slices.Clone(l.AllowedCIDRs), slices.Clone(l.InsertHeaders) // Sort changes them
		l.Pool.Members = nil
		l.Pool = l.Pool.clone()
	}
	for i := range clone.Orphans {
		clone.Orphans[i] = clone.Orphans[i].clone()
	}
	return &clone
}

func (p Pool) clone() Pool {
	p.Members = slices.Clone(p.Members)
	if p.Monitor != nil {
		monitor := *p.Monitor
		p.Monitor = &monitor
	}
	return p
}

package plan

import (
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// active is the status of an object after a step has created or changed it.
func active() model.Status { return model.Status{Provisioning: "ACTIVE"} }

// Advance changes a model as a step changes the cloud. Attributes that the cloud assigns (IDs and
// addresses) are empty.
func Advance(observed *model.Observed, step Step) {
	lb := observed.LoadBalancer
	switch s := step.(type) {
	case CreateLoadBalancer:
		if s.Replaces != "" {
			observed.Outgoing = lb
		}
		observed.LoadBalancer = created(s.LoadBalancer)
	case DeleteLoadBalancer:
		removeLoadBalancer(observed, s.ID)
	case FailOver:
		lb.Status = active()
	case UpdateLoadBalancer:
		lb.VIP.VIPSettings = s.To
		lb.AdminDown = lb.AdminDown && !s.SwitchOn
	case CreateListener:
		listener := sent(s.Listener)
		listener.Pool = takeOrphan(lb, s.Pool(), listener.Pool)
		lb.Listeners = append(lb.Listeners, listener)
		lb.Sort()
	case UpdateListener:
		updateListener(lb, s)
	case DeleteListener:
		deleteListener(lb, s.ID)
	case CreatePool:
		pool := s.Pool
		pool.Members, pool.Monitor, pool.Status = model.Members{}, nil, active()
		lb.Orphans = append(lb.Orphans, pool)
	case DeletePool:
		lb.Orphans = slices.DeleteFunc(lb.Orphans, func(p model.Pool) bool { return p.ID == s.ID })
	case CreateFloatingIP, AssociateFloatingIP, MoveFloatingIP, DisassociateFloatingIP, ClaimFloatingIP, DeleteFloatingIP:
		advanceFloatingIP(observed, step)
	case CreateVIP, LeadVIP, DeleteVIP:
		advanceRouter(observed, step)
	case SetForwardings:
		advanceForwardings(observed, s)
	default:
		advancePool(lb, step)
	}
}

// created returns a desired load balancer as it exists after its creation.
func created(desired *model.LoadBalancer) *model.LoadBalancer {
	lb := *desired
	lb.FloatingIP, lb.Status = nil, active()
	lb.VIP.VIPSettings = lb.VIP.Settled()
	lb.Listeners = slices.Clone(desired.Listeners)
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		*l = sent(*l)
		l.Pool.Status = active()
		l.Pool.Members = l.Pool.Members.Map(func(_ int, m model.Member) model.Member { return sound(m) })
		if l.Pool.Monitor != nil {
			monitor := *l.Pool.Monitor
			monitor.Status = active()
			l.Pool.Monitor = &monitor
		}
	}
	return &lb
}

// sound returns a member as it is once it was sent.
func sound(m model.Member) model.Member {
	m.Status, m.Backup, m.Unasked = active(), false, ""
	return m
}

func removeLoadBalancer(observed *model.Observed, id string) {
	var gone *model.LoadBalancer
	if at := slices.IndexFunc(observed.Duplicates, func(lb model.LoadBalancer) bool { return lb.ID == id }); at >= 0 {
		gone = &model.LoadBalancer{FloatingIP: observed.Duplicates[at].FloatingIP}
		observed.Duplicates = slices.Delete(slices.Clone(observed.Duplicates), at, at+1)
	}
	switch lb, old := observed.LoadBalancer, observed.Outgoing; {
	case old != nil && old.ID == id:
		gone, observed.Outgoing = old, nil
	case lb != nil && lb.ID == id:
		gone, observed.LoadBalancer, observed.Outgoing = lb, old, nil
	}
	if gone != nil && gone.FloatingIP != nil { // the port of the VIP is deleted, the floating IP is not
		observed.UnattachedFloatingIPs = append(slices.Clone(observed.UnattachedFloatingIPs), released(*gone.FloatingIP))
	}
}

// sent returns a listener as it exists after the cloud has accepted it.
func sent(l model.Listener) model.Listener {
	l.AllowedCIDRs, l.InsertHeaders = slices.Clone(l.AllowedCIDRs), slices.Clone(l.InsertHeaders)
	l.Limits, l.Status = l.Limits.Settled(), active()
	return l
}

// takeOrphan returns the pool that a listener now uses.
func takeOrphan(lb *model.LoadBalancer, ref PoolRef, otherwise model.Pool) model.Pool {
	i := slices.IndexFunc(lb.Orphans, ref.is)
	if i < 0 {
		return otherwise
	}
	pool := lb.Orphans[i]
	lb.Orphans = slices.Delete(lb.Orphans, i, i+1)
	return pool
}

func updateListener(lb *model.LoadBalancer, s UpdateListener) {
	listener := lb.Listener(s.Key)
	id, name, pool := listener.ID, listener.Name, listener.Pool
	*listener = sent(s.To)
	listener.ID, listener.Name, listener.Pool = id, name, pool
	if s.SwitchesPool() {
		listener.Pool = takeOrphan(lb, s.NewPool(), s.To.Pool)
		if pool.ID != "" {
			lb.Orphans = append(lb.Orphans, pool)
		}
	}
}

func deleteListener(lb *model.LoadBalancer, id string) {
	i := slices.IndexFunc(lb.Listeners, func(l model.Listener) bool { return l.ID == id })
	if i < 0 {
		return
	}
	if pool := lb.Listeners[i].Pool; pool.ID != "" {
		lb.Orphans = append(lb.Orphans, pool)
	}
	lb.Listeners = slices.Delete(lb.Listeners, i, i+1)
}

// is reports whether a pool is the referenced one. A new pool is identified by name and protocol:
// the one that it replaces has another protocol.
func (r PoolRef) is(pool model.Pool) bool {
	if r.ID != "" {
		return pool.ID == r.ID
	}
	return pool.Name == r.Name && pool.Protocol == r.Protocol
}

// Find returns the referenced pool of a load balancer, or nil.
func (r PoolRef) Find(lb *model.LoadBalancer) *model.Pool {
	for i := range lb.Orphans {
		if pool := &lb.Orphans[i]; r.is(*pool) {
			return pool
		}
	}
	for i := range lb.Listeners {
		if l := &lb.Listeners[i]; r.is(l.Pool) && (r.ID != "" || l.Key() == r.Key) {
			return &l.Pool
		}
	}
	return nil
}

// advancePool is Advance for the steps within a pool.
func advancePool(lb *model.LoadBalancer, step Step) {
	switch s := step.(type) {
	case UpdatePool:
		pool := s.Pool.Find(lb)
		pool.Algorithm, pool.Persistence = s.To.Algorithm, s.To.Persistence
		pool.AdminDown = s.To.AdminDown
		pool.Status = active()
	case SetMembers:
		pool := s.Pool.Find(lb)
		pool.Members = s.after(pool.Members)
	case AddMember:
		pool := s.Pool.Find(lb)
		pool.Members = pool.Members.With(model.MembersOf(sound(s.Member)))
	case UpdateMember:
		pool := s.Pool.Find(lb)
		if i, ok := pool.Members.Find(s.To.Key()); ok {
			changed := sound(s.To)
			changed.ID = pool.Members.At(i).ID
			pool.Members = pool.Members.With(model.MembersOf(changed))
		}
	case RemoveMember:
		pool := s.Pool.Find(lb)
		pool.Members = pool.Members.Without(model.MembersOf(s.Member))
	case CreateMonitor:
		monitor := s.Monitor
		monitor.Status = active()
		s.Pool.Find(lb).Monitor = &monitor
	case UpdateMonitor:
		monitor := s.To
		monitor.ID, monitor.Name, monitor.Status = s.From.ID, s.From.Name, active()
		s.Pool.Find(lb).Monitor = &monitor
	case DeleteMonitor:
		s.Pool.Find(lb).Monitor = nil
	}
}

// after returns the members that a pool has after the batch, with the IDs of those that existed before.
func (s SetMembers) after(before model.Members) model.Members {
	after := s.Members
	if s.Additive {
		after = before.With(s.Members)
	}
	at := placesIn(before, after)
	return after.Map(func(i int, m model.Member) model.Member {
		m = sound(m)
		if m.ID = ""; at[i] >= 0 {
			m.ID = before.At(at[i]).ID
		}
		return m
	})
}

package desire

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
)

// Followers are the nodes that a kept load balancer is brought to.
type Followers struct {
	// ID is the Service, and Driver what its load balancer can do.
	ID       ownership.Identity
	Driver   driver.Driver
	Backends []members.Backend
	// Subnets are those of backends by address, as far as they are known. Members that are
	// there stay where they are, and new ones may have to go there too: plan knows.
	Subnets map[string]string
	// Subnet is that of new members of a pool that has none, "" where Subnets have it.
	Subnet string
	// Unchosen is set where the node selector cannot be read, or matches no node: members
	// that are there and still backends stay, others come only when none of them is left.
	Unchosen bool
	// Capped is set where no pool may have more members than it has, NoMonitors where none
	// may get a monitor that has none.
	Capped, NoMonitors bool
	// Excluded is set where the operator has taken all nodes out of load balancers.
	Excluded bool
}

// Follow returns the load balancer that is like a kept one but for what goes by the nodes: its
// members, and what kube-proxy serves there now, by the settings of the refused Service: the
// NodePort of each port, and where its traffic policy has monitors ask (settings.KeptMonitor).
// Ports that the Service does not have any more stay as they are, and so do pools without a
// listener. It asks for no floating IP. No pool is emptied but where all nodes are excluded.
func Follow(s *settings.Settings, kept *model.LoadBalancer, nodes Followers) *model.LoadBalancer {
	lb := asDesired(kept)
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		at := slices.IndexFunc(s.Traffic.Ports, func(p v1.ServicePort) bool {
			return model.ListenerKey{Transport: model.Protocol(p.Protocol), Port: int(p.Port)} == l.Key()
		})
		if at >= 0 && s.Traffic.Ports[at].NodePort != 0 {
			asked := nodes.monitor(&l.Pool, s, nodes.ID.MonitorName(at))
			l.Pool.Members = nodes.members(l.Pool.Members, int(s.Traffic.Ports[at].NodePort), asked)
		}
	}
	return lb
}

// monitor has a pool probed as the traffic policy requires, by a monitor of this name where it had
// none. It returns the port at which that asks members if it is not their own.
func (f Followers) monitor(pool *model.Pool, s *settings.Settings, name string) int {
	before := settings.NoMember
	if pool.Members.Len() > 0 {
		before = pool.Members.Kind(0).MonitorPort
	}
	monitor, now := s.KeptMonitor(pool.Monitor, before, pool.Protocol, f.Driver)
	switch {
	case pool.Monitor == nil && (monitor == nil || f.NoMonitors):
		return max(before, 0)
	case pool.Monitor == nil:
		monitor.Name, monitor.Tags = name, pool.Tags
	case monitor != nil:
		monitor.Name, monitor.Tags = pool.Monitor.Name, pool.Monitor.Tags
	}
	pool.Monitor = monitor
	pool.Members = pool.Members.Map(func(_ int, m model.Member) model.Member {
		if m.MonitorPort == before {
			m.MonitorPort = now
		}
		return m
	})
	return now
}

// members returns the members of a pool: those that are there first. New ones are asked at a port
// by their monitor.
func (f Followers) members(there model.Members, port, monitorPort int) model.Members {
	var stay, come []model.Member
	for _, b := range f.Backends {
		if at, is := there.FindAddress(b.Address); is {
			member := there.At(at)
			member.Port, member.SubnetID = port, cmp.Or(f.Subnets[b.Address], member.SubnetID)
			stay = append(stay, member)
			continue
		}
		member := model.Member{Name: b.Node.Name, Address: b.Address, Port: port, MonitorPort: monitorPort, SubnetID: cmp.Or(f.Subnets[b.Address], f.Subnet)}
		if there.Len() > 0 {
			member.SubnetID = cmp.Or(f.Subnets[b.Address], there.Kind(0).SubnetID)
		}
		come = append(come, member)
	}
	switch {
	case f.Excluded:
		return model.Members{}
	case len(stay)+len(come) == 0:
		return there // never drained by mistake
	case f.Unchosen && len(stay) > 0:
		return model.MembersOf(stay...)
	case f.Capped && there.Len() > 0 && len(stay)+len(come) > there.Len():
		come = come[:there.Len()-len(stay)]
	}
	return model.MembersOf(append(stay, come...)...)
}

// asDesired returns a load balancer that is there as one that is desired: without what the
// cloud decides, what is not the Service's, and the floating IP.
func asDesired(there *model.LoadBalancer) *model.LoadBalancer {
	lb := *there
	lb.ID, lb.Status, lb.UpdatedAt = "", model.Status{}, time.Time{}
	lb.Foreign, lb.FloatingIP = nil, nil
	lb.Listeners = slices.Clone(there.Listeners)
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		l.ID, l.Status, l.Pool.ID, l.Pool.Status = "", model.Status{}, "", model.Status{}
		if l.Pool.Monitor != nil {
			monitor := *l.Pool.Monitor
			monitor.ID, monitor.Status = "", model.Status{}
			l.Pool.Monitor = &monitor
		}
		l.Pool.Members = l.Pool.Members.Map(func(_ int, m model.Member) model.Member {
			m.ID, m.Status, m.SubnetUnknown = "", model.Status{}, false
			m.Backup, m.Unasked = false, "" // which no Service asks for
			return m
		})
	}
	return &lb
}

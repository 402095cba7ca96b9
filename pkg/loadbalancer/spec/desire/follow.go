package desire

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// Followers are the nodes for a kept load balancer.
type Followers struct {
	// ID is the Service's, and Driver that of its load balancer.
	ID     ownership.Identity
	Driver driver.Driver
	// Ports are the members of each port of the Service.
	Ports members.Ports
	// Subnets are the known ones of members by address. Existing members stay in their subnets,
	// and new ones may have to join them: package plan decides.
	Subnets map[string]string
	// Subnet is that of new members of a pool without one, "" if Subnets have it.
	Subnet string
	// Unchosen is set if the node selector is invalid or matches no node: existing members that are
	// still wanted stay, others are added only when none of them is left.
	Unchosen bool
	// Capped is set if pools may not get more members than they have, NoMonitors if pools without a
	// monitor may not get one.
	Capped, NoMonitors bool
	// Places is set if a member without a subnet gets Subnet together with another port.
	Places bool
	// Weighs is set if members have weights of their own, Drains also if they had: see plan.Options.
	Weighs, Drains bool
	// Excluded is set if the operator has excluded all nodes from load balancers.
	Excluded bool
}

// Follow returns a kept load balancer with changes only for the nodes: its members and, by the
// settings of the refused Service, the NodePort of each port and the monitors that its traffic
// policy requires (settings.ForDriver.KeptMonitor). Ports that the Service no longer has and pools without a
// listener stay. It requests no floating IP. It empties a pool only if all nodes are excluded.
func Follow(s *settings.Settings, kept *model.LoadBalancer, nodes Followers) *model.LoadBalancer {
	lb := asDesired(kept)
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		at := slices.IndexFunc(s.Traffic.Ports, func(p v1.ServicePort) bool {
			return model.ListenerKey{Transport: model.Protocol(p.Protocol), Port: int(p.Port)} == l.Key()
		})
		if at >= 0 && (s.Traffic.Ports[at].NodePort != 0 || nodes.Ports.At(at).Pods.Len() > 0) {
			asked := nodes.monitor(&l.Pool, s.OfPort(s.Traffic.Ports[at]), nodes.ID.MonitorName(at))
			on := nodes.Ports.At(at)
			l.Pool.Members = nodes.members(l.Pool.Members, on, int(s.Traffic.Ports[at].NodePort), asked)
			if on.Held && nodes.Weighs {
				l.Pool.Members = weighed(l.Pool.Members, kept.Listeners[i].Pool.Members)
			}
		}
	}
	return lb
}

// monitor sets the monitor that the traffic policy requires, with this name if it is new. It
// returns the port of its checks if it is not the members' own.
func (f Followers) monitor(pool *model.Pool, s *settings.Settings, name string) int {
	before := settings.NoMember
	if pool.Members.Len() > 0 {
		before = pool.Members.Kind(0).MonitorPort
	}
	monitor, now := s.For(f.Driver).KeptMonitor(pool.Monitor, before, pool.Protocol)
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

// members returns the members of a pool, existing ones first. New ones get the port of the
// monitor's checks.
func (f Followers) members(there model.Members, on members.Port, port, monitorPort int) model.Members {
	var stay, come []model.Member
	pods := on.Pods.Len() > 0
	for _, b := range on.Members(model.Member{Port: port, MonitorPort: monitorPort}).All() {
		at, is := there.FindAddress(b.Address)
		if pods { // several may have one address
			at, is = there.Find(b.Key())
		}
		if is {
			member := there.At(at)
			member.Port, member.SubnetID = b.Port, f.subnet(b.Address, member, b.Port)
			member.Weight, member.Drained = b.Weight, b.Drained || member.Drained && !f.Drains
			stay = append(stay, member)
			continue
		}
		if b.Leaving {
			continue
		}
		member := b
		member.SubnetID = cmp.Or(f.Subnets[b.Address], f.Subnet)
		if there.Len() > 0 && !pods {
			member.SubnetID = f.subnet(b.Address, there.Kind(0), b.Port)
		}
		come = append(come, member)
	}
	if on.Held {
		come = nil
	}
	switch {
	case f.Excluded:
		return model.Members{}
	case len(stay)+len(come) == 0:
		return there // never empty it by mistake
	case f.Unchosen && len(stay) > 0:
		return model.MembersOf(stay...)
	case f.Capped && there.Len() > 0 && len(stay)+len(come) > there.Len():
		come = come[:there.Len()-len(stay)]
	}
	return model.MembersOf(append(stay, come...)...)
}

// weighed returns members with the weights of those at the same addresses.
func weighed(members, like model.Members) model.Members {
	return members.Map(func(_ int, m model.Member) model.Member {
		if at, is := like.FindAddress(m.Address); is {
			m.Weight, m.Drained = like.Kind(at).Weight, like.Kind(at).Drained
		}
		return m
	})
}

// subnet returns that of a member at a port, given an existing member of its pool.
func (f Followers) subnet(address string, like model.Member, port int) string {
	subnet := cmp.Or(f.Subnets[address], like.SubnetID)
	if f.Places && like.Port != port { // the existing one may be a pod of the nodes' network
		subnet = cmp.Or(subnet, f.Subnet)
	}
	return subnet
}

// asDesired returns an existing load balancer as a desired one: without values that the cloud
// chooses, objects of others, and the floating IP.
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
			m.Weight, m.Backup, m.Unasked = 0, false, "" // which no Service can request
			return m
		})
	}
	return &lb
}

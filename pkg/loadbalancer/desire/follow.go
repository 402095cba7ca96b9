package desire

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Followers are the nodes that a kept load balancer is brought to.
type Followers struct {
	Backends []members.Backend
	// Subnets are those of backends by address, as far as they are known. Members that are
	// there stay where they are, and new ones may have to go there too: plan knows.
	Subnets map[string]string
	// Unchosen is set where the node selector cannot be read, or matches no node: members
	// that are there and still backends stay, others come only when none of them is left.
	Unchosen bool
	// Capped is set where no pool may have more members than it has.
	Capped bool
}

// Follow returns the load balancer that is like a kept one but for its members, which are
// the nodes: what a refused Service goes on with. Ports are those of the Service; those
// that it does not have any more stay as they are, and so do pools without a listener. It asks
// for no floating IP. No pool is ever emptied.
func Follow(ports []v1.ServicePort, kept *model.LoadBalancer, nodes Followers) *model.LoadBalancer {
	lb := asDesired(kept)
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		at := slices.IndexFunc(ports, func(p v1.ServicePort) bool {
			return model.ListenerKey{Transport: model.Protocol(p.Protocol), Port: int(p.Port)} == l.Key()
		})
		if at >= 0 && ports[at].NodePort != 0 {
			l.Pool.Members = nodes.members(l.Pool.Members, int(ports[at].NodePort))
		}
	}
	return lb
}

// members returns the members of a pool: those that are there first.
func (f Followers) members(there []model.Member, port int) []model.Member {
	var stay, come []model.Member
	for _, b := range f.Backends {
		at := slices.IndexFunc(there, func(m model.Member) bool { return m.Address == b.Address })
		if at >= 0 {
			member := there[at]
			member.Port, member.SubnetID = port, cmp.Or(f.Subnets[b.Address], member.SubnetID)
			stay = append(stay, member)
			continue
		}
		member := model.Member{Name: b.Node.Name, Address: b.Address, Port: port, SubnetID: f.Subnets[b.Address]}
		if len(there) > 0 {
			member.MonitorPort, member.SubnetID = there[0].MonitorPort, cmp.Or(member.SubnetID, there[0].SubnetID)
		}
		come = append(come, member)
	}
	switch {
	case len(stay)+len(come) == 0:
		return there // never drained by mistake
	case f.Unchosen && len(stay) > 0:
		return stay
	case f.Capped && len(there) > 0 && len(stay)+len(come) > len(there):
		come = come[:len(there)-len(stay)]
	}
	return append(stay, come...)
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
		l.Pool.Members = slices.Clone(l.Pool.Members)
		for n := range l.Pool.Members {
			m := &l.Pool.Members[n]
			m.ID, m.Status, m.SubnetUnknown = "", model.Status{}, false
		}
	}
	return &lb
}

package desire

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Unread tells what of a refused Service cannot be read.
type Unread struct {
	// Selector is which nodes it chooses, Ranges whom it lets in.
	Selector, Ranges bool
}

// Following gives the settings with which the load balancer of a refused Service is kept
// alive where nobody remembers what the Service asked for before: of what it says now,
// nothing but where its nodes and its floating IP are, as far as that can be read.
func Following(svc *v1.Service, cfg *config.Config) (Settings, Unread) {
	s, _, errs := Read(svc, cfg)
	s.AllowReplace, s.KeepFloatingIP = false, true
	s.LoadBalancerIP, s.VIPAddress, s.PortID = "", "", ""
	s.FlavorID, s.AvailabilityZone = "", ""
	s.Floating.ID, s.Floating.Tag = "", ""
	var unread Unread
	for _, err := range errs {
		unread.Selector = unread.Selector || err.Field == annotation.Path(annotation.NodeSelector).String() || err.Field == selectorPlace
		for _, path := range []*field.Path{inSpec("loadBalancerSourceRanges"), annotation.Path(annotation.SourceRanges)} {
			unread.Ranges = unread.Ranges || strings.HasPrefix(err.Field, path.String())
		}
	}
	return s, unread
}

// Followers are the nodes that a kept load balancer is brought to.
type Followers struct {
	Backends []Backend
	// Subnets are those of backends by address, as far as they are known. Members that are
	// there stay where they are, and new ones may have to go there too: plan knows.
	Subnets map[string]string
	// Unchosen tells that the node selector cannot be read, or matches no node: members
	// that are there and still backends stay, others come only when none of them is left.
	Unchosen bool
	// Capped tells that no pool may have more members than it has.
	Capped bool
}

// Follow gives the load balancer that is like a kept one but for its members, which are
// the nodes: what a refused Service goes on with. Ports that the Service does not have any
// more stay as they are. It asks for no floating IP. No pool is ever emptied.
func Follow(svc *v1.Service, kept *model.LoadBalancer, nodes Followers) *model.LoadBalancer {
	lb := asDesired(kept)
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		port := slices.IndexFunc(svc.Spec.Ports, func(p v1.ServicePort) bool {
			return model.ListenerKey{Transport: model.Protocol(p.Protocol), Port: int(p.Port)} == l.Key()
		})
		if port >= 0 && svc.Spec.Ports[port].NodePort != 0 {
			l.Pool.Members = nodes.members(l.Pool.Members, int(svc.Spec.Ports[port].NodePort))
		}
	}
	return lb
}

// members gives the members of a pool: those that are there first.
func (f Followers) members(there []model.Member, port int) []model.Member {
	var stay, come []model.Member
	for _, b := range f.Backends {
		at := slices.IndexFunc(there, func(m model.Member) bool { return m.Address == b.Address })
		if at >= 0 {
			member := there[at]
			member.Port, member.SubnetID = port, first(f.Subnets[b.Address], member.SubnetID)
			stay = append(stay, member)
			continue
		}
		member := model.Member{Name: b.Node.Name, Address: b.Address, Port: port, SubnetID: f.Subnets[b.Address]}
		if len(there) > 0 {
			member.MonitorPort, member.SubnetID = there[0].MonitorPort, first(member.SubnetID, there[0].SubnetID)
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

// asDesired gives a load balancer that is there as one that is desired: without what the
// cloud decides, what is not the Service's, and the floating IP.
func asDesired(there *model.LoadBalancer) *model.LoadBalancer {
	lb := *there
	lb.ID, lb.Status, lb.UpdatedAt = "", model.Status{}, time.Time{}
	lb.Orphans, lb.Foreign, lb.FloatingIP = nil, nil, nil
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

package build

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// Members gives a load balancer that is like the existing one but for its members,
// which are the backends, for a Service whose settings cannot be read: ports that the
// Service does not have are left as they are. Where more is false only members that are
// there stay. Subnets are those of backends, by address, as far as they are known.
func Members(svc *v1.Service, existing *model.LoadBalancer, backends []Backend, subnets map[string]string, more bool) *model.LoadBalancer {
	lb := *existing
	lb.Listeners = slices.Clone(existing.Listeners)
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		port := slices.IndexFunc(svc.Spec.Ports, func(p v1.ServicePort) bool {
			return model.ListenerKey{Transport: model.Protocol(p.Protocol), Port: int(p.Port)} == l.Key()
		})
		if port >= 0 && svc.Spec.Ports[port].NodePort != 0 {
			l.Pool.Members = members(l.Pool.Members, int(svc.Spec.Ports[port].NodePort), backends, subnets, more)
		}
	}
	return &lb
}

// members gives the members of a pool for the backends.
func members(existing []model.Member, port int, backends []Backend, subnets map[string]string, more bool) []model.Member {
	var wanted []model.Member
	for _, b := range backends {
		there := slices.IndexFunc(existing, func(m model.Member) bool { return m.Address == b.Address })
		member := model.Member{Name: b.Node.Name, Address: b.Address, Port: port, SubnetID: subnets[b.Address]}
		switch {
		case there >= 0:
			member.SubnetID, member.MonitorPort = existing[there].SubnetID, existing[there].MonitorPort
		case !more:
			continue
		case len(existing) > 0:
			member.MonitorPort = existing[0].MonitorPort
		}
		wanted = append(wanted, member)
	}
	if len(wanted) == 0 {
		return existing // never drained by mistake
	}
	return wanted
}

package members

import (
	"maps"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

// With returns the members of a Service in two IP families, of which second has the members with their
// addresses of the second one. Both is true for a port with VIPs that serve only members of their own
// family; at other ports each node or pod shall get its share once.
//
//	port is for both   members
//	yes                of both families
//	no                 of the first family, and nodes that only the second has
//
// A port for which one family has no endpoint gets the members of the other.
func (f Followed) With(second Followed, ports int, both func(port int) bool) Followed {
	joined := f
	joined.Ports = nil
	for i := range ports {
		joined.Ports = append(joined.Ports, f.Ports.At(i).with(second.Ports.At(i), both(i)))
	}
	joined.Empty = slices.DeleteFunc(slices.Clone(f.Empty), func(port string) bool { return !slices.Contains(second.Empty, port) })
	return joined
}

func (p Port) with(second Port, both bool) Port {
	switch {
	case second.Held && !p.Held, second.Hosts.Len()+second.Pods.Len() == 0:
		return p
	case p.Held && !second.Held, p.Hosts.Len()+p.Pods.Len() == 0:
		return second
	case p.Pods.Len()+second.Pods.Len() > 0:
		if both {
			p.Pods = p.Pods.With(second.Pods)
		}
		return p
	}
	of := map[string]bool{}
	var all []model.Host
	for _, m := range p.Hosts.Members(model.Member{}).All() {
		of[m.Name] = true
		all = append(all, model.Host{Name: m.Name, Address: m.Address})
	}
	for _, m := range second.Hosts.Members(model.Member{}).All() {
		if both || !of[m.Name] {
			all = append(all, model.Host{Name: m.Name, Address: m.Address})
		}
	}
	weights := map[string]int{}
	maps.Copy(weights, p.Weights)
	maps.Copy(weights, second.Weights)
	p.Hosts, p.Weights, p.Leaving = model.HostsOf(all...), weights, slices.Sorted(slices.Values(slices.Concat(p.Leaving, second.Leaving)))
	return p
}

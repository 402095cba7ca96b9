package members

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// Pod is the place of a member that is no NodePort: an endpoint of a Service.
type Pod struct {
	Address netip.Addr
	// Port is the number of the target port, Node the name of the node, "" for none.
	Port int
	Node string
}

// Pods returns the members of each port of a Service if pods are the members: the addresses and
// target ports of its endpoints. Cuts is set if the driver cuts the established connections of a member
// that is removed.
//
//	endpoints of the port                      members
//	ready                                      these
//	terminating, but still serving             none if others are ready; if the driver cuts connections, those
//	                                           that are not Stopping; with MemberSettings.Drains these, but drained
//	only terminating ones that still serve     these
//	none                                       the last ones stay, of a new pool there are none
//
// Those that terminate beside ready ones are Leaving, as in Follow.
//
// Endpoints on nodes that cannot be members are left out, those on nodes that are about to be deleted
// unless there are no others. An endpoint without a node is a member. An address in two slices is one
// member. Placeless is set for the endpoint of a gateway that answers on every node (Cilium): it has an
// address that does not exist, at none of the Service's ports.
func (s *Set) Pods(of *settings.Settings, endpoints Endpoints, cuts bool) Followed {
	if len(s.Backends) == 0 { // which a user or operator requests
		return Followed{Ports: s.InAll(of), Pods: true}
	}
	endpoints = endpoints.in(of.Family)
	f := Followed{Pods: true}
	for _, port := range of.Traffic.Ports {
		pods, drained := s.may(endpoints.pods(port.Name, cuts)), []Pod(nil)
		if of.Members.Drains() && len(pods) > 0 {
			drained = onNodes(s.Backends, without(endpoints.pods(port.Name, true), pods, comparePlaces))
		}
		leaving := without(pods, endpoints.podsThat(Endpoint.isReady, port.Name), comparePlaces)
		if len(leaving) == len(pods) {
			leaving = nil
		}
		f.add(port, Port{Pods: membersAt(pods, drained, leaving), Held: len(pods) == 0})
	}
	f.Placeless = len(f.Empty) == len(of.Traffic.Ports) && endpoints.some(Endpoint.serves) && !endpoints.some(Endpoint.hasNode)
	return f
}

// may returns the pods that can be members.
func (s *Set) may(pods []Pod) []Pod {
	if stay := onNodes(s.Backends, pods); len(stay) > 0 {
		return stay
	}
	return onNodes(s.leaving, pods)
}

// onNodes returns the pods on some nodes, and those without a node.
func onNodes(nodes []Backend, pods []Pod) []Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod Pod) bool { return pod.Node != "" && len(among(nodes, []string{pod.Node})) == 0 })
}

// pods returns the endpoints of a port that get traffic, sorted and without duplicates.
func (e Endpoints) pods(port string, cuts bool) []Pod {
	pods := e.podsThat(Endpoint.isReady, port)
	switch {
	case len(pods) == 0:
		return e.podsThat(Endpoint.serves, port)
	case cuts:
		return e.podsThat(Endpoint.stays, port)
	}
	return pods
}

func (e Endpoints) podsThat(has func(Endpoint) bool, port string) []Pod {
	var pods []Pod
	for _, s := range e {
		number := s.number(port)
		if number == 0 {
			continue
		}
		for _, endpoint := range s.Endpoints {
			if endpoint.Address.IsValid() && has(endpoint) {
				pods = append(pods, Pod{endpoint.Address, number, endpoint.Node})
			}
		}
	}
	slices.SortFunc(pods, comparePods)
	return slices.CompactFunc(pods, func(a, b Pod) bool { return comparePlaces(a, b) == 0 })
}

func comparePods(a, b Pod) int { return cmp.Or(comparePlaces(a, b), strings.Compare(a.Node, b.Node)) }

// comparePlaces is comparePods without the nodes.
func comparePlaces(a, b Pod) int { return cmp.Or(a.Address.Compare(b.Address), a.Port-b.Port) }

// membersAt returns members at pods, some of which are leaving, and at drained ones, with the names of their nodes, or with the
// address of one without a node.
func membersAt(pods, drained, leaving []Pod) model.Members {
	list := make([]model.Member, 0, len(pods)+len(drained))
	for i, pod := range slices.Concat(pods, drained) {
		m := model.Member{Name: pod.Node, Address: pod.Address.String(), Port: pod.Port, Drained: i >= len(pods), Leaving: includes(leaving, pod, comparePlaces)}
		if m.Name == "" {
			m.Name = m.Address
		}
		list = append(list, m)
	}
	return model.MembersOf(list...)
}

// Without returns the members without the pods at some addresses. A port that has no member left holds
// its last ones.
func (p Ports) Without(addresses []string) Ports {
	ports := slices.Clone(p)
	for i, port := range ports {
		ports[i].Pods = port.Pods.Filter(func(at int) bool { return !slices.Contains(addresses, port.Pods.Key(at).Address) })
		ports[i].Held = port.Held || port.Pods.Len() > 0 && ports[i].Pods.Len() == 0
	}
	return ports
}

// Addresses returns the addresses of pods that are members of any port, sorted.
func (p Ports) Addresses() []string {
	var all []string
	for _, port := range p {
		for i := range port.Pods.Len() {
			all = append(all, port.Pods.Key(i).Address)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

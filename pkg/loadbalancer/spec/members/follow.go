package members

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// Port has the members of one port of a Service.
type Port struct {
	// Hosts are the nodes that are members with the NodePort. Pods are members with their own ports:
	// then there are no Hosts.
	Hosts *model.Hosts
	Pods  model.Members
	// Weights are the weights of Hosts by address; none means Octavia's default. A host with 0 gets no new
	// connections.
	Weights map[string]int
	// Held is set if no member may be added: the existing ones among Hosts stay. See
	// model.Pool.Held.
	Held bool
	// Leaving are the addresses of Hosts that are not added, sorted: see model.Member.Leaving.
	Leaving []string
}

// Members returns the members, which are like one except for ID, name and address and, for Pods, the
// port.
func (p Port) Members(like model.Member) model.Members {
	if p.Pods.Len() == 0 && len(p.Weights)+len(p.Leaving) == 0 {
		return p.Hosts.Members(like)
	}
	if p.Pods.Len() == 0 {
		return p.Hosts.Members(like).Map(func(_ int, m model.Member) model.Member {
			if weight, is := p.Weights[m.Address]; is {
				m.Weight, m.Drained = weight, weight == 0
			}
			m.Leaving = includes(p.Leaving, m.Address, strings.Compare)
			return m
		})
	}
	return p.Pods.Map(func(_ int, pod model.Member) model.Member {
		m := like
		m.Name, m.Address, m.Port, m.Drained, m.Leaving = pod.Name, pod.Address, pod.Port, pod.Drained, pod.Leaving
		return m
	})
}

// Ports are the members of the ports of a Service, in their order; one alone is for all ports.
type Ports []Port

// At returns the members of port i, none if there are no Ports.
func (p Ports) At(i int) Port {
	switch len(p) {
	case 0:
		return Port{}
	case 1:
		return p[0]
	}
	return p[i]
}

// on reports whether a node, or a pod on it, is a member of a port.
func (p Ports) on(node Backend) bool {
	return slices.ContainsFunc(p, func(port Port) bool {
		for i := range port.Pods.Len() {
			if port.Pods.At(i).Name == node.Node.Name {
				return true
			}
		}
		hosts := port.Hosts.Members(model.Member{})
		at, is := hosts.FindAddress(node.Address)
		return is && hosts.At(at).Name == node.Node.Name
	})
}

// Followed are the members of a Service, as far as they follow its endpoints.
type Followed struct {
	Ports Ports
	// Empty are the names or numbers of ports without an endpoint: their last members stay.
	Empty []string
	// Forbidden is set if all nodes are members because this process may not watch endpoints.
	Forbidden bool
	// Placeless is set if no endpoint has a node that can be a member, so that all nodes are members. With
	// Pods, it is set if no endpoint has a node, and none a port of the Service: there are no pods.
	Placeless bool
	// Pods is set if pods are the members, and not nodes.
	Pods bool
}

// add adds the members of the next port of a Service.
func (f *Followed) add(port v1.ServicePort, members Port) {
	f.Ports = append(f.Ports, members)
	if members.Held {
		f.Empty = append(f.Empty, fmt.Sprintf("%s/%d", port.Protocol, port.Port))
	}
}

// InAll returns the members of each port of a Service if all nodes become members.
func (s *Set) InAll(of *settings.Settings) Ports {
	if most := of.Members.Max; most > 0 && len(s.Backends) > most {
		return Ports{{Hosts: hosts(subset(s.Backends, most, of.Members.Seed))}}
	}
	return Ports{{Hosts: s.Hosts}}
}

// Follow returns the members of each port of a Service, following its endpoints. Cuts is
// set if the driver cuts the established connections of a member that is removed.
//
//	endpoints of the port                     members
//	ready on A and B                          A and B
//	ready on A and B, terminating on C, but   A and B; if the driver cuts connections, C too, until all on it
//	still serving                             are Stopping; with MemberSettings.Drains, too, but drained
//	terminating on A, but still serving       A: kube-proxy sends them new connections
//	none                                      the last ones stay, of a new pool there are none
//
// C is Leaving. It may have left before its pods stop, and a process that starts does not know when these began to
// terminate.
//
// Endpoints without a node, such as those of a gateway that answers on every node, and endpoints on
// nodes that cannot be members make all nodes members, the latter only with externalTrafficPolicy
// Cluster. A node that is about to be deleted is a member only if no other one has endpoints.
func (s *Set) Follow(of *settings.Settings, endpoints Endpoints, cuts bool) Followed {
	if len(s.Backends) == 0 { // which a user or operator requests
		return Followed{Ports: s.InAll(of)}
	}
	endpoints = endpoints.in(of.Family)
	if endpoints.some(Endpoint.serves) && !endpoints.some(Endpoint.hasNode) {
		return Followed{Ports: s.InAll(of), Placeless: true}
	}
	var f Followed
	known := map[string]Port{} // by the names and weights of its nodes, and those that leave
	for _, port := range of.Traffic.Ports {
		at := endpoints.of(port.Name)
		names, weights := at.members(cuts), map[string]int(nil)
		if of.Members.Drains() && !cuts {
			weights = at.weights(of.Members.Counts())
		}
		leaving := without(names, at.nodes(Endpoint.isReady), strings.Compare)
		key := fmt.Sprint(strings.Join(names, "\n"), leaving, weights)
		one, is := known[key]
		if !is {
			if one = s.port(of, names, leaving, weights); one.Held && len(names) > 0 && !of.Traffic.Local {
				return Followed{Ports: s.InAll(of), Placeless: true}
			}
			known[key] = one
		}
		f.add(port, one)
	}
	if len(known) == 1 {
		f.Ports = f.Ports[:1]
	}
	return f
}

// members returns the names of the nodes with endpoints that get traffic.
func (e Endpoints) members(cuts bool) []string {
	names := e.nodes(Endpoint.isReady)
	switch {
	case len(names) == 0:
		return e.nodes(Endpoint.serves)
	case cuts:
		return e.nodes(Endpoint.stays)
	}
	return names
}

// without returns the elements of a list that another one does not have. The other one is sorted.
func without[T any](all, other []T, compare func(a, b T) int) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return includes(other, one, compare) })
}

// includes reports whether a sorted list has an element.
func includes[T any](sorted []T, one T, compare func(a, b T) int) bool {
	_, is := slices.BinarySearchFunc(sorted, one, compare)
	return is
}

// port returns the members of a port with endpoints on some nodes, of which some are leaving, and those among the nodes
// with weights that get no new connections. Both of these are members only beside others, and do not count for the maximum.
func (s *Set) port(of *settings.Settings, names, leaving []string, weights map[string]int) Port {
	backends := among(s.Backends, names)
	if len(backends) == 0 {
		backends = among(s.leaving, names)
	}
	if len(backends) == 0 {
		return Port{Hosts: s.Hosts, Held: true}
	}
	leave, stay := among(backends, leaving), backends
	switch len(leave) {
	case 0:
	case len(backends):
		leave = nil
	default:
		stay = among(backends, without(names, leaving, strings.Compare))
	}
	backends = slices.Concat(subset(stay, of.Members.Max, of.Members.Seed), leave)
	p := Port{Weights: map[string]int{}, Leaving: addressesOf(leave)}
	for _, b := range s.Backends {
		if weight, is := weights[b.Node.Name]; is && weight == 0 {
			backends = append(backends, b)
		}
	}
	for _, b := range backends {
		if weight, is := weights[b.Node.Name]; is {
			p.Weights[b.Address] = weight
		}
	}
	p.Hosts = hosts(backends)
	return p
}

// addressesOf returns the addresses of nodes, sorted.
func addressesOf(backends []Backend) (addresses []string) {
	for _, b := range backends {
		addresses = append(addresses, b.Address)
	}
	slices.Sort(addresses)
	return addresses
}

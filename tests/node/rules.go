package node

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// socket is what a node port listens on, at the node's address.
type socket struct {
	protocol corev1.Protocol
	port     int32
}

// frontend is a node port that leads somewhere.
type frontend struct {
	service types.NamespacedName
	port    string // the Service port's name; empty for the only one
	// endpoints are the pods that traffic through this node may reach, sorted by
	// address; none where it is dropped in silence.
	endpoints []endpoint
}

type endpoint struct{ address, node string }

// health is the answer of a health check node port.
type health struct {
	service types.NamespacedName
	// localEndpoints counts the ready pods on this node.
	localEndpoints int
}

// rules are everything a node answers for Services.
type rules struct {
	frontends    map[socket]frontend
	healthChecks map[int32]health
}

// rulesFor returns the answers of the node in one IP family. A node port without pods
// has no frontend, and refuses; one with all pods on other nodes, with
// externalTrafficPolicy Local, drops in silence. Over TCP a node that is no more than
// an address can only refuse then, too.
//
//	externalTrafficPolicy  ready pods         TCP         UDP         health check node port
//	Cluster                none               –           –           –
//	Cluster                on other nodes     all pods    all pods    –
//	Local                  none               –           –           503
//	Local                  on other nodes     –           silence     503
//	Local                  here and elsewhere those here  those here  200
//
// If a node, or with Cluster the Service, has no ready pods, those that terminate but still serve take their
// place, but not in health checks.
func rulesFor(node string, family discoveryv1.AddressType, services []*corev1.Service, all []*discoveryv1.EndpointSlice) rules {
	byService := map[types.NamespacedName][]*discoveryv1.EndpointSlice{}
	for _, slice := range all {
		if slice.AddressType == family {
			name := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
			byService[name] = append(byService[name], slice)
		}
	}
	r := rules{frontends: map[socket]frontend{}, healthChecks: map[int32]health{}}
	for _, service := range services {
		r.add(node, service, byService[types.NamespacedName{Namespace: service.Namespace, Name: service.Name}])
	}
	return r
}

func (r rules) add(node string, service *corev1.Service, slices []*discoveryv1.EndpointSlice) {
	name := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
	local := service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	here := map[endpoint]bool{}
	for _, port := range service.Spec.Ports {
		all := endpointsOf(slices, port.Name)
		for _, e := range onlyOn(node, all.ready) {
			here[e] = true
		}
		endpoints := all.used("")
		protocol := cmp.Or(port.Protocol, corev1.ProtocolTCP)
		open := len(endpoints) > 0 && served(protocol)
		if local {
			endpoints = all.used(node)
			open = open && (len(endpoints) > 0 || protocol == corev1.ProtocolUDP)
		}
		if port.NodePort != 0 && open {
			r.frontends[socket{protocol, port.NodePort}] = frontend{service: name, port: port.Name, endpoints: endpoints}
		}
	}
	if port := service.Spec.HealthCheckNodePort; local && port != 0 {
		r.healthChecks[port] = health{service: name, localEndpoints: len(here)}
	}
}

// candidates are the endpoints of a Service port, each once, sorted by address.
type candidates struct {
	ready []endpoint
	// leaving ones terminate, but still serve.
	leaving []endpoint
}

func endpointsOf(from []*discoveryv1.EndpointSlice, port string) (c candidates) {
	for _, slice := range from {
		hasPort := slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return ptr.Deref(p.Name, "") == port })
		if !hasPort {
			continue
		}
		for _, e := range slice.Endpoints {
			if len(e.Addresses) == 0 {
				continue
			}
			one := endpoint{address: e.Addresses[0], node: ptr.Deref(e.NodeName, "")}
			switch {
			case ptr.Deref(e.Conditions.Ready, true):
				c.ready = append(c.ready, one)
			case ptr.Deref(e.Conditions.Serving, false) && ptr.Deref(e.Conditions.Terminating, false):
				c.leaving = append(c.leaving, one)
			}
		}
	}
	return candidates{sorted(c.ready), sorted(c.leaving)}
}

func sorted(all []endpoint) []endpoint {
	slices.SortFunc(all, func(a, b endpoint) int { return cmp.Compare(a.address, b.address) })
	return slices.Compact(all)
}

// used returns the endpoints that get new connections, on one node or, without a name, on all: the ready
// ones; if there are none, those that are leaving.
func (c candidates) used(node string) []endpoint {
	if node != "" {
		c = candidates{onlyOn(node, c.ready), onlyOn(node, c.leaving)}
	}
	if len(c.ready) > 0 {
		return c.ready
	}
	return c.leaving
}

func onlyOn(node string, all []endpoint) []endpoint {
	var here []endpoint
	for _, e := range all {
		if e.node == node {
			here = append(here, e)
		}
	}
	return here
}

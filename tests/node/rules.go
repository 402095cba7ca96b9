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
		endpoints := readyEndpoints(slices, port.Name)
		onNode := onlyOn(node, endpoints)
		for _, e := range onNode {
			here[e] = true
		}
		protocol := cmp.Or(port.Protocol, corev1.ProtocolTCP)
		open := len(endpoints) > 0 && served(protocol)
		if local {
			endpoints = onNode
			open = open && (len(onNode) > 0 || protocol == corev1.ProtocolUDP)
		}
		if port.NodePort != 0 && open {
			r.frontends[socket{protocol, port.NodePort}] = frontend{service: name, port: port.Name, endpoints: endpoints}
		}
	}
	if port := service.Spec.HealthCheckNodePort; local && port != 0 {
		r.healthChecks[port] = health{service: name, localEndpoints: len(here)}
	}
}

// readyEndpoints are the ready ones of a Service port, each once.
func readyEndpoints(from []*discoveryv1.EndpointSlice, port string) []endpoint {
	var ready []endpoint
	for _, slice := range from {
		hasPort := slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return ptr.Deref(p.Name, "") == port })
		if !hasPort {
			continue
		}
		for _, e := range slice.Endpoints {
			if ptr.Deref(e.Conditions.Ready, true) && len(e.Addresses) > 0 {
				ready = append(ready, endpoint{address: e.Addresses[0], node: ptr.Deref(e.NodeName, "")})
			}
		}
	}
	slices.SortFunc(ready, func(a, b endpoint) int { return cmp.Compare(a.address, b.address) })
	return slices.Compact(ready)
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

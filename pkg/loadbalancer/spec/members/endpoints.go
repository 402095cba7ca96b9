package members

import (
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Endpoint is one place where a Service is served, usually by a pod.
type Endpoint struct {
	// Node is the name of its node, "" if it has none.
	Node string
	// Address is its address, invalid if it has none.
	Address netip.Addr
	// Ready endpoints get new connections. Serving ones answer, perhaps while they are Terminating:
	// kube-proxy sends new connections to those if no endpoint is ready (KEP-1669).
	Ready, Serving, Terminating bool
	// Stopping is set for a Terminating endpoint that stops soon: the removal of its member must begin now
	// to end before that.
	Stopping bool
}

// Slice has the endpoints of a Service with the same family and the same ports.
type Slice struct {
	Family v1.IPFamily
	// Ports are the names of the ports of the Service that all of the endpoints serve, Numbers the
	// numbers of these ports at the endpoints, in the same order; 0 for an unknown one.
	Ports     []string
	Numbers   []int
	Endpoints []Endpoint
	// Pod is the name of a pod among the endpoints, "" for none.
	Pod string
}

// number returns the number of a port at the endpoints of the slice, 0 for none.
func (s Slice) number(port string) int {
	if at := slices.Index(s.Ports, port); at >= 0 && at < len(s.Numbers) {
		return s.Numbers[at]
	}
	return 0
}

// Endpoints are all endpoints of a Service. An address that is in several slices counts once for
// each, which makes no difference for its node.
type Endpoints []Slice

// in returns the slices of a family.
func (e Endpoints) in(family v1.IPFamily) Endpoints {
	return slices.DeleteFunc(slices.Clone(e), func(s Slice) bool { return s.Family != family })
}

// of returns the slices with a port of a Service.
func (e Endpoints) of(port string) Endpoints {
	return slices.DeleteFunc(slices.Clone(e), func(s Slice) bool { return !slices.Contains(s.Ports, port) })
}

// some reports whether there is an endpoint with a property.
func (e Endpoints) some(has func(Endpoint) bool) bool {
	return slices.ContainsFunc(e, func(s Slice) bool { return slices.ContainsFunc(s.Endpoints, has) })
}

// nodes returns the names of the nodes that have an endpoint with a property, sorted.
func (e Endpoints) nodes(has func(Endpoint) bool) []string {
	var names []string
	for _, s := range e {
		for _, endpoint := range s.Endpoints {
			if endpoint.Node != "" && has(endpoint) {
				names = append(names, endpoint.Node)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (e Endpoint) hasNode() bool { return e.Node != "" }

func (e Endpoint) isReady() bool { return e.Ready }

// lasts reports whether an endpoint serves to the end of its grace period.
func (e Endpoint) lasts() bool { return e.Serving && e.Terminating }

// serves reports whether an endpoint answers.
func (e Endpoint) serves() bool { return e.Ready || e.lasts() }

// stays reports whether an endpoint answers for longer than the removal of a member takes.
func (e Endpoint) stays() bool { return e.Ready || e.lasts() && !e.Stopping }

// Serving returns the names of the nodes with an endpoint that answers, sorted.
func (e Endpoints) Serving() []string { return e.nodes(Endpoint.serves) }

// mostWeight is the maximum weight of a member in Octavia.
const mostWeight = 256

// weights returns the weights of nodes by name, none for Octavia's default: 0 for one without a ready endpoint that
// still serves, if another has ready ones. With counts, nodes with ready endpoints have weights in
// proportion to these, as small as possible.
func (e Endpoints) weights(counts bool) map[string]int {
	ready, divisor := e.ready(), 0
	for _, n := range ready {
		divisor = gcd(n, divisor)
	}
	if divisor == 0 {
		return nil
	}
	weights := map[string]int{}
	for _, name := range e.Serving() {
		switch n := ready[name] / divisor; {
		case n == 0:
			weights[name] = 0
		case counts && n > 1:
			weights[name] = min(n, mostWeight)
		}
	}
	return weights
}

// ready returns the number of ready endpoints by the name of their node. An address counts once.
func (e Endpoints) ready() map[string]int {
	seen, ready := map[netip.Addr]bool{}, map[string]int{}
	for _, s := range e {
		for _, endpoint := range s.Endpoints {
			if endpoint.Node != "" && endpoint.Ready && !seen[endpoint.Address] {
				seen[endpoint.Address] = endpoint.Address.IsValid()
				ready[endpoint.Node]++
			}
		}
	}
	return ready
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// Targets reports whether a number is a target port of a port, in the slices of an IP family. These may have
// no endpoints.
func (e Endpoints) Targets(family v1.IPFamily, port string, number int) bool {
	return slices.ContainsFunc(e.in(family), func(s Slice) bool { return s.number(port) == number })
}

// AllReady reports whether all endpoints are ready.
func (e Endpoints) AllReady() bool {
	return !slices.ContainsFunc(e, func(s Slice) bool {
		return slices.ContainsFunc(s.Endpoints, func(one Endpoint) bool { return !one.Ready })
	})
}

// WithReady returns the endpoints with those at some addresses counted as ready, unless they
// terminate.
func (e Endpoints) WithReady(addresses []netip.Addr) Endpoints {
	return e.changed(addresses, func(one *Endpoint) {
		if !one.Terminating {
			one.Ready, one.Serving = true, true
		}
	})
}

// WithStopping returns the endpoints with the terminating ones at some addresses marked as stopping.
func (e Endpoints) WithStopping(addresses []netip.Addr) Endpoints {
	return e.changed(addresses, func(one *Endpoint) { one.Stopping = one.Terminating })
}

// changed returns the endpoints with a change of those at some addresses.
func (e Endpoints) changed(addresses []netip.Addr, change func(*Endpoint)) Endpoints {
	if len(addresses) == 0 {
		return e
	}
	all := slices.Clone(e)
	for i, s := range all {
		all[i].Endpoints = slices.Clone(s.Endpoints)
		for j, endpoint := range s.Endpoints {
			if slices.Contains(addresses, endpoint.Address) {
				change(&all[i].Endpoints[j])
			}
		}
	}
	return all
}

// Lasting returns the addresses of the endpoints that still serve while they terminate.
func (e Endpoints) Lasting() []netip.Addr {
	var all []netip.Addr
	for _, s := range e {
		for _, endpoint := range s.Endpoints {
			if endpoint.lasts() {
				all = append(all, endpoint.Address)
			}
		}
	}
	return all
}

// Has reports whether an endpoint has an address.
func (e Endpoints) Has(address netip.Addr) bool {
	return e.some(func(endpoint Endpoint) bool { return endpoint.Address == address })
}

// among returns the backends that have one of these names; both are sorted by name.
func among(backends []Backend, names []string) []Backend {
	var found []Backend
	for _, name := range names {
		at, is := slices.BinarySearchFunc(backends, name, func(b Backend, name string) int { return strings.Compare(b.Node.Name, name) })
		if is {
			found = append(found, backends[at])
		}
	}
	return found
}

package datapath

import (
	"crypto/tls"
	"net/netip"
)

// Networks that are listened on.
const (
	networkTCP = "tcp"
	networkUDP = "udp"
)

// route is the destination of an endpoint's traffic.
type route struct {
	owner    owner
	listener Listener
	// tls is for TERMINATED_HTTPS, else nil.
	tls *tls.Config
	// policies are asked before pool, which is nil when the listener has none.
	policies []policy
	pool     *pool
	gate     *gate
	meter    *meter
	// source is the address that members see, invalid for the client's own.
	source netip.Addr
	// vip is where the connection arrived once floating IPs are translated.
	vip netip.AddrPort
	// unchecked means that the members' health counts for nothing.
	unchecked bool
	// like is the VIP if only members of its IP family serve it, else invalid.
	like netip.Addr
}

// routes lists what must be listened on. Of two load balancers that claim one endpoint, the
// one with the smaller ID has it. SCTP is not carried: Go has no sockets for it.
func (p *Plane) routes() map[endpoint]route {
	routes := map[endpoint]route{}
	for lb := range p.serving {
		for _, listener := range lb.Listeners {
			if listener.AdminUp && listener.Protocol != ProtocolSCTP {
				p.addRoutes(routes, lb, listener)
			}
		}
	}
	return routes
}

func (p *Plane) addRoutes(routes map[endpoint]route, lb LoadBalancer, listener Listener) {
	policies := compilePolicies(listener.Policies, p.pools)
	for _, address := range lb.Addresses {
		at := endpoint{network: network(listener.Protocol), address: netip.AddrPortFrom(address, listener.Port)}
		if rival, taken := routes[at]; taken && rival.owner.loadBalancerID < lb.ID {
			continue
		}
		_, floating := lb.Fixed[address]
		if address == listener.NotFloating {
			continue
		}
		routes[at] = route{
			owner:    owner{loadBalancerID: lb.ID, address: address},
			listener: listener,
			policies: policies,
			pool:     p.pools[listener.PoolID],
			gate:     p.gates[listener.ID],
			meter:    p.meters.of(listener.ID),
			source:   lb.source(),
			vip:      netip.AddrPortFrom(lb.fixed(address), listener.Port),

			unchecked: floating && lb.FloatingUnchecked,
			like:      lb.like(address, listener),
		}
	}
}

// source is the address that the load balancer's members see, invalid for the client's own.
func (lb LoadBalancer) source() netip.Addr {
	if lb.KeepClientAddress || len(lb.Addresses) == 0 || !lb.Addresses[0].IsLoopback() {
		return netip.Addr{}
	}
	return lb.Addresses[0]
}

// like is the VIP that an address stands for if only members of its IP family serve the listener: there is
// no proxy between them.
func (lb LoadBalancer) like(address netip.Addr, listener Listener) netip.Addr {
	if lb.KeepClientAddress || listener.Protocol == ProtocolUDP {
		return lb.fixed(address)
	}
	return netip.Addr{}
}

// fixed is the VIP that an address stands for.
func (lb LoadBalancer) fixed(address netip.Addr) netip.Addr {
	if vip, floating := lb.Fixed[address]; floating {
		return vip
	}
	return address
}

func network(protocol string) string {
	if protocol == ProtocolUDP {
		return networkUDP
	}
	return networkTCP
}

// applyGates sets the connection limit of each listener. Gates and meters keep their counts
// for as long as the listener exists.
func (p *Plane) applyGates() {
	wanted := map[string]bool{}
	for lb := range p.serving {
		for _, listener := range lb.Listeners {
			wanted[listener.ID] = true
			if p.gates[listener.ID] == nil {
				p.gates[listener.ID] = newGate()
			}
			p.gates[listener.ID].set(listener.ConnectionLimit)
		}
	}
	p.meters.keep(wanted)
	for id := range p.gates {
		if !wanted[id] {
			p.gates[id].set(0) // lets in who still waits
			delete(p.gates, id)
		}
	}
}

// forgetRefs drops the certificates that nothing refers to any more.
func (p *Plane) forgetRefs() {
	used := map[string]bool{}
	for lb := range p.serving {
		lb.refs(used)
	}
	p.keyring.forget(used)
}

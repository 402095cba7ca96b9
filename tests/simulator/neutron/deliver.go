package neutron

import (
	"net/netip"
	"slices"
)

// Packet is the first packet of a connection that a client outside sends to an address.
type Packet struct {
	From, To netip.Addr
	// Protocol is that of security group rules: tcp, udp or sctp. Port is the destination.
	Protocol string
	Port     int
}

// Deliver returns the ports to which a router with an external gateway sends a packet, one of them for
// each connection: the owner of the address, or the next hops of a route to it. Missing are next hops
// to which packets are lost: no port has their address, its port security does not admit the
// destination, or its security groups do not admit the packet.
//
//	the destination is                    the packet is sent to
//	a floating IP                         its fixed address, by the rules below
//	a forwarded port of a floating IP     the address and port inside, by the rules below
//	another port of such a floating IP    nothing
//	the destination of extra routes       the next hops of the longest prefix
//	an address of a bound port            that port
//	anything else                         nothing
func (n *Neutron) Deliver(p Packet) (ports []Port, missing []string) {
	n.lock()
	defer n.unlock()
	to := p.To
	for _, fip := range n.floatingIPs.all() {
		if fip.FloatingIPAddress != p.To.String() {
			continue
		}
		inside, number, leads := fip.leads(p)
		if !leads {
			return nil, nil
		}
		to, p.Port = inside, number
	}
	for _, hop := range n.nextHops(to) {
		i := slices.IndexFunc(n.ports.all(), func(record *port) bool { return record.has(hop) })
		if i < 0 {
			missing = append(missing, hop)
			continue
		}
		if record := n.ports.all()[i]; n.admits(record, to, p) {
			ports = append(ports, record.view())
		} else {
			missing = append(missing, hop)
		}
	}
	return ports, missing
}

// leads returns the address and the port inside to which a floating IP sends a packet.
func (r *floatingIP) leads(p Packet) (to netip.Addr, number int, leads bool) {
	inside, number := valueOf(r.FixedIPAddress), p.Port
	for _, f := range r.forwardings {
		if f.Protocol == p.Protocol && f.ExternalPort == p.Port {
			inside, number = f.InternalIPAddress, f.InternalPort
		}
	}
	to, err := netip.ParseAddr(inside)
	return to, number, err == nil
}

// nextHops returns the addresses to which a router sends packets for a destination.
func (n *Neutron) nextHops(to netip.Addr) []string {
	longest := -1
	var hops []string
	for _, record := range n.routers.all() {
		for _, route := range record.Routes {
			prefix, err := netip.ParsePrefix(route.Destination)
			if err != nil || !prefix.Contains(to) || prefix.Bits() < longest {
				continue
			}
			if prefix.Bits() > longest {
				longest, hops = prefix.Bits(), nil
			}
			hops = append(hops, route.NextHop)
		}
	}
	if longest >= 0 {
		return hops
	}
	return []string{to.String()}
}

func (r *port) has(address string) bool {
	return slices.ContainsFunc(r.FixedIPs, func(ip FixedIP) bool { return ip.Address == address })
}

// admits reports whether a port accepts a packet for a destination.
func (n *Neutron) admits(record *port, to netip.Addr, p Packet) bool {
	if record.DeviceID == "" {
		return false // nothing is behind it
	}
	if !record.PortSecurityEnabled {
		return true
	}
	own := record.has(to.String()) || slices.ContainsFunc(record.AllowedAddressPairs, func(pair AddressPair) bool {
		prefix, err := netip.ParsePrefix(pair.Address)
		return err == nil && prefix.Contains(to) || pair.Address == to.String()
	})
	return own && slices.ContainsFunc(record.SecurityGroups, func(id string) bool {
		group, ok := n.securityGroups.get(id)
		return ok && slices.ContainsFunc(group.Rules, func(rule *securityGroupRule) bool { return rule.admits(p) })
	})
}

// admits reports whether a rule permits a packet.
func (r *securityGroupRule) admits(p Packet) bool {
	if r.Direction != "ingress" || r.RemoteGroupID != nil {
		return false
	}
	if r.Protocol != nil && *r.Protocol != p.Protocol {
		return false
	}
	if r.PortRangeMin != nil && p.Port < *r.PortRangeMin || r.PortRangeMax != nil && p.Port > *r.PortRangeMax {
		return false
	}
	if r.RemoteIPPrefix == nil {
		return true
	}
	prefix, err := netip.ParsePrefix(*r.RemoteIPPrefix)
	return err == nil && prefix.Contains(p.From)
}

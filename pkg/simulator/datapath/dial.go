package datapath

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// dial connects to a loopback address, from the source address if that is valid and of the
// same family.
func dial(ctx context.Context, network string, source netip.Addr, target netip.AddrPort) (net.Conn, error) {
	if !target.Addr().IsLoopback() {
		return nil, fmt.Errorf("connect to %s: no loopback address", target)
	}
	dialer := net.Dialer{}
	if source.IsValid() && source.Is4() == target.Addr().Is4() {
		dialer.LocalAddr = localAddr(network, source)
		dialer.Control = bindWithoutPort
	}
	connection, err := dialer.DialContext(ctx, network, target.String())
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", target, err)
	}
	return connection, nil
}

func localAddr(network string, source netip.Addr) net.Addr {
	if network == "udp" {
		return net.UDPAddrFromAddrPort(netip.AddrPortFrom(source, 0))
	}
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0))
}

// connect dials a member for a client, in bounded time.
func (p *Plane) connect(network string, route *route, client netip.AddrPort, member Member) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(p.ctx, p.options.DialTimeout)
	defer cancel()
	return dial(ctx, network, route.sourceFor(client), netip.AddrPortFrom(member.Address, member.Port))
}

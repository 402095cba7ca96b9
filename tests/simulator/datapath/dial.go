package datapath

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/pires/go-proxyproto"
)

// dialTries is how many members one connection or request tries before it gives up
// (haproxy's redispatch).
const dialTries = 3

// errNoTLS is the error of a pool with unreadable certificates, which were reported before.
var errNoTLS = errors.New("the pool's TLS is not ready")

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
	if network == networkUDP {
		return net.UDPAddrFromAddrPort(netip.AddrPortFrom(source, 0))
	}
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0))
}

// egress is what a connection to a member begins with.
type egress struct {
	// proxy is the version of the PROXY header, 0 for none.
	proxy byte
	// encrypted is set for TLS; tls is nil if its certificates are missing.
	encrypted bool
	tls       *tls.Config
}

func proxyVersion(protocol string) byte {
	switch protocol {
	case ProtocolProxy:
		return 1
	case ProtocolProxyV2:
		return 2
	default:
		return 0
	}
}

// begin sends the PROXY header, if any, and starts TLS, if any. It closes the connection
// when that fails.
func (e egress) begin(ctx context.Context, connection duplex, header *proxyproto.Header) (duplex, error) {
	if deadline, ok := ctx.Deadline(); ok {
		_ = connection.SetDeadline(deadline)
	}
	ready, err := e.greet(ctx, connection, header)
	if err != nil {
		_ = connection.Close()
		return nil, fmt.Errorf("begin with %s: %w", connection.RemoteAddr(), err)
	}
	return ready, connection.SetDeadline(time.Time{})
}

func (e egress) greet(ctx context.Context, connection duplex, header *proxyproto.Header) (duplex, error) {
	if e.proxy != 0 {
		header.Version = e.proxy
		if _, err := header.WriteTo(connection); err != nil {
			return nil, err
		}
	}
	if !e.encrypted {
		return connection, nil
	}
	if e.tls == nil {
		return nil, errNoTLS
	}
	encrypted := tls.Client(connection, e.tls)
	return encrypted, encrypted.HandshakeContext(ctx)
}

// proxied is the PROXY header for a client that connected to the address to.
func proxied(client, to netip.AddrPort) *proxyproto.Header {
	return proxyproto.HeaderProxyFromAddrs(0, net.TCPAddrFromAddrPort(client), net.TCPAddrFromAddrPort(to))
}

// connect dials a member for a client, in bounded time.
func (p *Plane) connect(network string, route *route, client netip.AddrPort, member Member) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(p.ctx, p.connectTimeout(route))
	defer cancel()
	return dial(ctx, network, route.sourceFor(client), netip.AddrPortFrom(member.Address, member.Port))
}

// connectTCP dials a member for a client and begins as its pool wants it.
func (p *Plane) connectTCP(ctx context.Context, route *route, pool *pool, client netip.AddrPort, target netip.AddrPort) (duplex, error) {
	ctx, cancel := context.WithTimeout(ctx, p.connectTimeout(route))
	defer cancel()
	connection, err := dial(ctx, networkTCP, route.sourceFor(client), target)
	if err != nil {
		return nil, err
	}
	return pool.egress().begin(ctx, connection.(*net.TCPConn), proxied(client, route.vip))
}

func (p *Plane) connectTimeout(route *route) time.Duration {
	if timeout := route.listener.Timeouts.MemberConnect; timeout > 0 {
		return timeout
	}
	return p.options.DialTimeout
}

// sourceFor is the address that the member sees for this client.
func (r *route) sourceFor(client netip.AddrPort) netip.Addr {
	if r.source.IsValid() {
		return r.source
	}
	return client.Addr()
}

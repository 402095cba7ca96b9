package datapath

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// dialTries is how many members one connection tries before it gives up (haproxy's
// redispatch).
const dialTries = 3

// acceptPause is the pause after a failed accept (too many open files, for example).
const acceptPause = 50 * time.Millisecond

// tcpFrontend listens on one TCP endpoint.
type tcpFrontend struct {
	plane    *Plane
	listener *net.TCPListener
	route    atomic.Pointer[route]
}

func (p *Plane) listenTCP(at endpoint, route route) (frontend, error) {
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at.address))
	if err != nil {
		return nil, fmt.Errorf("listen on TCP %s: %w", at.address, err)
	}
	f := &tcpFrontend{plane: p, listener: listener}
	f.use(route)
	p.wait.Go(f.accept)
	return f, nil
}

func (f *tcpFrontend) use(route route) { f.route.Store(&route) }

func (f *tcpFrontend) close() { _ = f.listener.Close() }

func (f *tcpFrontend) accept() {
	for {
		client, err := f.listener.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			f.plane.report("accept on %s: %w", f.listener.Addr(), err)
			f.plane.pause(acceptPause)
			continue
		}
		f.plane.wait.Go(func() { f.serve(client) })
	}
}

// serve carries one client's connection to its end.
func (f *tcpFrontend) serve(client *net.TCPConn) {
	defer client.Close()
	route := f.route.Load()
	defer f.plane.connections.add(route.owner, client)()
	address := addrPort(client.RemoteAddr())
	if route.pool == nil || !route.listener.allows(address.Addr()) {
		return
	}
	member, release, ok := f.plane.dialMember(route, address)
	if !ok {
		return
	}
	defer release()
	defer member.Close()
	defer f.plane.connections.add(route.owner, member)()
	splice(client, member)
}

// dialMember connects to the member that the pool picks, or to another one when that fails.
// ok is false when no member could be reached.
func (p *Plane) dialMember(route *route, client netip.AddrPort) (member *net.TCPConn, release func(), ok bool) {
	tried := map[string]bool{}
	for range dialTries {
		picked, release, ok := route.pool.pick(client, tried)
		if !ok {
			return nil, nil, false
		}
		connection, err := p.connect("tcp", route, client, picked)
		if err == nil {
			return connection.(*net.TCPConn), release, true
		}
		release()
		tried[picked.ID] = true
	}
	return nil, nil, false
}

// sourceFor is the address that the member sees for this client.
func (r *route) sourceFor(client netip.AddrPort) netip.Addr {
	if r.source.IsValid() {
		return r.source
	}
	return client.Addr()
}

// allows reports whether the listener's allowed CIDRs let the client in.
func (l Listener) allows(client netip.Addr) bool {
	if len(l.AllowedCIDRs) == 0 {
		return true
	}
	for _, cidr := range l.AllowedCIDRs {
		if cidr.Contains(client) {
			return true
		}
	}
	return false
}

// splice copies both ways until both sides have ended or one has failed.
func splice(a, b *net.TCPConn) {
	var both sync.WaitGroup
	both.Go(func() { copyHalf(a, b) })
	both.Go(func() { copyHalf(b, a) })
	both.Wait()
}

// copyHalf copies from one side to the other and passes on the end of the stream. Anything
// but a clean end closes both sides.
func copyHalf(to, from *net.TCPConn) {
	_, err := io.Copy(to, from)
	if err == nil {
		err = to.CloseWrite()
	}
	if err != nil {
		_ = to.Close()
		_ = from.Close()
	}
}

// addrPort returns an IPv4 client as such, also from a dual-stack socket.
func addrPort(address net.Addr) netip.AddrPort {
	var at netip.AddrPort
	switch address := address.(type) {
	case *net.TCPAddr:
		at = address.AddrPort()
	case *net.UDPAddr:
		at = address.AddrPort()
	}
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

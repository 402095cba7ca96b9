package datapath

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// acceptPause is the pause after a failed accept (too many open files, for example).
const acceptPause = 50 * time.Millisecond

// tcpFrontend listens on one TCP endpoint.
type tcpFrontend struct {
	plane    *Plane
	listener *net.TCPListener
	route    atomic.Pointer[route]
	// ctx ends when the endpoint is closed.
	ctx    context.Context
	cancel context.CancelFunc
}

func (p *Plane) listenTCP(at endpoint, route route) (frontend, error) {
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at.address))
	if err != nil {
		return nil, fmt.Errorf("listen on TCP %s: %w", at.address, err)
	}
	f := &tcpFrontend{plane: p, listener: listener}
	f.ctx, f.cancel = context.WithCancel(p.ctx)
	f.use(route)
	p.wait.Go(f.accept)
	return f, nil
}

func (f *tcpFrontend) use(route route) { f.route.Store(&route) }

func (f *tcpFrontend) close() {
	f.cancel()
	_ = f.listener.Close()
}

// accept takes connections as long as the listener's limit lets it; the one that is too many
// waits here, those behind it in the kernel, as with haproxy.
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
		gate := f.route.Load().gate
		if !gate.enter(f.ctx) {
			_ = client.Close()
			return
		}
		f.plane.wait.Go(func() {
			defer gate.leave()
			f.serve(client)
		})
	}
}

// serve carries one client's connection to its end.
func (f *tcpFrontend) serve(client *net.TCPConn) {
	defer func() { _ = client.Close() }()
	route := f.route.Load()
	defer f.plane.connections.add(route.owner, client)()
	address := addrPort(client.RemoteAddr())
	if !route.listener.allows(address.Addr()) {
		return
	}
	defer route.meter.begin()()
	counted := &metered{duplex: client, meter: route.meter}
	switch {
	case route.listener.speaksHTTP():
		f.serveHTTP(counted, address)
	case route.pool != nil:
		f.carry(route, counted, address)
	}
}

// carry connects the client to a member and copies bytes until they part.
func (f *tcpFrontend) carry(route *route, client duplex, address netip.AddrPort) {
	member, release, ok := f.plane.dialMember(route, address)
	if !ok {
		return
	}
	defer release()
	defer member.Close()
	defer f.plane.connections.add(route.owner, member)()
	f.plane.relay(client, member, route.listener.Timeouts)
}

// dialMember connects to the member that the pool picks, or to another one when that fails.
// ok is false when no member could be reached.
func (p *Plane) dialMember(route *route, client netip.AddrPort) (member duplex, release func(), ok bool) {
	tried := map[string]bool{}
	for range dialTries {
		picked, release, ok := route.pool.pick(choice{client: client, tried: tried, unchecked: route.unchecked, like: route.like})
		if !ok {
			return nil, nil, false
		}
		connection, err := p.connectTCP(p.ctx, route, route.pool, client, picked.at())
		if err == nil {
			return connection, release, true
		}
		release()
		if route.unchecked {
			break
		}
		tried[picked.ID] = true
	}
	return nil, nil, false
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

// relay copies both ways until both sides have ended, one has failed, or one was silent for
// too long.
func (p *Plane) relay(client, member duplex, timeouts Timeouts) {
	done := make(chan struct{})
	var watches sync.WaitGroup
	defer watches.Wait()
	defer close(done)
	cut := func() {
		_ = client.Close()
		_ = member.Close()
	}
	listen := func(to duplex, limit time.Duration) duplex {
		silence := newIdle(p.clock, limit)
		silence.expect()
		watches.Go(func() { silence.watch(done, cut) })
		return &listened{duplex: to, idle: silence}
	}
	splice(listen(client, timeouts.ClientData), listen(member, timeouts.MemberData))
}

// splice copies both ways until both sides have ended or one has failed.
func splice(a, b duplex) {
	var both sync.WaitGroup
	both.Go(func() { copyHalf(a, b) })
	both.Go(func() { copyHalf(b, a) })
	both.Wait()
}

// copyHalf copies from one side to the other and passes on the end of the stream. Anything
// but a clean end closes both sides.
func copyHalf(to, from duplex) {
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

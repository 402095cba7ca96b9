package datapath

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// datagramSize holds the largest datagram that UDP can carry.
const datagramSize = 64 << 10

// udpFrontend listens on one UDP endpoint. A client's datagrams go to one member as long as
// its session lives.
type udpFrontend struct {
	plane  *Plane
	socket *net.UDPConn
	route  atomic.Pointer[route]

	mu       sync.Mutex
	sessions map[netip.AddrPort]*udpSession
}

// udpSession carries the datagrams of one client to and from one member.
type udpSession struct {
	frontend *udpFrontend
	client   netip.AddrPort
	memberID string
	pool     *pool
	member   *net.UDPConn
	release  func()
	silence  *idle
	meter    *meter
}

func (p *Plane) listenUDP(at endpoint, route route) (frontend, error) {
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at.address))
	if err != nil {
		return nil, fmt.Errorf("listen on UDP %s: %w", at.address, err)
	}
	f := &udpFrontend{plane: p, socket: socket, sessions: map[netip.AddrPort]*udpSession{}}
	f.use(route)
	p.wait.Go(f.receive)
	return f, nil
}

func (f *udpFrontend) use(route route) { f.route.Store(&route) }

// close ends the socket and with it all sessions: their answers could not be sent any more.
func (f *udpFrontend) close() {
	_ = f.socket.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, session := range f.sessions {
		_ = session.member.Close()
	}
}

func (f *udpFrontend) receive() {
	buffer := make([]byte, datagramSize)
	for {
		n, from, err := f.socket.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // an ICMP error of an earlier answer: that client is gone
		}
		f.forward(netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), buffer[:n])
	}
}

// forward sends one datagram to the client's member. When the member turns out to be gone,
// another one gets it.
func (f *udpFrontend) forward(client netip.AddrPort, datagram []byte) {
	route := f.route.Load()
	if route.pool == nil || !route.listener.allows(client.Addr()) {
		return
	}
	tried := map[string]bool{}
	for range dialTries {
		session := f.session(route, client, tried)
		if session == nil {
			return
		}
		session.silence.touch()
		route.meter.in.Add(int64(len(datagram)))
		if _, err := session.member.Write(datagram); err == nil {
			return
		}
		tried[session.memberID] = true
		f.end(session)
	}
}

// session finds the client's session, or begins one with a member that is not in tried. It
// returns nil when there is no such member.
func (f *udpFrontend) session(route *route, client netip.AddrPort, tried map[string]bool) *udpSession {
	f.mu.Lock()
	session := f.sessions[client]
	f.mu.Unlock()
	if session != nil && session.pool == route.pool && session.pool.mayKeep(session.memberID, route.unchecked) {
		return session
	}
	if session != nil {
		f.end(session)
	}
	member, release, ok := route.pool.pick(choice{
		client: client, tried: tried, limit: route.listener.ConnectionLimit, unchecked: route.unchecked, like: route.like,
	})
	if !ok {
		return nil
	}
	connection, err := f.plane.connect(networkUDP, route, client, member)
	if err != nil {
		release()
		return nil
	}
	return f.begin(&udpSession{
		frontend: f,
		client:   client,
		memberID: member.ID,
		pool:     route.pool,
		member:   connection.(*net.UDPConn),
		release:  release,
		silence:  newIdle(f.plane.clock, f.plane.options.UDPIdleTimeout),
		meter:    route.meter,
	}, route.owner)
}

func (f *udpFrontend) begin(session *udpSession, owner owner) *udpSession {
	session.silence.expect()
	f.mu.Lock()
	f.sessions[session.client] = session
	f.mu.Unlock()
	remove := f.plane.connections.add(owner, session.member)
	ended := make(chan struct{})
	f.plane.wait.Go(func() { session.silence.watch(ended, func() { f.end(session) }) })
	f.plane.wait.Go(func() {
		defer close(ended)
		defer session.meter.begin()()
		defer remove()
		defer f.end(session)
		session.answer()
	})
	return session
}

// end closes the session and forgets it. It may be called more than once.
func (f *udpFrontend) end(session *udpSession) {
	_ = session.member.Close()
	session.release()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sessions[session.client] == session {
		delete(f.sessions, session.client)
	}
}

// answer carries the member's datagrams back to the client until the session ends.
func (s *udpSession) answer() {
	buffer := make([]byte, datagramSize)
	for {
		n, err := s.member.Read(buffer)
		if err != nil {
			return
		}
		s.silence.touch()
		s.meter.out.Add(int64(n))
		if _, err := s.frontend.socket.WriteToUDPAddrPort(buffer[:n], s.client); err != nil {
			return
		}
	}
}

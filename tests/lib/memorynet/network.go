// Package memorynet is a network within the process. A goroutine that waits for one of its
// connections waits for another goroutine and not for the kernel, so that the clock of
// testing/synctest proceeds meanwhile. A client can be cut off from it like a process that is
// killed.
package memorynet

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// Network connects hosts with listeners. The zero value is ready. Its methods may be called
// from many goroutines.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
}

// Address is where something listens.
type Address string

// Network implements net.Addr.
func (Address) Network() string { return "memory" }

// String implements net.Addr.
func (a Address) String() string { return string(a) }

// Listen opens an address, which may be any text. It is an error where it is open.
func (n *Network) Listen(address string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners[address] != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, syscall.EADDRINUSE)
	}
	if n.listeners == nil {
		n.listeners = map[string]*listener{}
	}
	l := &listener{network: n, address: Address(address), dialed: make(chan net.Conn), closed: make(chan struct{})}
	n.listeners[address] = l
	return l, nil
}

func (n *Network) listener(address string) *listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.listeners[address]
}

type listener struct {
	network *Network
	address Address
	dialed  chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case connection := <-l.dialed:
		return connection, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() {
		l.network.mu.Lock()
		delete(l.network.listeners, string(l.address))
		l.network.mu.Unlock()
		close(l.closed)
	})
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return l.address }

// Host is a client on the network.
type Host struct {
	network *Network

	mu          sync.Mutex
	off         bool
	connections map[*connection]bool
}

// Host returns another client.
func (n *Network) Host() *Host { return &Host{network: n, connections: map[*connection]bool{}} }

// Dial connects to a listener. Where there is none the connection is refused.
func (h *Host) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	h.mu.Lock()
	off := h.off
	h.mu.Unlock()
	l := h.network.listener(address)
	if off || l == nil {
		return nil, refused(address)
	}
	here, there := pipe(l.address)
	select {
	case l.dialed <- there:
	case <-l.closed:
		return nil, refused(address)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	here.ended = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.connections, here)
	}
	h.mu.Lock()
	h.connections[here] = true
	off = h.off
	h.mu.Unlock()
	if off {
		_ = here.Close() // which never fails
		return nil, refused(address)
	}
	return here, nil
}

func refused(address string) error {
	return &net.OpError{Op: "dial", Net: "memory", Addr: Address(address), Err: syscall.ECONNREFUSED}
}

// CutOff disconnects the host from the network permanently: nothing that it sends arrives. Earlier
// requests are still processed.
func (h *Host) CutOff() {
	h.mu.Lock()
	h.off = true
	var open []*connection
	for c := range h.connections {
		open = append(open, c)
	}
	h.mu.Unlock()
	for _, c := range open {
		_ = c.Close() // which never fails
	}
}

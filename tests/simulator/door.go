package simulator

import (
	"context"
	"net"
	"sync"
)

// listen opens a port of this machine. That takes no time, so it needs no context.
func listen(address string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
}

// door is a listener that can be shut for a while: new connections are refused, and open ones are
// lost.
type door struct {
	address string
	listen  func(address string) (net.Listener, error)

	mu          sync.Mutex
	inner       net.Listener  // nil while it is shut
	opened      chan struct{} // closed when inner is there
	connections map[*guest]bool
	closed      bool
}

func newDoor(inner net.Listener, listen func(address string) (net.Listener, error)) *door {
	d := &door{
		address: inner.Addr().String(), listen: listen, inner: inner, opened: make(chan struct{}), connections: map[*guest]bool{},
	}
	close(d.opened)
	return d
}

// Accept implements net.Listener. While the door is shut it waits.
func (d *door) Accept() (net.Conn, error) {
	for {
		inner, opened, err := d.listener()
		if err != nil {
			return nil, err
		}
		if inner == nil {
			<-opened
			continue
		}
		connection, err := inner.Accept()
		if err == nil {
			return d.enter(connection), nil
		}
		if again, _, closed := d.listener(); closed != nil || again == inner {
			return nil, err
		}
	}
}

// listener returns the open listener or, if the door is shut, a channel that is closed when it
// opens.
func (d *door) listener() (net.Listener, <-chan struct{}, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, nil, net.ErrClosed
	}
	return d.inner, d.opened, nil
}

// guest is a connection that removes itself from its door when it is closed.
type guest struct {
	net.Conn
	door  *door
	leave sync.Once
	left  chan struct{} // closed when the server is done with it
}

// Close implements net.Conn.
func (g *guest) Close() error {
	g.leave.Do(func() {
		g.door.mu.Lock()
		delete(g.door.connections, g)
		g.door.mu.Unlock()
		close(g.left)
	})
	return g.Conn.Close()
}

// SetLinger lets faults reset connections.
func (g *guest) SetLinger(seconds int) error {
	if connection, is := g.Conn.(interface{ SetLinger(seconds int) error }); is {
		return connection.SetLinger(seconds)
	}
	return nil
}

func (d *door) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.connections)
}

func (d *door) enter(connection net.Conn) net.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inner == nil { // shut meanwhile
		_ = connection.Close()
	}
	entered := &guest{Conn: connection, door: d, left: make(chan struct{})}
	d.connections[entered] = true
	return entered
}

// clear breaks every connection, and waits until the server has finished with each or the context
// ends.
func (d *door) clear(ctx context.Context) error {
	d.mu.Lock()
	var all []*guest
	for connection := range d.connections {
		_ = connection.Conn.Close() // the server notices, when it is done with the request
		all = append(all, connection)
	}
	d.mu.Unlock()
	for _, connection := range all {
		select {
		case <-connection.left:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// shut refuses connections from now on. It does nothing if the door is already shut.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inner == nil || d.closed {
		return
	}
	d.opened = make(chan struct{})
	_ = d.inner.Close() // nothing is left that could go wrong with it
	d.inner = nil
	for connection := range d.connections {
		_ = connection.Conn.Close()
	}
	clear(d.connections)
}

// open listens again at the same address.
func (d *door) open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inner != nil || d.closed {
		return nil
	}
	inner, err := d.listen(d.address)
	if err != nil {
		return err
	}
	d.inner = inner
	close(d.opened)
	return nil
}

// Close implements net.Listener.
func (d *door) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	if d.inner == nil {
		close(d.opened)
		return nil
	}
	return d.inner.Close()
}

// Addr implements net.Listener.
func (d *door) Addr() net.Addr {
	address, err := net.ResolveTCPAddr("tcp", d.address)
	if err != nil {
		return &net.TCPAddr{} // no host and port, as a listener that is none of this machine's may have
	}
	return address
}

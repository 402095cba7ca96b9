package netns

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// Forward lets TCP clients in the namespace reach, at an address there, a server of
// the namespace that this process is in, until the result is closed.
func (n Namespace) Forward(address, server string) (io.Closer, error) {
	listener, err := n.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("forward %s of network namespace %q: %w", address, n, err)
	}
	f := &forwarder{listener: listener, server: server, connections: map[net.Conn]bool{}}
	f.workers.Go(f.accept)
	return f, nil
}

type forwarder struct {
	listener net.Listener
	server   string
	workers  sync.WaitGroup

	mutex       sync.Mutex
	closed      bool
	connections map[net.Conn]bool
}

// Close also ends the connections.
func (f *forwarder) Close() error {
	err := f.listener.Close()
	f.mutex.Lock()
	f.closed = true
	for connection := range f.connections {
		connection.Close()
	}
	f.mutex.Unlock()
	f.workers.Wait()
	return err
}

func (f *forwarder) accept() {
	for {
		client, err := f.listener.Accept()
		if err != nil {
			return // closed
		}
		f.workers.Go(func() { f.join(client) })
	}
}

// join ends both connections with one of them: half of one is of no use to TLS.
func (f *forwarder) join(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", f.server)
	if err != nil {
		return // the client sees its connection end
	}
	defer server.Close()
	if !f.track(client, server) {
		return
	}
	defer f.forget(client, server)
	f.workers.Go(func() {
		_, _ = io.Copy(server, client) // its end is all there is to know
		server.Close()
	})
	_, _ = io.Copy(client, server)
}

func (f *forwarder) track(pair ...net.Conn) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, connection := range pair {
		f.connections[connection] = true
	}
	return !f.closed
}

func (f *forwarder) forget(pair ...net.Conn) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, connection := range pair {
		delete(f.connections, connection)
	}
}

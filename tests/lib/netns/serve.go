package netns

import (
	"net"
	"sync"
)

// Server passes the connections of a listener to a function, each in a goroutine.
type Server struct {
	listener net.Listener
	handle   func(net.Conn)
	workers  sync.WaitGroup

	mutex       sync.Mutex
	closed      bool
	connections map[net.Conn]bool
}

// Serve starts one. A connection is closed when it has been handled.
func Serve(listener net.Listener, handle func(net.Conn)) *Server {
	s := &Server{listener: listener, handle: handle, connections: map[net.Conn]bool{}}
	s.workers.Go(s.accept)
	return s
}

// Addr is where it listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close also ends the connections, and returns when all have been handled.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.mutex.Lock()
	s.closed = true
	for connection := range s.connections {
		connection.Close()
	}
	s.mutex.Unlock()
	s.workers.Wait()
	return err
}

func (s *Server) accept() {
	for {
		connection, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		if s.track(connection) {
			s.workers.Go(func() {
				defer s.forget(connection)
				s.handle(connection)
			})
		}
	}
}

func (s *Server) track(connection net.Conn) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		connection.Close()
		return false
	}
	s.connections[connection] = true
	return true
}

func (s *Server) forget(connection net.Conn) {
	connection.Close()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.connections, connection)
}

package node

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// maxDatagram is more than any UDP payload has.
const maxDatagram = 64 << 10

// udpServer sends every datagram back, after a line with the node's name.
type udpServer struct {
	node     string
	socket   net.PacketConn
	frontend atomic.Pointer[frontend]
	worker   sync.WaitGroup
}

func newUDPServer(options Options, address string, f frontend) (*udpServer, error) {
	socket, err := options.Namespace.ListenPacket("udp", address)
	if err != nil {
		return nil, err
	}
	s := &udpServer{node: options.Name, socket: socket}
	s.update(f)
	s.worker.Go(s.serve)
	return s, nil
}

func (s *udpServer) update(f frontend) { s.frontend.Store(&f) }

// Close ends the answers.
func (s *udpServer) Close() error {
	err := s.socket.Close()
	s.worker.Wait()
	return err
}

func (s *udpServer) serve() {
	buffer := make([]byte, maxDatagram)
	for {
		n, client, err := s.socket.ReadFrom(buffer)
		if err != nil {
			return // closed
		}
		answer := fmt.Appendf(nil, "node %s service %s\n", s.node, s.frontend.Load().service)
		_, _ = s.socket.WriteTo(append(answer, buffer[:n]...), client) // UDP promises nothing
	}
}

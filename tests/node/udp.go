package node

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/netns"
)

// maxDatagram is more than any UDP payload has.
const maxDatagram = 64 << 10

// udpServer sends every datagram back, after a line with the name of the node that
// it reached, where there is a pod to do so.
type udpServer struct {
	reached  reached
	socket   net.PacketConn
	frontend atomic.Pointer[frontend]
	worker   sync.WaitGroup
}

func newUDPServer(namespace netns.Namespace, address string, reached reached, f frontend) (*udpServer, error) {
	socket, err := namespace.ListenPacket("udp", address)
	if err != nil {
		return nil, err
	}
	s := &udpServer{reached: reached, socket: socket}
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
		f := s.frontend.Load()
		if len(f.endpoints) == 0 {
			continue
		}
		answer := fmt.Appendf(nil, "node %s service %s\n", s.reached(client), f.service)
		_, _ = s.socket.WriteTo(append(answer, buffer[:n]...), client) // UDP promises nothing
	}
}

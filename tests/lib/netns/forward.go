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
	return Serve(listener, func(client net.Conn) { join(client, server) }), nil
}

// join ends both connections with one of them: half of one is of no use to TLS.
func join(client net.Conn, address string) {
	server, err := net.Dial("tcp", address)
	if err != nil {
		return // the client sees its connection end
	}
	var back sync.WaitGroup
	defer back.Wait()
	back.Go(func() {
		defer client.Close()
		_, _ = io.Copy(client, server) // its end is all there is to know
	})
	defer server.Close()
	_, _ = io.Copy(server, client)
}

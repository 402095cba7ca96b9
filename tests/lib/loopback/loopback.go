// Package loopback shares the addresses and ports of the loopback network out among the tests of
// this process and of others.
package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Port is one that the tests may listen on at the addresses of their block: above
// the ports that Linux gives away by itself (32768 to 60999).
const Port = 61002

// Block returns a number that no other test on this machine has until the end of
// this one: the networks 127.x.BLOCK.0/24 are the test's own.
func Block(t *testing.T) int {
	t.Helper()
	const blocks, claims = 250, 61001
	start := rand.IntN(blocks)
	for i := range blocks {
		block := (start + i) % blocks
		claim, err := net.Listen("tcp", fmt.Sprintf("127.229.%d.1:%d", block, claims))
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = claim.Close() })
		return block
	}
	t.Fatal("every block of 127.229.0.0/16 is taken")
	return 0
}

// FreePort returns a TCP port that is free on 127.0.0.1, and that no other test on this machine
// gets until the end of this one. It is below the ports that Linux gives to outgoing connections
// (32768 to 60999): those may take a port between the moment at which it was free and the moment
// at which a server listens. It is also none of Kubernetes' own (10248 to 10260), nor of the
// OpenStack of make e2e (21211 to 29877). The claim is a socket of UDP, so that a server of TCP may
// listen on all addresses.
func FreePort(t *testing.T) int {
	t.Helper()
	const first, ports = 11000, 10000
	for range 100 {
		port := first + rand.IntN(ports)
		claim, err := net.ListenPacket("udp", fmt.Sprintf("127.229.250.1:%d", port))
		if err != nil {
			continue
		}
		server, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			_ = claim.Close()
			continue
		}
		_ = server.Close()
		t.Cleanup(func() { _ = claim.Close() })
		return port
	}
	t.Fatal("no free port")
	return 0
}

// Package loopback shares the loopback network out among tests that need addresses
// of their own, in this process and in others.
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

package loopback_test

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/loopback"
)

func TestBlock_IsNeverReturnedTwice(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 20 {
		block := loopback.Block(t)
		if seen[block] {
			t.Errorf("block %d was given twice", block)
		}
		seen[block] = true
	}
}

func TestFreePort_IsNeverReturnedTwiceAndIsNotOneOfOutgoingConnections(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 500 {
		port := loopback.FreePort(t)
		if seen[port] || port >= 32768 {
			t.Errorf("port %d", port)
		}
		seen[port] = true
	}
}

package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
)

// Network is a pair of address ranges on loopback that no other cluster on this
// machine has at the same time.
type Network struct {
	// CIDR is that of the servers, ExternalCIDR that of the floating IPs.
	CIDR, ExternalCIDR string
	claim              net.Listener
}

// ClaimNetwork takes a network that is free. It stays taken until Release, or
// until this process ends: the claim is a socket on an address of the network
// that no server gets.
func ClaimNetwork() (Network, error) {
	for _, i := range rand.Perm(254) {
		third := i + 1
		claim, err := net.Listen("tcp", fmt.Sprintf("127.100.%d.255:10256", third))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return Network{}, fmt.Errorf("claim a network: %w", err)
		}
		return Network{
			CIDR:         fmt.Sprintf("127.100.%d.0/24", third),
			ExternalCIDR: fmt.Sprintf("127.200.%d.0/24", third),
			claim:        claim,
		}, nil
	}
	return Network{}, errors.New("claim a network: all of 127.100.0.0/16 are taken")
}

// Release lets others have the network.
func (n Network) Release() error { return n.claim.Close() }

package node

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
)

// FreeAddress returns an address of 127.101.0.0/16 that no other node on this
// machine has: its kube-proxy port is free.
// Every process of tests takes its nodes from the same network, so the address
// is a random one.
func FreeAddress() (netip.Addr, error) {
	const attempts = 100
	var last error
	for range attempts {
		address := netip.AddrFrom4([4]byte{127, 101, byte(1 + rand.IntN(254)), byte(1 + rand.IntN(254))})
		if last = Claimable(address); last == nil {
			return address, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("find a free node address: %w", last)
}

// Claimable returns an error if a node cannot have the address.
func Claimable(address netip.Addr) error {
	listener, err := net.Listen("tcp", endpointOf(address, proxyHealthPort))
	if err != nil {
		return err
	}
	return listener.Close()
}

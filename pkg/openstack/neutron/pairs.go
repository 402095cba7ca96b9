package neutron

import (
	"net/netip"
	"slices"
	"strings"
)

// A port with port security accepts only packets from its own addresses and its allowed address
// pairs.

// NeedsPairs reports whether the port needs address pairs for the addresses behind it.
func (p *RoutedPort) NeedsPairs() bool {
	return p.AddressPairs != nil && (p.PortSecurity == nil || *p.PortSecurity)
}

// Admits reports whether the port admits packets from all addresses of a prefix behind it. A wider
// pair of another client suffices.
func (p *RoutedPort) Admits(to netip.Prefix) bool {
	return !p.NeedsPairs() || slices.ContainsFunc(*p.AddressPairs, func(pair AddressPair) bool {
		has, ok := p.PairPrefix(pair)
		return ok && has.Bits() <= to.Bits() && has.Contains(to.Addr())
	})
}

// PairPrefix returns the addresses of a pair with the port's own MAC, and false for another pair.
func (p *RoutedPort) PairPrefix(pair AddressPair) (netip.Prefix, bool) {
	if pair.MACAddress != "" && !strings.EqualFold(pair.MACAddress, p.MACAddress) {
		return netip.Prefix{}, false
	}
	if prefix, err := netip.ParsePrefix(pair.IPAddress); err == nil {
		return prefix.Masked(), true
	}
	address, err := netip.ParseAddr(pair.IPAddress)
	if err != nil {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(address, address.BitLen()), true
}

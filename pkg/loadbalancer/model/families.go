package model

import (
	"net/netip"
	"slices"
)

// The IP families, as Kubernetes and Neutron spell them.
const (
	IPv4 = "IPv4"
	IPv6 = "IPv6"
)

// AdditionalVIP is a VIP besides the first of a load balancer.
type AdditionalVIP struct {
	// Family is IPv4 or IPv6.
	Family string
	// SubnetID and Address of a desired one are "" if any will do.
	SubnetID, Address string
}

// FamilyOf returns the IP family of an address, "" if it is none. An IPv4-mapped IPv6 address is IPv4.
func FamilyOf(address string) string {
	parsed, err := netip.ParseAddr(address)
	switch {
	case err != nil:
		return ""
	case parsed.Unmap().Is4():
		return IPv4
	}
	return IPv6
}

// DualStack reports whether the VIPs of an existing load balancer are of both families.
func (v VIP) DualStack() bool {
	first := FamilyOf(v.Address)
	return first != "" && slices.ContainsFunc(v.Additional, func(a AdditionalVIP) bool { return a.Family != first })
}

// Addresses returns the addresses of the VIPs of an existing load balancer, the first VIP's first.
func (v VIP) Addresses() []string {
	all := []string{v.Address}
	for _, a := range v.Additional {
		all = append(all, a.Address)
	}
	return all
}

// FixedAddress returns the address of the VIP that gets the floating IP, the first of IPv4; "" if there is
// only one VIP.
func (v VIP) FixedAddress() string {
	if len(v.Additional) == 0 {
		return ""
	}
	for _, address := range v.Addresses() {
		if FamilyOf(address) == IPv4 {
			return address
		}
	}
	return ""
}

// HasAddress reports whether a load balancer has an address, on a VIP or as its floating IP.
func (lb *LoadBalancer) HasAddress(address string) bool {
	return slices.Contains(lb.VIP.Addresses(), address) || lb.FloatingIP != nil && lb.FloatingIP.Address == address
}

package model

import (
	"cmp"
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

// IPFamily returns the IP family of the first VIP, "" if it is unknown.
func (v VIP) IPFamily() string { return cmp.Or(FamilyOf(v.Address), v.Family) }

// DualStack reports whether the VIPs of an existing load balancer are of both families.
func (v VIP) DualStack() bool {
	first := v.IPFamily()
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

// InFamily returns the addresses of the VIPs of an IP family.
func (v VIP) InFamily(family string) []string {
	var all []string
	if v.IPFamily() == family {
		all = append(all, v.Address)
	}
	for _, a := range v.Additional {
		if a.Family == family {
			all = append(all, a.Address)
		}
	}
	return all
}

// FixedAddress returns the address of the VIP that gets the floating IP, the first of IPv4; "" if there is
// only one VIP.
func (v VIP) FixedAddress() string {
	if four := v.InFamily(IPv4); len(v.Additional) > 0 && len(four) > 0 {
		return four[0]
	}
	return ""
}

// HasAddress reports whether a load balancer has an address, on a VIP or as its floating IP.
func (lb *LoadBalancer) HasAddress(address string) bool {
	return slices.Contains(lb.VIP.Addresses(), address) || lb.FloatingIP != nil && lb.FloatingIP.Address == address
}

package instances

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	nodehelpers "k8s.io/cloud-provider/node/helpers"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/nova"
)

// addressRules convert the addresses of a server to those of a node, as configured in [Networking]
// of cloud.conf:
//
//	floating IP                               ExternalIP
//	on a network of public-network-name       ExternalIP
//	internal-network-name given, not in it    left out
//	any other                                 InternalIP
//	accessIPv4, accessIPv6                    ExternalIP
//	metadata "hostname"                       Hostname
//
// Without that metadata there is no Hostname, and the kubelet's is kept: the API server may use it
// to reach the kubelet, and the name of a server may not resolve.
type addressRules struct {
	noIPv6            bool
	publicNetworks    []string
	internalNetworks  []string
	preferredPrefixes []netip.Prefix
}

func newAddressRules(networking config.Networking) (addressRules, error) {
	rules := addressRules{
		noIPv6:           networking.IPv6SupportDisabled,
		publicNetworks:   networking.PublicNetworkName,
		internalNetworks: networking.InternalNetworkName,
	}
	for _, text := range config.Items(networking.AddressSortOrder) {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return addressRules{}, fmt.Errorf("[Networking] address-sort-order: %q is not a CIDR: %w", text, err)
		}
		rules.preferredPrefixes = append(rules.preferredPrefixes, prefix.Masked())
	}
	return rules, nil
}

// of returns the node addresses of a server without duplicates: first those that the node already
// has, in their order, then internal ones in the order of the server's ports, then external ones.
// The first address must be stable, because the API server and network plugins use it, and neither
// Nova nor Neutron guarantees an order.
func (r addressRules) of(server *nova.Server, current []v1.NodeAddress) []v1.NodeAddress {
	addresses := r.all(server)
	position := func(address v1.NodeAddress) int {
		if at := slices.Index(current, address); at >= 0 {
			return at
		}
		return len(current)
	}
	slices.SortStableFunc(addresses, func(a, b v1.NodeAddress) int { return cmp.Compare(position(a), position(b)) })
	r.sort(addresses)
	return addresses
}

func (r addressRules) all(server *nova.Server) []v1.NodeAddress {
	var addresses []v1.NodeAddress
	add := func(kind v1.NodeAddressType, address string) {
		if r.allowed(address) {
			nodehelpers.AddToNodeAddresses(&addresses, v1.NodeAddress{Type: kind, Address: address})
		}
	}
	var external []nova.ServerAddress
	for _, address := range server.Addresses {
		switch {
		case address.Floating, slices.Contains(r.publicNetworks, address.Network):
			external = append(external, address)
		case len(r.internalNetworks) == 0, slices.Contains(r.internalNetworks, address.Network):
			add(v1.NodeInternalIP, address.Address)
		}
	}
	add(v1.NodeExternalIP, server.AccessIPv4)
	add(v1.NodeExternalIP, server.AccessIPv6)
	if name := server.Metadata["hostname"]; name != "" {
		addresses = append(addresses, v1.NodeAddress{Type: v1.NodeHostName, Address: name})
	}
	slices.SortStableFunc(external, func(a, b nova.ServerAddress) int { return cmp.Compare(a.Network, b.Network) })
	for _, address := range external {
		add(v1.NodeExternalIP, address.Address)
	}
	return addresses
}

func (r addressRules) allowed(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && ip.Zone() == "" && (ip.Is4() || !r.noIPv6) // a zone may contain any text
}

// sort orders the addresses by the CIDR of address-sort-order that contains them, and within a CIDR
// numerically. Addresses in none of them come last, in their previous order.
func (r addressRules) sort(addresses []v1.NodeAddress) {
	none := len(r.preferredPrefixes)
	rank := func(address v1.NodeAddress) (int, netip.Addr) {
		ip, err := netip.ParseAddr(address.Address)
		if err == nil {
			for n, prefix := range r.preferredPrefixes {
				if prefix.Contains(ip) {
					return n, ip
				}
			}
		}
		return none, netip.Addr{}
	}
	slices.SortStableFunc(addresses, func(a, b v1.NodeAddress) int {
		rankA, ipA := rank(a)
		rankB, ipB := rank(b)
		return cmp.Or(cmp.Compare(rankA, rankB), ipA.Compare(ipB))
	})
}

func hasIP(addresses []v1.NodeAddress) bool {
	return slices.ContainsFunc(addresses, func(address v1.NodeAddress) bool { return address.Type != v1.NodeHostName })
}

// printed formats a server's addresses for an error.
func printed(addresses []nova.ServerAddress) string {
	if len(addresses) == 0 {
		return "none"
	}
	var texts []string
	for _, address := range addresses {
		texts = append(texts, address.Address+" on "+address.Network)
	}
	return strings.Join(texts, ", ")
}

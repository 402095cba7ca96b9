package members

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// Backend is a node with the address at which it is a member.
type Backend struct {
	Node    *v1.Node
	Address string
	// Older are the other nodes that would be members with this address; usually there are none.
	Older []*v1.Node
}

// selectAll returns all nodes that can be members, each with its address of the Service's family and
// preferably in the range of the settings. Of several nodes with the same address it returns the newest:
// the others are remnants of deleted servers. The result is empty if a user or operator requests that,
// and there is an error if no node remains for another reason: see Standing.
func selectAll(s *settings.Settings, nodes []*v1.Node) (*Set, error) {
	selected, going, standing := candidates(s, nodes)
	within := s.Members.Within[s.Family]
	backends, without := addressed(s.Family, within, selected)
	set := newSet(backends, without, standing)
	set.leaving, _ = addressed(s.Family, within, going)
	switch {
	case len(backends) > 0 || standing != Usual:
		return set, nil
	case len(selected) == 0:
		return set, fmt.Errorf("the cluster has no node that can be a member: keeping the existing members")
	default:
		return set, fmt.Errorf("no node has an address of family %s: %s; keeping the existing members", s.Family, message.JoinLimited(without))
	}
}

// addressed returns nodes with their addresses of a family, sorted by name, and the names of those
// without one. Of several nodes with the same address it returns the newest.
func addressed(family v1.IPFamily, within netip.Prefix, selected []*v1.Node) (backends []Backend, without []string) {
	slices.SortFunc(selected, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	newest, older := map[string]*v1.Node{}, map[string][]*v1.Node{} // by address
	for _, node := range selected {
		address := nodeAddress(node, family, within)
		switch first := newest[address]; {
		case address == "":
			without = append(without, node.Name)
		case first == nil:
			newest[address] = node
		case first.CreationTimestamp.Before(&node.CreationTimestamp):
			newest[address], older[address] = node, append(older[address], first)
		default:
			older[address] = append(older[address], node)
		}
	}
	for _, node := range selected {
		if address := nodeAddress(node, family, within); newest[address] == node {
			backends = append(backends, Backend{node, address, older[address]})
		}
	}
	return backends, without
}

// nodeAddress returns the first address of a family in a range, else the first one of all. Internal
// addresses come before external ones.
func nodeAddress(node *v1.Node, wanted v1.IPFamily, within netip.Prefix) string {
	first := ""
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, a := range node.Status.Addresses {
			if a.Type != kind {
				continue
			}
			if address, err := netip.ParseAddr(a.Address); err == nil && address.Zone() == "" && settings.InFamily(address, wanted) {
				address = address.Unmap()
				if within.Contains(address) {
					return address.String()
				}
				first = cmp.Or(first, address.String())
			}
		}
	}
	return first
}

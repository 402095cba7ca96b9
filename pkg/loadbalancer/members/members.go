// Package members selects the nodes that become members of the pools of a Service. It is
// pure.
package members

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
)

// Backend is a node with the address at which it is a member.
type Backend struct {
	Node    *v1.Node
	Address string
}

// Select returns the nodes that become members, ordered by name, each with its address of
// the Service's family, and the names of those that have none. It is an error, a
// *NoneSelectedError where the node selector is the reason, if no node is left.
func Select(s *settings.Settings, nodes []*v1.Node) (backends []Backend, without []string, err error) {
	backends, without, err = selectAll(s, nodes)
	return subset(backends, s.Members.Max, s.Members.Seed), without, err
}

// selectAll is Select, however many nodes a Service wants at most.
func selectAll(s *settings.Settings, nodes []*v1.Node) (backends []Backend, without []string, err error) {
	selected := slices.Collect(func(yield func(*v1.Node) bool) {
		for _, node := range nodes {
			if s.Members.NodeSelector.Matches(labels.Set(node.Labels)) && !yield(node) {
				return
			}
		}
	})
	slices.SortFunc(selected, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	taken := map[string]bool{}
	for _, node := range selected {
		address := nodeAddress(node, s.Family)
		switch {
		case address == "":
			without = append(without, node.Name)
		case !taken[address]:
			taken[address] = true
			backends = append(backends, Backend{node, address})
		}
	}
	if len(backends) > 0 {
		return backends, without, nil
	}
	switch {
	case len(nodes) == 0:
		return nil, nil, fmt.Errorf("the cluster has no node that can be a member")
	case len(selected) == 0:
		return nil, nil, &NoneSelectedError{len(nodes), s.Members.NodeSelector.String()}
	default:
		return nil, without, fmt.Errorf("no node has an address of family %s: %s", s.Family, message.JoinLimited(without))
	}
}

// NoneSelectedError reports that the node selector of a Service matches none of the nodes.
type NoneSelectedError struct {
	Nodes    int
	Selector string
}

// Error implements error.
func (e *NoneSelectedError) Error() string {
	return fmt.Sprintf("none of %d nodes matches the node selector %q", e.Nodes, e.Selector)
}

// nodeAddress returns the first internal address of a family, else the first external
// one.
func nodeAddress(node *v1.Node, wanted v1.IPFamily) string {
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP} {
		for _, a := range node.Status.Addresses {
			if a.Type != kind {
				continue
			}
			if address, err := netip.ParseAddr(a.Address); err == nil && address.Zone() == "" && settings.InFamily(address, wanted) {
				return address.Unmap().String()
			}
		}
	}
	return ""
}

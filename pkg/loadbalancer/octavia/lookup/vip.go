package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// vip sets the subnet of the VIP: the configured one, one of the configured network, or the one of
// most nodes. It is empty if Octavia chooses it.
func (g gathering) vip(ctx context.Context) (err error) {
	s, facts := g.s, g.facts
	family := facts.VIPFamilies[0]
	switch {
	case s.VIP.PortID != "":
		facts.VIPSubnetID, err = g.ownPort(ctx)
	case s.VIP.SubnetID != "":
		facts.VIPSubnetID, facts.VIPNetworkID = s.VIP.SubnetID, s.VIP.NetworkID
		err = g.named(ctx, annotation.SubnetID, s.VIP.SubnetID)
	case s.VIP.NetworkID != "":
		facts.VIPNetworkID = s.VIP.NetworkID
		err = g.inNetwork(ctx, family)
	default:
		err = g.ofNodes(ctx, family)
	}
	var refused *Error
	if errors.As(err, &refused) && family != s.Family && !s.Dual.Required() {
		facts.OneFamily = refused.Message
		return nil
	}
	if err != nil {
		return err
	}
	return g.additionalVIPs(ctx)
}

// named returns an error for a subnet in the Service itself that the project does not see. Octavia
// validates one in cloud.conf: some clouds let projects use subnets that they do not see, and the
// operator has the command check.
func (g gathering) named(ctx context.Context, name, id string) error {
	s := g.s
	by := s.Origins().Of(name)
	if !by.Service {
		return nil
	}
	_, err := g.networks.subnet(ctx, id)
	if apierror.IsNotFound(err) {
		return noSubnet(by.Name, id)
	}
	return err
}

// inNetwork sets the subnet of a VIP if only the network is known:
//
//	the Service requests an address        the subnet that contains the address
//	one subnet of the family               that
//	several, of IPv4                       Octavia's choice: the first that has free addresses
//	several, of IPv6                       likewise in a network of IPv6 alone, else the first: Octavia prefers IPv4
//	none visible                           Octavia's choice
func (g gathering) inNetwork(ctx context.Context, family v1.IPFamily) error {
	s, facts := g.s, g.facts
	by := s.Origins().Of(annotation.NetworkID).Name
	network, err := g.networks.namedNetwork(ctx, s.VIP.NetworkID, by)
	if err != nil {
		return err
	}
	subnets, err := g.networks.subnets(ctx, network.ID)
	if err != nil {
		return err
	}
	ofFamily := slices.DeleteFunc(slices.Clone(subnets), func(subnet neutron.Subnet) bool {
		return familyOf(subnet) != family
	})
	slices.SortFunc(ofFamily, func(a, b neutron.Subnet) int { // in the order in which Octavia tries them
		return cmp.Compare(slices.Index(network.Subnets, a.ID), slices.Index(network.Subnets, b.ID))
	})
	address, askedBy := s.VIPAddress(family, s.FloatingIP())
	switch {
	case len(subnets) == 0 && len(network.Subnets) > 0:
		return nil
	case len(ofFamily) == 0:
		return &Error{Message: fmt.Sprintf("%s: network %s has no subnet of family %s for the VIP: name another network, or add such a subnet", by, network.ID, family)}
	case address != "":
		i := slices.IndexFunc(ofFamily, func(subnet neutron.Subnet) bool { return contains(subnet, address) })
		if i < 0 {
			return &Error{Message: fmt.Sprintf("%s: %s is in no subnet of network %s of the VIP (%s): choose another address, or leave the choice to OpenStack",
				askedBy, address, network.ID, cidrsOf(ofFamily))}
		}
		facts.VIPSubnetID = ofFamily[i].ID
	case len(ofFamily) == 1:
		facts.VIPSubnetID = ofFamily[0].ID
	case family == v1.IPv6Protocol && len(ofFamily) < len(subnets):
		facts.VIPSubnetID = ofFamily[0].ID
		facts.ChosenSubnet = fmt.Sprintf("The VIP is in subnet %s, the first of %d of family IPv6 in network %s. To choose, %s", ofFamily[0].ID, len(ofFamily), network.ID, nameSubnet)
	}
	return nil
}

// nameSubnet is the instruction how to choose the subnet of the VIP.
const nameSubnet = "name one with the annotation loadbalancer.openstack.org/subnet-id, or with subnet-id in cloud.conf"

// contains reports whether an address is in a subnet.
func contains(subnet neutron.Subnet, address string) bool {
	prefix, err := netip.ParsePrefix(subnet.CIDR)
	if err != nil {
		return false
	}
	parsed, err := netip.ParseAddr(address)
	return err == nil && prefix.Contains(parsed)
}

// cidrsOf returns the CIDRs of subnets, limited to the first few.
func cidrsOf(subnets []neutron.Subnet) string {
	cidrs := make([]string, len(subnets))
	for i, subnet := range subnets {
		cidrs[i] = subnet.CIDR
	}
	return message.JoinLimited(cidrs)
}

// ofNodes sets the subnet of most nodes, the first by ID if there are several, and a message about
// the choice if there are others. For a Service with a floating IP, it skips subnets without a
// router to an external network.
func (g gathering) ofNodes(ctx context.Context, family v1.IPFamily) error {
	s, facts := g.s, g.facts
	nodes := nodesIn(facts.MemberSubnets, family)
	if len(nodes) == 0 {
		return &Error{Message: "no subnet for the VIP: the default is the subnet of most nodes, but no server in the provider ID of a node " +
			"has the node's address on a port of this project; " + nameSubnet}
	}
	subnets := slices.SortedFunc(maps.Keys(nodes), func(a, b string) int {
		return cmp.Or(cmp.Compare(nodes[b], nodes[a]), cmp.Compare(a, b))
	})
	facts.VIPSubnetID = subnets[0]
	if len(subnets) == 1 {
		return nil
	}
	which := "which most nodes are in"
	if s.FloatingIP() {
		for i, subnet := range subnets {
			way, err := g.routers.gateways(ctx, "", subnet)
			if err != nil {
				return err
			}
			if way.lead(s.Floating.NetworkID) {
				facts.VIPSubnetID = subnet
				if i > 0 {
					which = "the first from which a router leads to an external network"
				}
				break
			}
		}
	}
	var counts []string
	for _, in := range slices.Sorted(maps.Keys(nodes)) {
		counts = append(counts, fmt.Sprintf("%s: %d", in, nodes[in]))
	}
	facts.ChosenSubnet = fmt.Sprintf("The VIP is in subnet %s, %s; the nodes are in %d subnets (%s). To choose, %s",
		facts.VIPSubnetID, which, len(counts), strings.Join(counts, ", "), nameSubnet)
	return nil
}

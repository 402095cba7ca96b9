package lookup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// additionalVIPs sets the VIPs besides the first. They are in the subnets that the Service names or, for a
// second IP family, in one of the network of the first. Octavia wants all VIPs in one network, and in
// different subnets.
//
//	second IP family wanted      there is a subnet for it   it is required   VIPs
//	no                           any                        any              those that the Service names
//	yes                          yes                        any              also one of that IP family
//	yes                          no                         yes              refused
//	yes                          no                         no               the first alone; facts have the reason
func (g gathering) additionalVIPs(ctx context.Context) error {
	s, facts := g.s, g.facts
	if len(facts.VIPFamilies) == 1 && len(s.VIP.AdditionalSubnetIDs) == 0 || !s.For(facts.Driver).WantsVIPs() {
		return nil
	}
	network, why, err := g.vipNetwork(ctx)
	if err != nil {
		return err
	}
	var vips []model.AdditionalVIP
	if why == "" {
		vips, why, err = g.vipsIn(ctx, network)
	}
	switch {
	case err != nil:
		return err
	case why == "":
		facts.AdditionalVIPs = vips
	case s.Dual.Required() || len(facts.VIPFamilies) == 1:
		return &Error{Message: "VIPs of the Service: " + why}
	default:
		facts.OneFamily = why
	}
	return nil
}

// vipNetwork returns the network of the first VIP, or the reason why others beside it are impossible. The
// subnet of the first VIP, which a setting may have, determines its IP family. The project may not see that
// subnet, but it sees those of its nodes.
func (g gathering) vipNetwork(ctx context.Context) (id, why string, err error) {
	facts := g.facts
	if facts.VIPSubnetID == "" {
		return facts.VIPNetworkID, "", nil
	}
	subnet, err := g.networks.subnet(ctx, facts.VIPSubnetID)
	ofNodes := slices.Contains(slices.Collect(maps.Values(facts.MemberSubnets)), facts.VIPSubnetID)
	switch {
	case apierror.IsNotFound(err) && !ofNodes:
		return "", fmt.Sprintf("this project cannot see subnet %s of the first VIP, whose network the others must be in", facts.VIPSubnetID), nil
	case err != nil:
		return "", "", err
	}
	if first := familyOf(*subnet); len(facts.VIPFamilies) > 1 && first != facts.VIPFamilies[0] {
		if facts.Driver.Quirks.PortPerVIP && first == v1.IPv6Protocol {
			return "", fmt.Sprintf("subnet %s of the first VIP is IPv6, and with the provider %s only the first VIP can have the floating IP", subnet.ID, facts.Driver.Name), nil
		}
		slices.Reverse(facts.VIPFamilies)
	}
	return subnet.NetworkID, "", nil
}

// vipsIn returns the VIPs besides the first in a network, or the reason why there is none of the second
// IP family.
func (g gathering) vipsIn(ctx context.Context, network string) (vips []model.AdditionalVIP, why string, err error) {
	s, facts := g.s, g.facts
	families := facts.VIPFamilies
	for i, id := range s.VIP.AdditionalSubnetIDs {
		if slices.Contains(s.VIP.AdditionalSubnetIDs[:i], id) {
			return nil, "", &Error{Message: fmt.Sprintf("%s: subnet %s occurs twice: each VIP needs a subnet of its own", annotation.AdditionalSubnets, id)}
		}
		subnet, err := g.namedVIPSubnet(ctx, id, network)
		if err != nil {
			return nil, "", err
		}
		vips = append(vips, model.AdditionalVIP{Family: string(familyOf(*subnet)), SubnetID: id})
	}
	if len(families) == 1 {
		return vips, "", nil
	}
	second := families[1]
	switch {
	case slices.ContainsFunc(vips, func(vip model.AdditionalVIP) bool { return vip.Family == string(second) }):
		return vips, "", nil
	case len(vips) > 0:
		return nil, "", &Error{Message: fmt.Sprintf("%s: none of the subnets is %s, the other IP family of the Service: add one", annotation.AdditionalSubnets, second)}
	}
	subnets, err := g.networks.subnets(ctx, network)
	if err != nil {
		return nil, "", err
	}
	subnets = slices.DeleteFunc(slices.Clone(subnets), func(subnet neutron.Subnet) bool { return familyOf(subnet) != second })
	if len(subnets) == 0 {
		return nil, fmt.Sprintf("network %s of the first VIP has no subnet of %s that this project can see", network, second), nil
	}
	nodes := nodesIn(facts.MemberSubnets, second)
	chosen := slices.MinFunc(subnets, func(a, b neutron.Subnet) int {
		return cmp.Or(cmp.Compare(nodes[b.ID], nodes[a.ID]), cmp.Compare(a.ID, b.ID))
	})
	return []model.AdditionalVIP{{Family: string(second), SubnetID: chosen.ID}}, "", nil
}

// namedVIPSubnet reads a subnet that the Service names for a VIP besides the first, and returns an error
// if there cannot be one.
func (g gathering) namedVIPSubnet(ctx context.Context, id, network string) (*neutron.Subnet, error) {
	refused := func(text string, args ...any) error {
		return &Error{Message: annotation.AdditionalSubnets + ": " + fmt.Sprintf(text, args...)}
	}
	subnet, err := g.networks.subnet(ctx, id)
	switch {
	case apierror.IsNotFound(err):
		return nil, noSubnet(annotation.AdditionalSubnets, id)
	case err != nil:
		return nil, err
	case subnet.NetworkID != network:
		return nil, refused("subnet %s is in network %s, and the first VIP in network %s: all VIPs must be in one network", id, subnet.NetworkID, network)
	case id == g.facts.VIPSubnetID:
		return nil, refused("subnet %s is that of the first VIP: each VIP needs a subnet of its own", id)
	case !slices.Contains(g.facts.VIPFamilies, familyOf(*subnet)):
		return nil, refused("subnet %s is %s, which is not among the Service's ipFamilies", id, familyOf(*subnet))
	}
	return subnet, nil
}

// otherSubnet sets the IP family of the members that are not in the subnet of all members, and their
// subnet if that of their node is unknown: that of the VIP of their family.
func (g gathering) otherSubnet(ctx context.Context, existing *model.LoadBalancer) error {
	s, facts := g.s, g.facts
	if s.Second == "" {
		return nil
	}
	vips := model.VIP{SubnetID: facts.VIPSubnetID, Additional: facts.AdditionalVIPs}
	if existing != nil {
		vips = existing.VIP
	}
	facts.Other = facts.VIPFamilies[1]
	if facts.MemberSubnetID != "" && facts.MemberSubnetID != s.VIP.SubnetID {
		family, err := g.Family(ctx, model.VIP{SubnetID: facts.MemberSubnetID})
		if err != nil {
			return err
		}
		if family == facts.Other {
			facts.Other = facts.VIPFamilies[0]
		}
	}
	if facts.Other == facts.VIPFamilies[0] {
		facts.OtherSubnetID = vips.SubnetID
		return nil
	}
	for _, vip := range vips.Additional {
		if vip.Family == string(facts.Other) {
			facts.OtherSubnetID = vip.SubnetID
			break
		}
	}
	return nil
}

// nodesIn counts the nodes in each of their subnets, by addresses of an IP family.
func nodesIn(subnets map[string]string, family v1.IPFamily) map[string]int {
	nodes := map[string]int{}
	for address, in := range subnets {
		if model.FamilyOf(address) == string(family) {
			nodes[in]++
		}
	}
	return nodes
}

// familyOf returns the IP family of a subnet.
func familyOf(subnet neutron.Subnet) v1.IPFamily {
	if subnet.IPVersion == 4 {
		return v1.IPv4Protocol
	}
	return v1.IPv6Protocol
}

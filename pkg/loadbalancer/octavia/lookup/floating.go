package lookup

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// floating sets the facts about the origin of the floating IP. It reads nothing if a suitable one
// exists, or if the Service names one.
func (g gathering) floating(ctx context.Context, existing *model.LoadBalancer) error {
	s, facts := g.s, g.facts
	if !s.FloatingIP() {
		return nil
	}
	asked, _ := s.AskedFloatingIP()
	there := existing != nil && existing.FloatingIP != nil && asked.Fits(*existing.FloatingIP)
	if there || asked.ID != "" || asked.Tag != "" {
		facts.FloatingNetworkID = s.Floating.NetworkID
		if s.Floating.SubnetID != "" {
			facts.FloatingSubnetIDs = []string{s.Floating.SubnetID}
		}
		return nil
	}
	vip := floatingVIP(existing, facts)
	if s.Second != "" && facts.Driver.Quirks.PortPerVIP && vip.IPFamily() == model.IPv6 {
		facts.NoFloatingIP = "the load balancer gets no floating IP: it was created for an internal Service, so its first VIP is not the one of IPv4"
		return nil
	}
	network, err := g.floatingNetwork(ctx, vip)
	if err != nil || network == nil {
		return err
	}
	facts.FloatingNetworkID = network.ID
	facts.FloatingSubnetIDs, err = g.floatingSubnets(ctx, network)
	return err
}

// floatingVIP returns the place of the VIP that gets the floating IP: the first one, or the one of IPv4.
func floatingVIP(existing *model.LoadBalancer, facts *desire.Facts) model.VIP {
	vip := model.VIP{SubnetID: facts.VIPSubnetID, NetworkID: facts.VIPNetworkID, Additional: facts.AdditionalVIPs}
	if existing != nil {
		vip = existing.VIP
	}
	if facts.VIPFamilies[0] == v1.IPv4Protocol {
		return vip
	}
	for _, additional := range vip.Additional {
		if additional.Family == model.IPv4 {
			vip.SubnetID = additional.SubnetID
			break
		}
	}
	return vip
}

// Floating returns the desired floating IP of a VIP, without its description. It is nil if the Service
// gets none; why is the reason if it requests one.
func (r *Reader) Floating(ctx context.Context, s *settings.Settings, existing *model.LoadBalancer, vip model.VIP) (fip *model.FloatingIP, why string, err error) {
	if !s.FloatingIP() {
		return nil, "", nil
	}
	facts := desire.Facts{VIPSubnetID: vip.SubnetID, VIPNetworkID: vip.NetworkID, VIPFamilies: []v1.IPFamily{s.Family}}
	if err := (gathering{r, s, &facts}).floating(ctx, existing); err != nil || facts.NoFloatingIP != "" {
		return nil, facts.NoFloatingIP, err
	}
	asked, _ := s.AskedFloatingIP()
	asked.NetworkID, asked.SubnetIDs = facts.FloatingNetworkID, facts.FloatingSubnetIDs
	return &asked, "", nil
}

// floatingNetwork returns the network of the floating IP: the configured one, if it is external,
// that of the configured subnet, or else one of the external networks. It is nil if there is none;
// facts then contains the reason.
func (g gathering) floatingNetwork(ctx context.Context, vip model.VIP) (*neutron.Network, error) {
	s := g.s
	id, by := s.Floating.NetworkID, s.Origins().Of(annotation.FloatingNetID).Name
	if id == "" && s.Floating.SubnetID != "" {
		subnet, err := g.networks.subnet(ctx, s.Floating.SubnetID)
		switch {
		case err == nil:
			id, by = subnet.NetworkID, s.Origins().Of(annotation.FloatingSubnet).Name
		case !apierror.IsNotFound(err): // a 404 is normal: most users cannot see the subnets of external networks
			return nil, err
		}
	}
	if id == "" {
		return g.anyExternal(ctx, vip)
	}
	network, err := g.networks.namedNetwork(ctx, id, by)
	if err != nil {
		return nil, err
	}
	if !network.External {
		return nil, &Error{Message: fmt.Sprintf("%s: network %s is not external and has no floating IPs; set an external network, or leave the choice to the controller", by, network.ID)}
	}
	return network, nil
}

// anyExternal returns one of the external networks. Of several, it prefers those with a router to
// the VIP and with the requested address, then the default one, then the first. An ordinary tenant
// does not see the subnets of external networks.
func (g gathering) anyExternal(ctx context.Context, vip model.VIP) (*neutron.Network, error) {
	s, facts := g.s, g.facts
	networks, err := g.networks.external(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(networks) == 0:
		facts.NoFloatingIP = "this project sees no external network, so the load balancer gets no floating IP and is reachable on its VIP only"
		return nil, nil
	case len(networks) == 1:
		return &networks[0], nil
	}
	way, err := g.routers.gateways(ctx, vip.NetworkID, vip.SubnetID)
	if err != nil {
		return nil, err
	}
	fit, err := g.routers.reachable(ctx, networks, way)
	if err != nil {
		return nil, err
	}
	if len(fit) == 0 {
		return nil, &Error{Message: fmt.Sprintf("%s: no router connects the VIP (%s) to one of the %d external networks that this project sees, so it cannot have a floating IP: "+
			"connect the subnet to a router with a gateway, set another subnet with the annotation loadbalancer.openstack.org/subnet-id, or make the Service internal",
			s.Origins().Of(annotation.FloatingNetID).Name, placeOf(vip), len(networks))}
	}
	if asked, _ := s.AskedFloatingIP(); asked.Address != "" {
		if fit, err = g.networks.having(ctx, fit, asked.Address); err != nil {
			return nil, err
		}
	}
	if i := slices.IndexFunc(fit, func(n neutron.Network) bool { return n.IsDefault }); i >= 0 {
		return &fit[i], nil
	}
	if len(fit) > 1 {
		facts.Chosen = fmt.Sprintf("there are %d external networks for the floating IP, and none is the default: using the first, %s; "+
			"set one with the annotation loadbalancer.openstack.org/floating-network-id, or with floating-network-id in cloud.conf",
			len(fit), fit[0].ID)
	}
	return &fit[0], nil
}

// placeOf returns the location of a VIP for messages.
func placeOf(vip model.VIP) string {
	if vip.SubnetID != "" {
		return "subnet " + vip.SubnetID
	}
	return "network " + vip.NetworkID
}

// FloatingAddress returns an error if an address for a new floating IP is in no subnet of its
// network that the project sees.
func (r *Reader) FloatingAddress(ctx context.Context, networkID, address, askedBy string) error {
	subnets, err := r.networks.subnets(ctx, networkID)
	if err != nil {
		return err
	}
	subnets = slices.DeleteFunc(slices.Clone(subnets), func(subnet neutron.Subnet) bool { return subnet.IPVersion != 4 })
	if len(subnets) == 0 || slices.ContainsFunc(subnets, func(subnet neutron.Subnet) bool { return contains(subnet, address) }) {
		return nil
	}
	return &Error{Message: fmt.Sprintf("%s: no floating IP of this project has the address %s, and none can be created with it: it is in no subnet of the external network %s (%s); "+
		"choose another address, or clear the field", askedBy, address, networkID, cidrsOf(subnets))}
}

// floatingSubnets returns the subnets for a floating IP in Neutron's order; none means any subnet
// of the network.
func (g gathering) floatingSubnets(ctx context.Context, network *neutron.Network) ([]string, error) {
	f := g.s.Floating
	if f.SubnetID != "" {
		return []string{f.SubnetID}, nil
	}
	if !f.ChoosesSubnets() {
		return nil, nil
	}
	subnets, err := g.networks.subnets(ctx, network.ID)
	if err != nil {
		return nil, err
	}
	matcher := f.Subnets()
	var ids []string
	for _, subnet := range subnets {
		if subnet.IPVersion == 4 && matcher.Match(subnet.Name, subnet.Tags) {
			ids = append(ids, subnet.ID)
		}
	}
	asked := fmt.Sprintf("floating-subnet %q", f.Pattern)
	if f.Pattern == "" {
		asked = fmt.Sprintf("floating-subnet-tags %q", f.Tags)
	} else if f.Tags != "" {
		asked += fmt.Sprintf(" and floating-subnet-tags %q", f.Tags)
	}
	switch {
	case len(ids) > 0:
		return ids, nil
	case len(subnets) == 0:
		return nil, &Error{Message: fmt.Sprintf("%s: this project sees no subnet of the external network %s, because most clouds show them only to administrators: "+
			"set the subnet with floating-subnet-id, or remove the setting", asked, network.ID)}
	default:
		return nil, &Error{Message: fmt.Sprintf("%s: no IPv4 subnet of network %s fits, of %d", asked, network.ID, len(subnets))}
	}
}

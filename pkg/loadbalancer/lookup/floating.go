package lookup

import (
	"context"
	"fmt"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// floating fills in where the floating IP comes from. One that is there and will do
// is not asked about, nor is one that the Service names: that is there or is not.
func (r *Reader) floating(ctx context.Context, s *settings.Settings, existing *model.LoadBalancer, facts *desire.Facts) error {
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
	vip := model.VIP{SubnetID: facts.VIPSubnetID, NetworkID: facts.VIPNetworkID}
	if existing != nil {
		vip = existing.VIP
	}
	network, err := r.floatingNetwork(ctx, s, vip, facts)
	if err != nil || network == nil {
		return err
	}
	facts.FloatingNetworkID = network.ID
	facts.FloatingSubnetIDs, err = r.floatingSubnets(ctx, s.Floating, network)
	return err
}

// floatingNetwork returns the network that the floating IP comes from: the
// configured one, if it can give any, that of the configured subnet, or else one of the
// external networks. It is nil where there is none, which facts then say.
func (r *Reader) floatingNetwork(ctx context.Context, s *settings.Settings, vip model.VIP, facts *desire.Facts) (*neutron.Network, error) {
	id, by := s.Floating.NetworkID, s.Origin(annotation.FloatingNetID).Name
	if id == "" && s.Floating.SubnetID != "" {
		subnet, err := r.subnet.get(ctx, s.Floating.SubnetID, r.neutron.Subnet)
		switch {
		case err == nil:
			id, by = subnet.NetworkID, s.Origin(annotation.FloatingSubnet).Name
		case !apierror.IsNotFound(err): // not found is usual: the subnets of external networks are shown to few
			return nil, err
		}
	}
	if id == "" {
		return r.anyExternal(ctx, s, vip, facts)
	}
	network, err := r.network(ctx, id, by)
	if err != nil {
		return nil, err
	}
	if !network.External {
		return nil, &Error{Message: fmt.Sprintf("%s: network %s is not external: floating IPs cannot come from it; name an external network, or leave the choice to the controller", by, network.ID)}
	}
	return network, nil
}

// anyExternal returns one of the external networks: where there are several, one that a router
// leads to from the VIP, and that has the address that is asked for; of several such ones the
// default, else the first. An ordinary tenant does not see the subnets of external networks.
func (r *Reader) anyExternal(ctx context.Context, s *settings.Settings, vip model.VIP, facts *desire.Facts) (*neutron.Network, error) {
	networks, err := r.external.get(ctx, "", func(ctx context.Context, _ string) ([]neutron.Network, error) {
		all, err := r.neutron.ExternalNetworks(ctx)
		return slices.DeleteFunc(all, func(n neutron.Network) bool { return len(n.Subnets) == 0 }), err // of no use to anybody
	})
	switch {
	case err != nil:
		return nil, err
	case len(networks) == 0:
		facts.NoFloatingIP = "this project sees no external network, so the load balancer gets no floating IP and is reachable on its VIP only"
		return nil, nil
	case len(networks) == 1:
		return &networks[0], nil
	}
	way, err := r.gateways(ctx, vip.NetworkID, vip.SubnetID)
	if err != nil {
		return nil, err
	}
	fit, err := r.reachable(ctx, networks, way)
	if err != nil {
		return nil, err
	}
	if len(fit) == 0 {
		return nil, &Error{Message: fmt.Sprintf("%s: no router leads from the VIP (%s) to one of the %d external networks that this project sees, so no floating IP can be put on it: "+
			"connect the subnet to a router with a gateway, name another subnet with the annotation loadbalancer.openstack.org/subnet-id, or make the Service internal",
			s.Origin(annotation.FloatingNetID).Name, placeOf(vip), len(networks))}
	}
	if asked, _ := s.AskedFloatingIP(); asked.Address != "" {
		if fit, err = r.having(ctx, fit, asked.Address); err != nil {
			return nil, err
		}
	}
	if i := slices.IndexFunc(fit, func(n neutron.Network) bool { return n.IsDefault }); i >= 0 {
		return &fit[i], nil
	}
	if len(fit) > 1 {
		facts.Chosen = fmt.Sprintf("there are %d external networks that a floating IP can come from, and none is the default: it comes from the first, %s; "+
			"name one with the annotation loadbalancer.openstack.org/floating-network-id, or with floating-network-id in cloud.conf",
			len(fit), fit[0].ID)
	}
	return &fit[0], nil
}

// placeOf returns where a VIP is, for users.
func placeOf(vip model.VIP) string {
	if vip.SubnetID != "" {
		return "subnet " + vip.SubnetID
	}
	return "network " + vip.NetworkID
}

// having returns the networks that have a subnet with an address; all of them where the project
// sees no such subnet.
func (r *Reader) having(ctx context.Context, networks []neutron.Network, address string) ([]neutron.Network, error) {
	var found []neutron.Network
	for _, network := range networks {
		subnets, err := r.subnets.get(ctx, network.ID, r.neutron.Subnets)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(subnets, func(subnet neutron.Subnet) bool { return contains(subnet, address) }) {
			found = append(found, network)
		}
	}
	if len(found) == 0 {
		return networks, nil
	}
	return found, nil
}

// FloatingAddress refuses an address that a floating IP is to be created with and that is in no
// subnet of its network, as far as the project sees the subnets.
func (r *Reader) FloatingAddress(ctx context.Context, networkID, address, askedBy string) error {
	subnets, err := r.subnets.get(ctx, networkID, r.neutron.Subnets)
	if err != nil {
		return err
	}
	subnets = slices.DeleteFunc(slices.Clone(subnets), func(subnet neutron.Subnet) bool { return subnet.IPVersion != 4 })
	if len(subnets) == 0 || slices.ContainsFunc(subnets, func(subnet neutron.Subnet) bool { return contains(subnet, address) }) {
		return nil
	}
	return &Error{Message: fmt.Sprintf("%s: no floating IP of this project has the address %s, and none can be created with it: it is in no subnet of the external network %s (%s); "+
		"choose another address, or leave the field out", askedBy, address, networkID, cidrsOf(subnets))}
}

// floatingSubnets returns the subnets to take a floating IP from, as Neutron lists
// them; none means any of the network's.
func (r *Reader) floatingSubnets(ctx context.Context, f settings.FloatingSettings, network *neutron.Network) ([]string, error) {
	if f.SubnetID != "" {
		return []string{f.SubnetID}, nil
	}
	if !f.ChoosesSubnets() {
		return nil, nil
	}
	subnets, err := r.subnets.get(ctx, network.ID, r.neutron.Subnets)
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
		return nil, &Error{Message: fmt.Sprintf("%s: this project sees no subnet of the external network %s, as most clouds show them to administrators only: "+
			"name the subnet with floating-subnet-id, or leave the choice to the network", asked, network.ID)}
	default:
		return nil, &Error{Message: fmt.Sprintf("%s: no IPv4 subnet of network %s fits, of %d", asked, network.ID, len(subnets))}
	}
}

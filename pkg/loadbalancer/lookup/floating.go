package lookup

import (
	"context"
	"fmt"
	"slices"

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
	network, err := r.floatingNetwork(ctx, s, facts)
	if err != nil || network == nil {
		return err
	}
	facts.FloatingNetworkID = network.ID
	facts.FloatingSubnetIDs, err = r.floatingSubnets(ctx, s.Floating, network)
	return err
}

// floatingNetwork returns the network that the floating IP comes from: the
// configured one, if it can give any, that of the configured subnet, or else the
// default external network, or the first. It is nil where there is none, which
// facts then say.
func (r *Reader) floatingNetwork(ctx context.Context, s *settings.Settings, facts *desire.Facts) (*neutron.Network, error) {
	id := s.Floating.NetworkID
	if id == "" && s.Floating.SubnetID != "" {
		subnet, err := r.subnet.get(ctx, s.Floating.SubnetID, r.neutron.Subnet)
		switch {
		case err == nil:
			id = subnet.NetworkID
		case !apierror.IsNotFound(err): // not found is usual: the subnets of external networks are shown to few
			return nil, err
		}
	}
	if id == "" {
		return r.anyExternal(ctx, facts)
	}
	network, err := r.network(ctx, id)
	if err != nil {
		return nil, err
	}
	if !network.External {
		return nil, &Error{Message: fmt.Sprintf("network %s is not external: floating IPs cannot come from it", network.ID)}
	}
	return network, nil
}

// anyExternal returns the default external network, or the first. An ordinary tenant
// does not see the subnets of external networks, so nothing is asked of them.
func (r *Reader) anyExternal(ctx context.Context, facts *desire.Facts) (*neutron.Network, error) {
	networks, err := r.external.get(ctx, "", func(ctx context.Context, _ string) ([]neutron.Network, error) {
		all, err := r.neutron.ExternalNetworks(ctx)
		return slices.DeleteFunc(all, func(n neutron.Network) bool { return len(n.Subnets) == 0 }), err // of no use to anybody
	})
	if err != nil {
		return nil, err
	}
	if len(networks) == 0 {
		facts.NoFloatingIP = "this project sees no external network, so the load balancer gets no floating IP and is reachable on its VIP only"
		return nil, nil
	}
	if i := slices.IndexFunc(networks, func(n neutron.Network) bool { return n.IsDefault }); i >= 0 {
		return &networks[i], nil
	}
	if len(networks) > 1 {
		facts.Chosen = fmt.Sprintf("there are %d external networks, and none is the default: the floating IP comes from the first, %s; "+
			"name one with the annotation loadbalancer.openstack.org/floating-network-id, or with floating-network-id in cloud.conf",
			len(networks), networks[0].ID)
	}
	return &networks[0], nil
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

package simulator

import (
	"fmt"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
)

// addTopology creates the external network, the tenant network and the router.
func (c *Cloud) addTopology() error {
	t := c.options.Topology
	c.ExternalNetwork = c.Neutron.AddNetwork(neutron.NetworkSpec{
		Name: t.ExternalNetwork, ProjectID: c.Admin.ProjectID, External: true,
	})
	var err error
	c.ExternalSubnet, err = c.Neutron.AddSubnet(neutron.SubnetSpec{
		Name: t.ExternalNetwork + "-subnet", NetworkID: c.ExternalNetwork.ID, CIDR: t.ExternalCIDR,
	})
	if err != nil {
		return fmt.Errorf("external subnet %s: %w", t.ExternalCIDR, err)
	}
	if err := c.addTenantNetwork(t); err != nil {
		return err
	}
	return c.refresh()
}

func (c *Cloud) addTenantNetwork(t Topology) error {
	c.Network = c.Neutron.AddNetwork(neutron.NetworkSpec{Name: t.Network, ProjectID: c.Account.ProjectID})
	var err error
	c.Subnet, err = c.Neutron.AddSubnet(neutron.SubnetSpec{
		Name: t.Network + "-subnet", NetworkID: c.Network.ID, CIDR: t.CIDR,
	})
	if err != nil {
		return fmt.Errorf("tenant subnet %s: %w", t.CIDR, err)
	}
	inside := []string{c.Subnet.ID}
	if t.IPv6CIDR != "" {
		c.SubnetV6, err = c.Neutron.AddSubnet(neutron.SubnetSpec{
			Name: t.Network + "-subnet6", NetworkID: c.Network.ID, CIDR: t.IPv6CIDR, AddressMode: "dhcpv6-stateful",
		})
		if err != nil {
			return fmt.Errorf("tenant subnet %s: %w", t.IPv6CIDR, err)
		}
		inside = append(inside, c.SubnetV6.ID)
	}
	if t.WithoutRouter {
		return nil
	}
	c.Router, err = c.Neutron.AddRouter(neutron.RouterSpec{
		Name: t.Network + "-router", ProjectID: c.Account.ProjectID,
		ExternalNetworkID: c.ExternalNetwork.ID, SubnetIDs: inside,
	})
	if err != nil {
		return fmt.Errorf("router: %w", err)
	}
	return c.addRouterVIPs(t)
}

func (c *Cloud) addRouterVIPs(t Topology) error {
	if t.RouterVIPCIDR == "" {
		return nil
	}
	c.RouterVIPs = c.Neutron.AddNetwork(neutron.NetworkSpec{Name: "vips", ProjectID: c.Account.ProjectID})
	subnet, err := c.Neutron.AddSubnet(neutron.SubnetSpec{Name: "vips", NetworkID: c.RouterVIPs.ID, CIDR: t.RouterVIPCIDR})
	if err == nil {
		err = c.Neutron.AddRouterInterface(c.Router.ID, subnet.ID)
	}
	if err != nil {
		return fmt.Errorf("subnet of VIPs at the router %s: %w", t.RouterVIPCIDR, err)
	}
	return nil
}

// refresh reads the networks again, now that they have subnets.
func (c *Cloud) refresh() error {
	var err error
	if c.ExternalNetwork, err = c.Neutron.Network(c.ExternalNetwork.ID); err != nil {
		return fmt.Errorf("external network: %w", err)
	}
	if c.Network, err = c.Neutron.Network(c.Network.ID); err != nil {
		return fmt.Errorf("tenant network: %w", err)
	}
	return nil
}

// AddServer adds a server on the tenant network that belongs to the first
// account. With an empty address it gets the next free one.
func (c *Cloud) AddServer(name, address string) (nova.Server, error) {
	server, err := c.Nova.AddServer(nova.ServerSpec{
		Name: name, ProjectID: c.Account.ProjectID, NetworkID: c.Network.ID, Address: address,
	})
	if err != nil {
		return nova.Server{}, fmt.Errorf("add server %s: %w", name, err)
	}
	return server, nil
}

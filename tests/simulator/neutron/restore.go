package neutron

import (
	"fmt"
	"net/netip"
)

// Collections are the answers of Neutron's list calls, by collection.
type Collections struct {
	Networks       []*network       `json:"networks"`
	Subnets        []*subnet        `json:"subnets"`
	Ports          []*port          `json:"ports"`
	FloatingIPs    []*floatingIP    `json:"floatingips"`
	SecurityGroups []*securityGroup `json:"security_groups"`
}

// Restore adds what list calls of a real Neutron have shown, with its IDs. What a
// tenant is not shown is made up: the subnet of an external network, as the /24
// around its floating IPs, and the routers, from their interfaces.
func (n *Neutron) Restore(from Collections) error {
	n.lock()
	defer n.unlock()
	for _, record := range from.Networks {
		n.networks.put(record.ID, record)
	}
	for _, record := range from.Subnets {
		addresses, err := newAddressPool(record.CIDR, valueOf(record.GatewayIP), record.AllocationPools)
		if err != nil {
			return fmt.Errorf("restore subnet %s: %w", record.ID, err)
		}
		record.addresses = addresses
		n.subnets.put(record.ID, record)
	}
	for _, record := range from.SecurityGroups {
		n.securityGroups.put(record.ID, record)
	}
	for _, record := range from.Ports {
		n.ports.put(record.ID, record)
		for _, fixed := range record.FixedIPs {
			if err := n.hold(fixed); err != nil {
				return fmt.Errorf("restore port %s: %w", record.ID, err)
			}
		}
	}
	if err := n.restoreFloatingIPs(from.FloatingIPs); err != nil {
		return err
	}
	n.restoreRouters(from)
	n.changed = true
	return nil
}

// hold takes an address out of its subnet's pool.
func (n *Neutron) hold(fixed FixedIP) error {
	address, err := netip.ParseAddr(fixed.Address)
	if err != nil {
		return err
	}
	if inside, ok := n.subnets.get(fixed.SubnetID); ok {
		inside.addresses.take(address)
	}
	return nil
}

func (n *Neutron) restoreFloatingIPs(records []*floatingIP) error {
	for _, record := range records {
		external, ok := n.networks.get(record.FloatingNetworkID)
		if !ok {
			return networkNotFound(record.FloatingNetworkID)
		}
		if err := n.externalSubnet(external, record.FloatingIPAddress); err != nil {
			return err
		}
		holder, err := n.createPort(PortSpec{
			NetworkID: external.ID, Address: record.FloatingIPAddress, DeviceID: record.ID, DeviceOwner: "network:floatingip", Status: "N/A",
		})
		if err != nil {
			return fmt.Errorf("restore floating IP %s: %w", record.FloatingIPAddress, err)
		}
		record.externalPortID = holder.ID
		n.floatingIPs.put(record.ID, record)
	}
	return nil
}

// externalSubnet makes up the subnet that a floating IP comes from.
func (n *Neutron) externalSubnet(external *network, address string) error {
	if len(n.subnetsOf(external, 4)) > 0 {
		return nil
	}
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return err
	}
	const sizeOfSubnet = 24
	prefix, err := parsed.Prefix(sizeOfSubnet)
	if err != nil {
		return err
	}
	gateway := prefix.Addr().Next().String()
	addresses, err := newAddressPool(prefix.String(), gateway, nil)
	if err != nil {
		return err
	}
	made := &subnet{
		standard: n.newStandard("", external.ProjectID, "", nil), NetworkID: external.ID, CIDR: prefix.String(), IPVersion: 4,
		GatewayIP: &gateway, AllocationPools: addresses.ranges(), DNSNameservers: []string{}, HostRoutes: []hostRoute{},
		ServiceTypes: []string{}, addresses: addresses,
	}
	if len(external.Subnets) > 0 {
		made.ID = external.Subnets[0]
	} else {
		external.Subnets = []string{made.ID}
	}
	n.subnets.put(made.ID, made)
	return nil
}

// restoreRouters makes the routers that the ports of interfaces belong to. Their
// gateways are on the network of the floating IPs.
func (n *Neutron) restoreRouters(from Collections) {
	for _, record := range from.Ports {
		if record.DeviceOwner != "network:router_interface" {
			continue
		}
		made, ok := n.routers.get(record.DeviceID)
		if !ok {
			made = &router{
				standard: n.newStandard(record.DeviceID, record.ProjectID, "", nil), AdminStateUp: true, Status: "ACTIVE",
				AvailabilityZoneHints: []string{}, AvailabilityZones: []string{}, Routes: []hostRoute{},
			}
			for _, external := range from.Networks {
				if external.External {
					made.ExternalGatewayInfo = &gatewayInfo{NetworkID: external.ID, ExternalFixedIPs: []FixedIP{}, EnableSNAT: true}
				}
			}
			n.routers.put(made.ID, made)
		}
		for _, fixed := range record.FixedIPs {
			made.subnetIDs = append(made.subnetIDs, fixed.SubnetID)
		}
	}
}

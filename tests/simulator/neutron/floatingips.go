package neutron

import (
	"net/netip"
	"slices"
)

// CreateFloatingIP allocates a floating IP and, with a PortID, associates it
// in the same step. Errors are *Error; nothing is kept of a refused one.
func (n *Neutron) CreateFloatingIP(spec FloatingIPSpec) (FloatingIP, error) {
	n.lock()
	defer n.unlock()
	record, err := n.createFloatingIP(spec)
	if err != nil {
		return FloatingIP{}, err
	}
	return record.view(), nil
}

// AssociateFloatingIP leads a floating IP to a port; an empty portID
// disassociates it. fixedAddress chooses among several addresses of the port.
func (n *Neutron) AssociateFloatingIP(id, portID, fixedAddress string) (FloatingIP, error) {
	n.lock()
	defer n.unlock()
	record, ok := n.floatingIPs.get(id)
	if !ok {
		return FloatingIP{}, floatingIPNotFound(id)
	}
	if err := n.setAssociation(record, portID, fixedAddress); err != nil {
		return FloatingIP{}, err
	}
	n.bump(&record.standard)
	return record.view(), nil
}

// ReleaseFloatingIP deletes a floating IP and gives its address back.
func (n *Neutron) ReleaseFloatingIP(id string) error {
	n.lock()
	defer n.unlock()
	record, ok := n.floatingIPs.get(id)
	if !ok {
		return floatingIPNotFound(id)
	}
	n.releaseFloatingIP(record)
	return nil
}

// TagFloatingIP makes these the tags of a floating IP.
func (n *Neutron) TagFloatingIP(id string, tags []string) error {
	n.lock()
	defer n.unlock()
	record, ok := n.floatingIPs.get(id)
	if !ok {
		return floatingIPNotFound(id)
	}
	n.setTags(&record.standard, slices.Sorted(slices.Values(tags)))
	return nil
}

// FloatingIPs lists all floating IPs in the order they were made.
func (n *Neutron) FloatingIPs() []FloatingIP {
	n.lock()
	defer n.unlock()
	return views(n.floatingIPs.all(), (*floatingIP).view)
}

// FloatingIPOf returns the address of the floating IP on a port, "" for none.
func (n *Neutron) FloatingIPOf(portID string) string {
	n.lock()
	defer n.unlock()
	for _, floatingIP := range n.floatingIPs.all() {
		if valueOf(floatingIP.PortID) == portID {
			return floatingIP.FloatingIPAddress
		}
	}
	return ""
}

// createFloatingIP holds the address with a port of its own on the external
// network, which belongs to no project, as Neutron does.
func (n *Neutron) createFloatingIP(spec FloatingIPSpec) (*floatingIP, error) {
	external, ok := n.networks.get(spec.NetworkID)
	if !ok {
		return nil, networkNotFound(spec.NetworkID)
	}
	if !external.External {
		return nil, badRequest("BadRequest", "Bad floatingip request: Network %s is not a valid external network.", spec.NetworkID)
	}
	if err := n.checkQuota("floatingip", spec.ProjectID, 1); err != nil {
		return nil, err
	}
	holder, err := n.holdExternalAddress(external, spec)
	if err != nil {
		return nil, err
	}
	record := &floatingIP{
		standard:          n.newStandard("", spec.ProjectID, spec.Description, nil),
		FloatingIPAddress: holder.FixedIPs[0].Address, FloatingNetworkID: external.ID,
		Status: "DOWN", externalPortID: holder.ID,
	}
	holder.DeviceID = record.ID
	if spec.PortID != "" {
		if err := n.setAssociation(record, spec.PortID, spec.FixedAddress); err != nil {
			n.dropPort(holder)
			return nil, err
		}
		record.RevisionNumber++ // the association is a second write of the row
	}
	n.floatingIPs.put(record.ID, record)
	n.changed = true
	return record, nil
}

// holdExternalAddress creates that port. Without a choice it gets an address of
// each IP version, of which the floating IP is the IPv4 one.
func (n *Neutron) holdExternalAddress(external *network, spec FloatingIPSpec) (*port, error) {
	if len(n.subnetsOf(external, 4)) == 0 {
		return nil, badRequest("BadRequest", "Bad floatingip request: Network %s does not contain any IPv4 subnet.", external.ID)
	}
	holder, err := n.createPort(PortSpec{
		NetworkID: external.ID, SubnetID: spec.SubnetID, Address: spec.Address,
		DeviceOwner: "network:floatingip", Status: "N/A",
	})
	if err != nil {
		return nil, err
	}
	if !isIPv4(holder.FixedIPs[0].Address) {
		n.dropPort(holder)
		return nil, badRequest("ExternalIpAddressExhausted", "Unable to find any IP address on external network %s.", external.ID)
	}
	return holder, nil
}

// setAssociation checks the rules of an association and changes the record;
// an empty portID ends the association.
func (n *Neutron) setAssociation(record *floatingIP, portID, fixedAddress string) error {
	if portID == "" {
		if fixedAddress != "" {
			return badRequest("BadRequest", "Bad floatingip request: fixed_ip_address cannot be specified without a port_id.")
		}
		record.disassociate()
		return nil
	}
	inside, ok := n.ports.get(portID)
	if !ok {
		return portNotFound(portID)
	}
	if inside.ProjectID != record.ProjectID {
		return badRequest("BadRequest", "Bad floatingip request: Port %s is associated with a different tenant than Floating IP %s and therefore cannot be bound.", portID, record.ID)
	}
	fixed, err := addressForFloatingIP(inside, fixedAddress)
	if err != nil {
		return err
	}
	through, ok := n.routerBetween(fixed.SubnetID, record.FloatingNetworkID)
	if !ok {
		return notFound("ExternalGatewayForFloatingIPNotFound", "External network %s is not reachable from subnet %s.  Therefore, cannot associate Port %s with a Floating IP.", record.FloatingNetworkID, fixed.SubnetID, portID)
	}
	for _, other := range n.floatingIPs.all() {
		if other.ID != record.ID && valueOf(other.PortID) == portID && valueOf(other.FixedIPAddress) == fixed.Address && other.FloatingNetworkID == record.FloatingNetworkID {
			return conflict("FloatingIPPortAlreadyAssociated", "Cannot associate floating IP %s (%s) with port %s using fixed IP %s, as that fixed IP already has a floating IP on external network %s.", record.FloatingIPAddress, record.ID, portID, fixed.Address, record.FloatingNetworkID)
		}
	}
	record.PortID, record.FixedIPAddress, record.RouterID = &portID, &fixed.Address, &through.ID
	record.Status = "ACTIVE"
	return nil
}

// addressForFloatingIP picks the IPv4 address of a port that a floating IP leads to.
func addressForFloatingIP(inside *port, address string) (FixedIP, error) {
	candidates := slices.DeleteFunc(slices.Clone(inside.FixedIPs), func(fixed FixedIP) bool { return !isIPv4(fixed.Address) })
	if address != "" {
		if !isIPv4(address) {
			return FixedIP{}, badRequest("BadRequest", "Bad floatingip request: Cannot process floating IP association with %s, since that is not an IPv4 address.", address)
		}
		for _, fixed := range candidates {
			if fixed.Address == address {
				return fixed, nil
			}
		}
		return FixedIP{}, badRequest("BadRequest", "Bad floatingip request: Port %s does not have fixed ip %s.", inside.ID, address)
	}
	switch len(candidates) {
	case 0:
		return FixedIP{}, badRequest("BadRequest", "Bad floatingip request: Cannot add floating IP to port %s that has no fixed IPv4 addresses.", inside.ID)
	case 1:
		return candidates[0], nil
	}
	return FixedIP{}, badRequest("BadRequest", "Bad floatingip request: Port %s has multiple fixed IPv4 addresses.  Must provide a specific IPv4 address when assigning a floating IP.", inside.ID)
}

// routerBetween finds the router that has an interface on the subnet and its
// gateway on the external network.
func (n *Neutron) routerBetween(subnetID, externalNetworkID string) (*router, bool) {
	for _, candidate := range n.routers.all() {
		if candidate.ExternalGatewayInfo != nil && candidate.ExternalGatewayInfo.NetworkID == externalNetworkID && slices.Contains(candidate.subnetIDs, subnetID) {
			return candidate, true
		}
	}
	return nil, false
}

func (n *Neutron) releaseFloatingIP(record *floatingIP) {
	if holder, ok := n.ports.get(record.externalPortID); ok {
		n.dropPort(holder)
	}
	n.floatingIPs.remove(record.ID)
	n.changed = true
}

func (r *floatingIP) disassociate() {
	if r.PortID == nil {
		return // it may have forwardings
	}
	r.PortID, r.FixedIPAddress, r.RouterID, r.Status = nil, nil, nil, "DOWN"
}

func (r *floatingIP) view() FloatingIP {
	return FloatingIP{
		ID: r.ID, ProjectID: r.ProjectID, NetworkID: r.FloatingNetworkID, Address: r.FloatingIPAddress,
		PortID: valueOf(r.PortID), FixedAddress: valueOf(r.FixedIPAddress), RouterID: valueOf(r.RouterID),
		Description: r.Description, Status: r.Status, Tags: slices.Clone(r.Tags),
	}
}

func isIPv4(address string) bool {
	parsed, err := netip.ParseAddr(address)
	return err == nil && parsed.Is4()
}

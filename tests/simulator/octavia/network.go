package octavia

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// Network has the functions of Neutron that Octavia needs. Errors that Octavia reports to its own
// caller are *neutron.Error.
type Network interface {
	CreatePort(neutron.PortSpec) (neutron.Port, error)
	DeletePort(id string) error
	Port(id string) (neutron.Port, error)
	HasAddress(address string) bool
	// FloatingIPOf returns the address of the floating IP on a port, "" for none.
	FloatingIPOf(portID string) string
	Subnet(id string) (neutron.Subnet, error)
	Network(id string) (neutron.Network, error)
	// HasFree reports whether a subnet has so many free addresses.
	HasFree(subnetID string, addresses int) bool
}

// vipRequest is the requested place of the VIP, with the objects that were found for it.
type vipRequest struct {
	address, networkID, subnetID string
	askedNetworkID               string
	port                         neutron.Port // the caller's own port, or zero
}

// checkVIP finds out that what the request names exists.
func (o *Octavia) checkVIP(given body) (vipRequest, *apiError) {
	request := vipRequest{
		address: given.text("vip_address"), networkID: given.text("vip_network_id"), subnetID: given.text("vip_subnet_id"),
		askedNetworkID: given.text("vip_network_id"),
	}
	portID := given.text("vip_port_id")
	if portID == "" && request.networkID == "" && request.subnetID == "" {
		return request, invalid("VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.")
	}
	network := o.options.Network
	if network == nil {
		return request, nil
	}
	if portID != "" {
		return o.checkPort(network, request, portID)
	}
	if request.subnetID != "" {
		subnet, err := network.Subnet(request.subnetID)
		if err != nil {
			return request, refuse(http.StatusBadRequest, "Subnet %s not found.", request.subnetID)
		}
		request.networkID = subnet.NetworkID
		return request, nil
	}
	found, err := network.Network(request.networkID)
	if err != nil {
		return request, refuse(http.StatusBadRequest, "Network %s not found.", request.networkID)
	}
	if request.address != "" {
		return o.subnetOfAddress(network, request, found)
	}
	return o.chooseSubnet(network, request, found)
}

func (o *Octavia) checkPort(network Network, request vipRequest, portID string) (vipRequest, *apiError) {
	port, err := network.Port(portID)
	if err != nil {
		return request, refuse(http.StatusBadRequest, "Port %s not found.", portID)
	}
	if port.DeviceID != "" {
		return request, refuse(http.StatusBadRequest, "Port %s is already used by device %s ", port.ID, port.DeviceID)
	}
	request.port, request.networkID = port, port.NetworkID
	for _, fixed := range port.FixedIPs {
		if request.subnetID == "" || request.subnetID == fixed.SubnetID {
			request.subnetID, request.address = fixed.SubnetID, fixed.Address
			break
		}
	}
	return request, nil
}

// subnetOfAddress takes the subnet that the requested address is in.
func (o *Octavia) subnetOfAddress(network Network, request vipRequest, found neutron.Network) (vipRequest, *apiError) {
	address, err := netip.ParseAddr(request.address)
	for _, id := range found.SubnetIDs {
		subnet, unknown := network.Subnet(id)
		if err != nil || unknown != nil {
			continue
		}
		if prefix, err := netip.ParsePrefix(subnet.CIDR); err == nil && prefix.Contains(address) {
			request.subnetID = subnet.ID
			return request, nil
		}
	}
	return request, invalid("Supplied network does not contain a subnet for VIP address specified.")
}

// addressesOfLoadBalancer is how many free addresses a subnet needs for Octavia to choose it:
// those of the VIP and of one amphora, whatever the provider is.
const addressesOfLoadBalancer = 2

// chooseSubnet takes the first IPv4 subnet of the network that has enough free addresses,
// else the first of the others.
func (o *Octavia) chooseSubnet(network Network, request vipRequest, found neutron.Network) (vipRequest, *apiError) {
	if len(found.SubnetIDs) == 0 {
		return request, invalid("Supplied network does not contain a subnet.")
	}
	for _, id := range found.SubnetIDs {
		subnet, err := network.Subnet(id)
		if err != nil || !network.HasFree(id, addressesOfLoadBalancer) {
			continue
		}
		if request.subnetID == "" || subnet.IPVersion == 4 {
			request.subnetID = subnet.ID
		}
		if subnet.IPVersion == 4 {
			break
		}
	}
	if request.subnetID == "" {
		return request, invalid("Subnet(s) in the supplied network do not contain enough available IPs.")
	}
	return request, nil
}

// plugVIP makes the VIP port, or takes the caller's. It is never undone: a
// create that is refused afterwards leaves the port behind.
func (o *Octavia) plugVIP(lb *LoadBalancer, request vipRequest) *apiError {
	lb.VIP.NetworkID, lb.VIP.SubnetID, lb.VIP.Address = request.networkID, request.subnetID, request.address
	if lb.Provider == ProviderNoop {
		lb.VIP.PortID, lb.VIP.Address = request.port.ID, cmp.Or(request.address, "198.0.2.5")
		lb.VIP.NetworkID = request.askedNetworkID
		if lb.VIP.PortID == "" {
			lb.VIP.PortID = o.newID("port", nil)
		}
		return nil
	}
	if request.port.ID != "" && lb.Provider != ProviderOVN {
		lb.VIP.PortID = request.port.ID
		return nil
	}
	port, err := o.options.Network.CreatePort(o.vipPort(lb, request))
	if err != nil {
		return o.vipFailure(lb.Provider, err)
	}
	lb.VIP.PortID, lb.VIP.NetworkID, lb.VIP.OwnPort = port.ID, port.NetworkID, true
	lb.VIP.Address = port.FixedIPs[0].Address
	if o.oldOVN(lb) {
		return nil // it knows of one VIP only
	}
	if lb.Provider == ProviderOVN {
		return o.plugAdditional(lb, request)
	}
	for i := range lb.AdditionalVIPs {
		lb.AdditionalVIPs[i].Address, lb.AdditionalVIPs[i].PortID = port.FixedIPs[i+1].Address, port.ID
	}
	return nil
}

// plugAdditional makes a port for each additional VIP, as the provider ovn does. If one cannot be made, the
// provider deletes the others again.
func (o *Octavia) plugAdditional(lb *LoadBalancer, request vipRequest) *apiError {
	for i := range lb.AdditionalVIPs {
		vip := &lb.AdditionalVIPs[i]
		spec := o.vipPort(lb, request)
		spec.Name = fmt.Sprintf("ovn-lb-vip-additional-%d-%s", i+1, lb.ID)
		spec.FixedIPs = []neutron.FixedIP{{SubnetID: vip.SubnetID, Address: vip.Address}}
		port, err := o.options.Network.CreatePort(spec)
		if err != nil {
			o.deleteVIPs(lb)
			return o.vipFailure(lb.Provider, err)
		}
		vip.Address, vip.PortID = port.FixedIPs[0].Address, port.ID
	}
	return nil
}

// deleteVIPs deletes the ports of the VIPs, as far as the provider made them. They may be gone already;
// Octavia does not mind either.
func (o *Octavia) deleteVIPs(lb *LoadBalancer) {
	if !lb.VIP.OwnPort || o.options.Network == nil {
		return
	}
	_ = o.options.Network.DeletePort(lb.VIP.PortID)
	for _, vip := range lb.AdditionalVIPs {
		if vip.PortID != "" && vip.PortID != lb.VIP.PortID {
			_ = o.options.Network.DeletePort(vip.PortID)
		}
	}
}

// vipPort is the port as the providers make it: they differ in name, device
// and owner, by which leaked ports are found.
func (o *Octavia) vipPort(lb *LoadBalancer, request vipRequest) neutron.PortSpec {
	spec := neutron.PortSpec{
		ProjectID: lb.ProjectID, NetworkID: request.networkID, AdminStateDown: true, Status: "DOWN",
		Name: "octavia-lb-" + lb.ID, DeviceID: "lb-" + lb.ID, DeviceOwner: "Octavia",
		FixedIPs: []neutron.FixedIP{{SubnetID: request.subnetID, Address: request.address}},
	}
	if lb.Provider == ProviderOVN {
		spec.Name, spec.DeviceID, spec.DeviceOwner = "ovn-lb-vip-"+lb.ID, "", ""
	}
	if lb.Provider == ProviderOVN {
		return spec
	}
	for _, vip := range lb.AdditionalVIPs {
		spec.FixedIPs = append(spec.FixedIPs, neutron.FixedIP{SubnetID: vip.SubnetID, Address: vip.Address})
	}
	return spec
}

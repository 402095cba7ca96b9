package neutron

import (
	"net/http"
	"slices"
)

type floatingIPRequest struct {
	TenantID          optional[string] `json:"tenant_id"`
	ProjectID         optional[string] `json:"project_id"`
	FloatingNetworkID optional[string] `json:"floating_network_id" check:"required,uuid"`
	FloatingIPAddress optional[string] `json:"floating_ip_address"`
	SubnetID          optional[string] `json:"subnet_id" check:"uuid"`
	PortID            optional[string] `json:"port_id" check:"uuid"`
	FixedIPAddress    optional[string] `json:"fixed_ip_address"`
	Description       optional[string] `json:"description" check:"text"`
	QoSPolicyID       optional[string] `json:"qos_policy_id" check:"uuid"`
	DNSName           optional[string] `json:"dns_name" check:"text"`
	DNSDomain         optional[string] `json:"dns_domain" check:"text"`
}

type floatingIPUpdateRequest struct {
	PortID         optional[string] `json:"port_id" check:"uuid"`
	FixedIPAddress optional[string] `json:"fixed_ip_address"`
	Description    optional[string] `json:"description" check:"text"`
	QoSPolicyID    optional[string] `json:"qos_policy_id" check:"uuid"`
}

func (n *Neutron) floatingIPFor(c *call) (*floatingIP, error) {
	record, ok := n.floatingIPs.get(c.PathValue("id"))
	if !ok || !c.sees(record.ProjectID) {
		return nil, floatingIPNotFound(c.PathValue("id"))
	}
	n.describePort(record)
	return record, nil
}

// describePort fills port_details with what the port is like now, and port_forwardings.
func (n *Neutron) describePort(record *floatingIP) {
	record.PortDetails = nil
	if n.has("expose-port-forwarding-in-fip") {
		n.exposeForwardings(record)
	}
	inside, ok := n.ports.get(valueOf(record.PortID))
	if !ok {
		return
	}
	record.PortDetails = &portDetails{
		AdminStateUp: inside.AdminStateUp, DeviceID: inside.DeviceID, DeviceOwner: inside.DeviceOwner,
		MACAddress: inside.MACAddress, Name: inside.Name, NetworkID: inside.NetworkID, Status: inside.Status,
	}
}

func (n *Neutron) listFloatingIPs(c *call) (int, any, error) {
	// list filters by this too, but only after all of thousands have been described.
	ports := nonEmpty(c.URL.Query()["port_id"])
	seen := visible(n.floatingIPs.all(), func(record *floatingIP) bool {
		return c.sees(record.ProjectID) && (len(ports) == 0 || slices.Contains(ports, valueOf(record.PortID)))
	})
	for _, record := range seen {
		n.describePort(record)
	}
	return list(n, c, "floatingips", seen, floatingIPNotFound)
}

func (n *Neutron) showFloatingIP(c *call) (int, any, error) {
	record, err := n.floatingIPFor(c)
	if err != nil {
		return 0, nil, err
	}
	return show(c, "floatingip", record)
}

func (n *Neutron) postFloatingIP(c *call) (int, any, error) {
	request, err := decode[floatingIPRequest](c, "floatingip", floatingIP{})
	if err != nil {
		return 0, nil, err
	}
	project, err := c.project(request.ProjectID.get(), request.TenantID.get())
	if err != nil {
		return 0, nil, err
	}
	if err := n.mayCreateFloatingIP(c, request); err != nil {
		return 0, nil, err
	}
	record, err := n.createFloatingIP(FloatingIPSpec{
		ProjectID: project, NetworkID: request.FloatingNetworkID.get(), SubnetID: request.SubnetID.get(),
		Address: request.FloatingIPAddress.get(), PortID: request.PortID.get(),
		FixedAddress: request.FixedIPAddress.get(), Description: request.Description.get(),
	})
	if err != nil {
		return 0, nil, err
	}
	record.DNSName, record.DNSDomain = request.DNSName.get(), request.DNSDomain.get()
	n.describePort(record)
	return http.StatusCreated, map[string]any{"floatingip": record}, nil
}

// mayCreateFloatingIP checks what the request names against what the caller
// may see and choose.
func (n *Neutron) mayCreateFloatingIP(c *call, request floatingIPRequest) error {
	chooses := request.FloatingIPAddress.get() != ""
	if chooses && !n.options.FloatingIPAddressByMembers && !c.caller.HasRole("admin", "manager") {
		return policyForbids("(rule:create_floatingip and rule:create_floatingip:floating_ip_address)")
	}
	external, ok := n.networks.get(request.FloatingNetworkID.get())
	if !ok || !c.seesNetwork(external) {
		return networkNotFound(request.FloatingNetworkID.get())
	}
	return n.seesPort(c, request.PortID.get())
}

// seesPort errors when a request names a port that the caller may not see.
func (n *Neutron) seesPort(c *call, id string) error {
	if id == "" {
		return nil
	}
	if record, ok := n.ports.get(id); !ok || !c.sees(record.ProjectID) {
		return portNotFound(id)
	}
	return nil
}

func (n *Neutron) putFloatingIP(c *call) (int, any, error) {
	record, err := n.floatingIPFor(c)
	if err != nil {
		return 0, nil, err
	}
	request, err := decode[floatingIPUpdateRequest](c, "floatingip", floatingIP{})
	if err != nil {
		return 0, nil, err
	}
	if err := matchRevision(c, record.standard); err != nil {
		return 0, nil, err
	}
	if err := n.seesPort(c, request.PortID.get()); err != nil {
		return 0, nil, err
	}
	if request.PortID.get() != "" && len(record.forwardings) > 0 {
		return 0, nil, inUseByForwardings(record.ID)
	}
	status := record.Status
	if request.PortID.present || request.FixedIPAddress.value != nil {
		if err := n.setAssociation(record, request.PortID.get(), request.FixedIPAddress.get()); err != nil {
			return 0, nil, err
		}
	}
	set(&record.Description, request.Description.value)
	n.bump(&record.standard)
	n.describePort(record)
	shown := *record
	shown.Status = status // the network follows when the answer is on its way
	return http.StatusOK, map[string]any{"floatingip": &shown}, nil
}

func (n *Neutron) deleteFloatingIP(c *call) (int, any, error) {
	record, err := n.floatingIPFor(c)
	if err != nil {
		return 0, nil, err
	}
	if err := matchRevision(c, record.standard); err != nil {
		return 0, nil, err
	}
	if len(record.forwardings) > 0 {
		return 0, nil, inUseByForwardings(record.ID)
	}
	n.releaseFloatingIP(record)
	return http.StatusNoContent, nil, nil
}

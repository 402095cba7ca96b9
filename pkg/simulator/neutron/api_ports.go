package neutron

import (
	"net/http"
	"reflect"
	"strings"
)

type portRequest struct {
	TenantID            optional[string]        `json:"tenant_id"`
	ProjectID           optional[string]        `json:"project_id"`
	NetworkID           optional[string]        `json:"network_id"`
	Name                optional[string]        `json:"name"`
	Description         optional[string]        `json:"description"`
	AdminStateUp        optional[bool]          `json:"admin_state_up"`
	DeviceID            optional[string]        `json:"device_id"`
	DeviceOwner         optional[string]        `json:"device_owner"`
	FixedIPs            optional[[]FixedIP]     `json:"fixed_ips"`
	SecurityGroups      optional[[]string]      `json:"security_groups"`
	AllowedAddressPairs optional[[]AddressPair] `json:"allowed_address_pairs"`
	Tags                optional[[]string]      `json:"tags"`
	DNSName             optional[string]        `json:"dns_name"`
}

type portUpdateRequest struct {
	Name                optional[string]        `json:"name"`
	Description         optional[string]        `json:"description"`
	AdminStateUp        optional[bool]          `json:"admin_state_up"`
	DeviceID            optional[string]        `json:"device_id"`
	DeviceOwner         optional[string]        `json:"device_owner"`
	FixedIPs            optional[[]FixedIP]     `json:"fixed_ips"`
	SecurityGroups      optional[[]string]      `json:"security_groups"`
	AllowedAddressPairs optional[[]AddressPair] `json:"allowed_address_pairs"`
	DNSName             optional[string]        `json:"dns_name"`
}

// show answers with one record, or those of its fields that the query asks for.
func show(c *call, resource string, record any) (int, any, error) {
	fields := nonEmpty(c.URL.Query()["fields"])
	return http.StatusOK, map[string]any{resource: attributesOf(reflect.TypeOf(record)).selectFields(record, fields)}, nil
}

// portFor is the port of the path, if the caller may see it.
func (n *Neutron) portFor(c *call) (*port, error) {
	record, ok := n.ports.get(c.PathValue("id"))
	if !ok || !c.sees(record.ProjectID) {
		return nil, portNotFound(c.PathValue("id"))
	}
	return record, nil
}

func (n *Neutron) listPorts(c *call) (int, any, error) {
	seen := visible(n.ports.all(), func(record *port) bool { return c.sees(record.ProjectID) })
	return list(n, c, "ports", seen, portNotFound)
}

func (n *Neutron) showPort(c *call) (int, any, error) {
	record, err := n.portFor(c)
	if err != nil {
		return 0, nil, err
	}
	return show(c, "port", record)
}

func (n *Neutron) postPort(c *call) (int, any, error) {
	request, err := decode[portRequest](c, "port", port{})
	if err != nil {
		return 0, nil, err
	}
	if request.NetworkID.value == nil {
		return 0, nil, missing("network_id")
	}
	project, err := c.project(request.ProjectID.get(), request.TenantID.get())
	if err != nil {
		return 0, nil, err
	}
	parent, ok := n.networks.get(request.NetworkID.get())
	if !ok || !c.seesNetwork(parent) {
		return 0, nil, networkNotFound(request.NetworkID.get())
	}
	if parent.External && !parent.Shared && !c.sees(parent.ProjectID) {
		return 0, nil, policyForbids("rule:create_port")
	}
	record, err := n.createPort(PortSpec{
		ProjectID: project, NetworkID: parent.ID, FixedIPs: request.FixedIPs.get(),
		Name: request.Name.get(), Description: request.Description.get(),
		DeviceID: request.DeviceID.get(), DeviceOwner: request.DeviceOwner.get(),
		SecurityGroups: request.SecurityGroups.get(), AddressPairs: request.AllowedAddressPairs.get(),
		AdminStateDown: request.AdminStateUp.present && !request.AdminStateUp.get(), Tags: request.Tags.get(),
		Status: "DOWN", // nothing binds a port that a client of the API creates
	})
	if err != nil {
		return 0, nil, err
	}
	n.nameInDNS(record, request.DNSName)
	return http.StatusCreated, map[string]any{"port": record}, nil
}

func (n *Neutron) putPort(c *call) (int, any, error) {
	record, err := n.portFor(c)
	if err != nil {
		return 0, nil, err
	}
	request, err := decode[portUpdateRequest](c, "port", port{})
	if err != nil {
		return 0, nil, err
	}
	if err := matchRevision(c, record.standard); err != nil {
		return 0, nil, err
	}
	update := PortUpdate{
		Name: request.Name.value, Description: request.Description.value,
		DeviceID: request.DeviceID.value, DeviceOwner: request.DeviceOwner.value,
		AdminStateUp: request.AdminStateUp.value, FixedIPs: listOf(request.FixedIPs),
		SecurityGroups: listOf(request.SecurityGroups), AddressPairs: listOf(request.AllowedAddressPairs),
	}
	if err := n.updatePort(record, update); err != nil {
		return 0, nil, err
	}
	n.nameInDNS(record, request.DNSName)
	return http.StatusOK, map[string]any{"port": record}, nil
}

// listOf is the list of an update: null means an empty one.
func listOf[T any](request optional[[]T]) *[]T {
	if request.present && request.value == nil {
		return &[]T{}
	}
	return request.value
}

func (n *Neutron) nameInDNS(record *port, name optional[string]) {
	if name.present {
		record.DNSName = name.get()
		record.DNSAssignment = n.dnsAssignments(record)
	}
}

func (n *Neutron) deletePort(c *call) (int, any, error) {
	record, err := n.portFor(c)
	if err != nil {
		return 0, nil, err
	}
	if err := matchRevision(c, record.standard); err != nil {
		return 0, nil, err
	}
	if strings.HasPrefix(record.DeviceOwner, "network:router") || record.DeviceOwner == "network:floatingip" {
		return 0, nil, conflict("ServicePortInUse", "Port %s cannot be deleted directly via the port API: has device owner %s.", record.ID, record.DeviceOwner)
	}
	n.dropPort(record)
	return http.StatusNoContent, nil, nil
}

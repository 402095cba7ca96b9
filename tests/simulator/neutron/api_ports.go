package neutron

import (
	"net/http"
	"reflect"
	"strings"
)

type portRequest struct {
	TenantID            optional[string]        `json:"tenant_id"`
	ProjectID           optional[string]        `json:"project_id"`
	NetworkID           optional[string]        `json:"network_id" check:"required,uuid"`
	Name                optional[string]        `json:"name" check:"text"`
	Description         optional[string]        `json:"description" check:"text"`
	AdminStateUp        optional[bool]          `json:"admin_state_up" check:"bool"`
	DeviceID            optional[string]        `json:"device_id" check:"text"`
	DeviceOwner         optional[string]        `json:"device_owner" check:"text"`
	FixedIPs            optional[[]FixedIP]     `json:"fixed_ips" check:"fixed-ips"`
	SecurityGroups      optional[[]string]      `json:"security_groups" check:"uuids"`
	AllowedAddressPairs optional[[]AddressPair] `json:"allowed_address_pairs" check:"pairs"`
	Tags                optional[[]string]      `json:"tags"`
	DNSName             optional[string]        `json:"dns_name" check:"text"`
	PortSecurity        optional[bool]          `json:"port_security_enabled" check:"bool"`
}

type portUpdateRequest struct {
	MACAddress          optional[string]        `json:"mac_address"`
	Name                optional[string]        `json:"name" check:"text"`
	Description         optional[string]        `json:"description" check:"text"`
	AdminStateUp        optional[bool]          `json:"admin_state_up" check:"bool"`
	DeviceID            optional[string]        `json:"device_id" check:"text"`
	DeviceOwner         optional[string]        `json:"device_owner" check:"text"`
	FixedIPs            optional[[]FixedIP]     `json:"fixed_ips" check:"fixed-ips"`
	SecurityGroups      optional[[]string]      `json:"security_groups" check:"uuids"`
	AllowedAddressPairs optional[[]AddressPair] `json:"allowed_address_pairs" check:"pairs"`
	DNSName             optional[string]        `json:"dns_name" check:"text"`
	PortSecurity        optional[bool]          `json:"port_security_enabled" check:"bool"`
}

// show answers with one record, or those of its fields that the query asks for.
func show(c *call, resource string, record any) (int, any, error) {
	fields := nonEmpty(c.URL.Query()["fields"])
	return http.StatusOK, map[string]any{resource: attributesOf(reflect.TypeOf(record)).selectFields(record, fields)}, nil
}

// portFor is the port of the path, if the caller may see it.
func (n *Neutron) portFor(c *call) (*port, error) {
	record, ok := n.ports.get(c.PathValue("id"))
	if !ok || !n.showsPort(c, record) {
		return nil, portNotFound(c.PathValue("id"))
	}
	return record, nil
}

// showsPort reports whether the caller may read and delete a port: one of its own, or in a network
// of its own. It may change only the former.
func (n *Neutron) showsPort(c *call, record *port) bool {
	if c.sees(record.ProjectID) {
		return true
	}
	parent, ok := n.networks.get(record.NetworkID)
	return ok && c.sees(parent.ProjectID)
}

func (n *Neutron) listPorts(c *call) (int, any, error) {
	seen := visible(n.ports.all(), func(record *port) bool { return n.showsPort(c, record) })
	return list(n, c, "ports", seen, portNotFound)
}

func (n *Neutron) showPort(c *call) (int, any, error) {
	record, err := n.portFor(c)
	if err != nil {
		return 0, nil, err
	}
	return show(c, "port", record)
}

// postPorts creates one port or, given a list, all of them or none.
func (n *Neutron) postPorts(c *call) (int, any, error) {
	requests, bulk, err := decodeBulk[portRequest](c, "ports", "port", port{})
	if err != nil {
		return 0, nil, err
	}
	if !bulk {
		request, err := decode[portRequest](c, "port", port{})
		if err != nil {
			return 0, nil, err
		}
		record, err := n.requestPort(c, request)
		return http.StatusCreated, map[string]any{"port": record}, err
	}
	records := []*port{}
	for _, request := range requests {
		record, err := n.requestPort(c, request)
		if err != nil {
			for _, made := range records {
				n.dropPort(made)
			}
			return 0, nil, err
		}
		records = append(records, record)
	}
	return http.StatusCreated, map[string]any{"ports": records}, nil
}

// requestPort creates what the caller asks for.
func (n *Neutron) requestPort(c *call, request portRequest) (*port, error) {
	project, err := c.project(request.ProjectID.get(), request.TenantID.get())
	if err != nil {
		return nil, err
	}
	parent, ok := n.networks.get(request.NetworkID.get())
	if !ok || !c.seesNetwork(parent) {
		return nil, networkNotFound(request.NetworkID.get())
	}
	if parent.External && !parent.Shared && !c.sees(parent.ProjectID) {
		return nil, httpError(http.StatusForbidden, "HTTPForbidden", "Tenant %s not allowed to create port on this network", project)
	}
	record, err := n.createPort(PortSpec{
		ProjectID: project, NetworkID: parent.ID, FixedIPs: request.FixedIPs.get(),
		Name: request.Name.get(), Description: request.Description.get(),
		DeviceID: request.DeviceID.get(), DeviceOwner: request.DeviceOwner.get(),
		SecurityGroups: request.SecurityGroups.get(), AddressPairs: request.AllowedAddressPairs.get(),
		AdminStateDown: request.AdminStateUp.present && !request.AdminStateUp.get(), Tags: n.tagsOfPort(request),
		WithoutPortSecurity: request.PortSecurity.present && !request.PortSecurity.get(),
		Status:              "DOWN", // nothing binds a port that a client of the API creates
	})
	if err != nil {
		return nil, err
	}
	n.nameInDNS(record, request.DNSName)
	return record, nil
}

// tagsOfPort returns the tags of a new port. Without an extension that is off by default, Neutron accepts and
// ignores them.
func (n *Neutron) tagsOfPort(request portRequest) []string {
	if !n.has("tag-ports-during-bulk-creation") {
		return nil
	}
	return request.Tags.get()
}

func (n *Neutron) putPort(c *call) (int, any, error) {
	record, err := n.portFor(c)
	if err != nil {
		return 0, nil, err
	}
	if !c.sees(record.ProjectID) {
		return 0, nil, policyForbids("rule:update_port")
	}
	request, err := decode[portUpdateRequest](c, "port", port{})
	if err != nil {
		return 0, nil, err
	}
	if groups := listOf(request.SecurityGroups); groups != nil { // Neutron looks for them before it compares revisions
		if _, err := n.knownGroups(*groups); err != nil {
			return 0, nil, err
		}
	}
	if err := matchRevision(c, record.standard); err != nil {
		return 0, nil, err
	}
	if request.MACAddress.present && !c.caller.IsAdmin() {
		return 0, nil, policyForbids("(rule:update_port and rule:update_port:mac_address)")
	}
	if request.AllowedAddressPairs.present && !n.has("allowed-address-pairs") {
		return 0, nil, httpError(http.StatusBadRequest, "HTTPBadRequest", "Unrecognized attribute(s) 'allowed_address_pairs'")
	}
	if request == (portUpdateRequest{}) {
		return http.StatusOK, map[string]any{"port": record}, nil
	}
	update := PortUpdate{
		Name: request.Name.value, Description: request.Description.value,
		DeviceID: request.DeviceID.value, DeviceOwner: request.DeviceOwner.value,
		AdminStateUp: request.AdminStateUp.value, FixedIPs: listOf(request.FixedIPs),
		SecurityGroups: listOf(request.SecurityGroups), AddressPairs: listOf(request.AllowedAddressPairs),
		PortSecurity: request.PortSecurity.value,
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

package neutron

import (
	"net/http"
	"slices"
)

type forwardingRequest struct {
	Protocol          optional[string] `json:"protocol" check:"required,l4"`
	ExternalPort      optional[int]    `json:"external_port" check:"required,l4-port"`
	InternalPort      optional[int]    `json:"internal_port" check:"required,l4-port"`
	InternalPortID    optional[string] `json:"internal_port_id" check:"required,uuid"`
	InternalIPAddress optional[string] `json:"internal_ip_address"`
	Description       optional[string] `json:"description" check:"text"`
}

type forwardingUpdateRequest struct {
	Protocol          optional[string] `json:"protocol" check:"l4"`
	ExternalPort      optional[int]    `json:"external_port" check:"l4-port"`
	InternalPort      optional[int]    `json:"internal_port" check:"l4-port"`
	InternalPortID    optional[string] `json:"internal_port_id" check:"uuid"`
	InternalIPAddress optional[string] `json:"internal_ip_address"`
	Description       optional[string] `json:"description" check:"text"`
}

// forwardedFor returns the floating IP of a call about its forwardings.
func (n *Neutron) forwardedFor(c *call) (*floatingIP, error) {
	if !n.has("floating-ip-port-forwarding") {
		return nil, noSuchPage("")
	}
	return n.floatingIPFor(c)
}

func (n *Neutron) forwardingFor(c *call) (*floatingIP, *portForwarding, error) {
	record, err := n.forwardedFor(c)
	if err != nil {
		return nil, nil, err
	}
	id := c.PathValue("forwarding")
	at := slices.IndexFunc(record.forwardings, func(f *portForwarding) bool { return f.ID == id })
	if at < 0 {
		return nil, nil, forwardingNotFound(id)
	}
	return record, record.forwardings[at], nil
}

func (n *Neutron) listForwardings(c *call) (int, any, error) {
	record, err := n.forwardedFor(c)
	if err != nil {
		return 0, nil, err
	}
	return list(n, c, "port_forwardings", record.forwardings, forwardingNotFound)
}

func (n *Neutron) showForwarding(c *call) (int, any, error) {
	_, at, err := n.forwardingFor(c)
	if err != nil {
		return 0, nil, err
	}
	return show(c, "port_forwarding", at)
}

func (n *Neutron) postForwarding(c *call) (int, any, error) {
	record, err := n.forwardedFor(c)
	if err != nil {
		return 0, nil, err
	}
	request, err := decode[forwardingRequest](c, "port_forwarding", portForwarding{})
	if err != nil {
		return 0, nil, err
	}
	if err := n.seesPort(c, request.InternalPortID.get()); err != nil {
		return 0, nil, err
	}
	made, err := n.addForwarding(record, portForwarding{
		Protocol: request.Protocol.get(), ExternalPort: request.ExternalPort.get(), InternalPort: request.InternalPort.get(),
		InternalPortID: request.InternalPortID.get(), InternalIPAddress: request.InternalIPAddress.get(), Description: request.Description.get(),
	})
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, map[string]any{"port_forwarding": made}, nil
}

func (n *Neutron) putForwarding(c *call) (int, any, error) {
	record, at, err := n.forwardingFor(c)
	if err != nil {
		return 0, nil, err
	}
	request, err := decode[forwardingUpdateRequest](c, "port_forwarding", portForwarding{})
	if err != nil {
		return 0, nil, err
	}
	if err := n.seesPort(c, request.InternalPortID.get()); err != nil {
		return 0, nil, err
	}
	changed := *at
	set(&changed.Protocol, request.Protocol.value)
	set(&changed.ExternalPort, request.ExternalPort.value)
	set(&changed.InternalPort, request.InternalPort.value)
	set(&changed.InternalPortID, request.InternalPortID.value)
	set(&changed.InternalIPAddress, request.InternalIPAddress.value)
	set(&changed.Description, request.Description.value)
	if err := n.changeForwarding(record, at, changed); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"port_forwarding": at}, nil
}

func (n *Neutron) deleteForwarding(c *call) (int, any, error) {
	record, at, err := n.forwardingFor(c)
	if err != nil {
		return 0, nil, err
	}
	n.dropForwardings(record, func(f *portForwarding) bool { return f.ID == at.ID })
	return http.StatusNoContent, nil, nil
}

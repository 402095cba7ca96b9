package openstack

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
)

// Neutron reads and writes floating IPs and security groups (neutron_security.go) and
// reads networks, subnets and ports. A
// method is one request unless it says otherwise. Errors are those of Wrap.
type Neutron struct {
	session *Session
}

// Neutron gives the typed calls of the network service.
func (s *Session) Neutron() *Neutron { return &Neutron{session: s} }

// Network is what we ask of a network.
type Network struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	External  bool     `json:"router:external"`
	IsDefault bool     `json:"is_default"`
	Subnets   []string `json:"subnets"`
}

// Subnet is what we ask of a subnet.
type Subnet struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	NetworkID string   `json:"network_id"`
	IPVersion int      `json:"ip_version"`
	CIDR      string   `json:"cidr"`
	Tags      []string `json:"tags"`
}

// Port is what we ask of a port.
type Port struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	NetworkID   string    `json:"network_id"`
	DeviceID    string    `json:"device_id"`
	DeviceOwner string    `json:"device_owner"`
	FixedIPs    []FixedIP `json:"fixed_ips"`
	// SecurityGroups is nil when Neutron does not tell.
	SecurityGroups []string `json:"security_groups"`
	// Revision moves with every change of the port; nil in a Neutron without it.
	Revision *int `json:"revision_number"`
	// PortSecurity false lets everything through, whatever the security groups; nil
	// in a Neutron that cannot switch it off.
	PortSecurity *bool `json:"port_security_enabled"`
}

// UsesGroup tells whether a port is in a security group.
func (p Port) UsesGroup(groupID string) bool { return slices.Contains(p.SecurityGroups, groupID) }

// Filtered tells whether security groups decide what reaches the port.
func (p Port) Filtered() bool { return p.PortSecurity == nil || *p.PortSecurity }

// FixedIP is an address of a port.
type FixedIP struct {
	SubnetID  string `json:"subnet_id"`
	IPAddress string `json:"ip_address"`
}

// portFields are the attributes of Port: a whole port is several times as big.
func portFields() []string {
	return []string{
		"id", "name", "network_id", "device_id", "device_owner", "fixed_ips",
		"security_groups", "revision_number", "port_security_enabled",
	}
}

// ExternalNetworks lists the networks that can give floating IPs. An ordinary
// tenant does not see their subnets.
func (n *Neutron) ExternalNetworks(ctx context.Context) ([]Network, error) {
	return n.networks(ctx, url.Values{"router:external": {"true"}})
}

// Network reads one network.
func (n *Neutron) Network(ctx context.Context, id string) (*Network, error) {
	var answer struct {
		Network Network `json:"network"`
	}
	if err := n.get(ctx, "networks/"+url.PathEscape(id), nil, &answer); err != nil {
		return nil, Wrap(err, "read network "+id)
	}
	return &answer.Network, nil
}

func (n *Neutron) networks(ctx context.Context, q url.Values) ([]Network, error) {
	networks, err := listNetwork(ctx, n, "networks", q, func(found Network) string { return found.ID })
	return networks, Wrap(err, "list networks")
}

// Subnets lists the subnets of a network that the tenant can see.
func (n *Neutron) Subnets(ctx context.Context, networkID string) ([]Subnet, error) {
	q := url.Values{"network_id": {networkID}}
	subnets, err := listNetwork(ctx, n, "subnets", q, func(found Subnet) string { return found.ID })
	return subnets, Wrap(err, "list subnets of network "+networkID)
}

// Subnet reads one subnet.
func (n *Neutron) Subnet(ctx context.Context, id string) (*Subnet, error) {
	var answer struct {
		Subnet Subnet `json:"subnet"`
	}
	if err := n.get(ctx, "subnets/"+url.PathEscape(id), nil, &answer); err != nil {
		return nil, Wrap(err, "read subnet "+id)
	}
	return &answer.Subnet, nil
}

// Port reads one port.
func (n *Neutron) Port(ctx context.Context, id string) (*Port, error) {
	var answer struct {
		Port Port `json:"port"`
	}
	if err := n.get(ctx, "ports/"+url.PathEscape(id), url.Values{"fields": portFields()}, &answer); err != nil {
		return nil, Wrap(err, "read port "+id)
	}
	return &answer.Port, nil
}

// PortsOfDevices lists the ports of servers: a request for every 150 of them, as
// a URL holds no more than 8 KiB.
func (n *Neutron) PortsOfDevices(ctx context.Context, deviceIDs []string) ([]Port, error) {
	return inChunks(deviceIDs, func(chunk []string) ([]Port, error) {
		return n.ports(ctx, url.Values{"device_id": chunk})
	})
}

// PortsAt lists the ports of the project that have an address.
func (n *Neutron) PortsAt(ctx context.Context, address string) ([]Port, error) {
	return n.ports(ctx, url.Values{"fixed_ips": {"ip_address=" + address}})
}

func (n *Neutron) ports(ctx context.Context, q url.Values) ([]Port, error) {
	return n.portsWith(ctx, q, portFields())
}

func (n *Neutron) portsWith(ctx context.Context, q url.Values, fields []string) ([]Port, error) {
	return listPorts(ctx, n, q, fields, func(p Port) string { return p.ID })
}

// listPorts lists ports with these fields, as what they fit into.
func listPorts[P any](ctx context.Context, n *Neutron, q url.Values, fields []string, id func(P) string) ([]P, error) {
	q["fields"] = fields
	found, err := listNetwork(ctx, n, "ports", q, id)
	return found, Wrap(err, "list ports")
}

// listNetwork lists a collection. Neutron answers it at once, unless the operator
// has set a limit, which no page may exceed.
func listNetwork[T any](ctx context.Context, n *Neutron, path string, q url.Values, id func(T) string) ([]T, error) {
	pages := collection[T]{name: strings.ReplaceAll(path, "-", "_"), id: id, get: func(ctx context.Context, q url.Values, into any) error {
		return n.get(ctx, path, q, into)
	}}
	return pages.all(ctx, q)
}

// get answers a GET below /v2.0 into a typed value.
func (n *Neutron) get(ctx context.Context, path string, q url.Values, into any) error {
	client, err := n.session.Network(ctx)
	if err != nil {
		return err
	}
	address := client.ServiceURL(path)
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	_, err = client.Get(ctx, address, into, &gophercloud.RequestOpts{})
	return err
}

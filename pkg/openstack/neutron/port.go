package neutron

import (
	"context"
	"net/url"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// Port holds the attributes of a port that the client reads.
type Port struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	NetworkID   string    `json:"network_id"`
	DeviceID    string    `json:"device_id"`
	DeviceOwner string    `json:"device_owner"`
	FixedIPs    []FixedIP `json:"fixed_ips"`
	// SecurityGroups is nil if Neutron does not return them.
	SecurityGroups []string `json:"security_groups"`
	// Revision increases with every change of the port; nil if Neutron does not support it.
	Revision *int `json:"revision_number"`
	// PortSecurity false disables the security groups of the port; nil if Neutron does not support
	// the extension.
	PortSecurity *bool `json:"port_security_enabled"`
}

// UsesGroup reports whether a port is in a security group.
func (p Port) UsesGroup(groupID string) bool { return slices.Contains(p.SecurityGroups, groupID) }

// Filtered reports whether security groups apply to the port.
func (p Port) Filtered() bool { return p.PortSecurity == nil || *p.PortSecurity }

// FixedIP is an address of a port.
type FixedIP struct {
	SubnetID  string `json:"subnet_id"`
	IPAddress string `json:"ip_address"`
}

// portFields are the attributes of Port: a complete port is several times as large.
func portFields() []string {
	return []string{
		"id", "name", "network_id", "device_id", "device_owner", "fixed_ips",
		"security_groups", "revision_number", "port_security_enabled",
	}
}

// portAPI reads ports, and changes their security groups.
type portAPI struct{ requests }

// Port reads one port.
func (c portAPI) Port(ctx context.Context, id string) (*Port, error) {
	return readPort(ctx, c.requests, id, portFields(), func(p *Port) string { return p.ID })
}

// PortsOfDevices lists the ports of servers. It sends a request for every 150 of them, because a
// URL is limited to 8 KiB.
func (c portAPI) PortsOfDevices(ctx context.Context, deviceIDs []string) ([]Port, error) {
	return inChunks(deviceIDs, func(chunk []string) ([]Port, error) {
		return c.ports(ctx, url.Values{"device_id": chunk})
	})
}

// PortsAt lists the ports of the project with an address.
func (c portAPI) PortsAt(ctx context.Context, address string) ([]Port, error) {
	return c.ports(ctx, url.Values{"fixed_ips": {"ip_address=" + address}})
}

// PortsAtAddresses lists the ports of the project with any of the addresses, on any network. It sends
// a request for every 90 addresses, because IPv6 addresses are long in a URL.
func (c portAPI) PortsAtAddresses(ctx context.Context, addresses []string) ([]Port, error) {
	project := c.session.ProjectID()
	return atAddresses(addresses, func(q url.Values) ([]Port, error) {
		if project != "" {
			q.Set("project_id", project)
		}
		return c.ports(ctx, q)
	})
}

// atAddresses lists ports by their addresses.
func atAddresses[P any](addresses []string, ports func(url.Values) ([]P, error)) ([]P, error) {
	return inChunksOf(90, addresses, func(chunk []string) ([]P, error) {
		q := url.Values{}
		for _, address := range chunk {
			q.Add("fixed_ips", "ip_address="+address)
		}
		return ports(q)
	})
}

func (c portAPI) ports(ctx context.Context, q url.Values) ([]Port, error) {
	return c.portsWith(ctx, q, portFields())
}

func (c portAPI) portsWith(ctx context.Context, q url.Values, fields []string) ([]Port, error) {
	return listPorts(ctx, c.requests, q, fields, func(p Port) string { return p.ID })
}

// readPort reads one port with the given fields, in a type that has them.
func readPort[P any](ctx context.Context, r requests, id string, fields []string, idOf func(*P) string) (*P, error) {
	var answer struct {
		Port P `json:"port"`
	}
	if err := r.object(ctx, "ports", id, fields, &answer, func() string { return idOf(&answer.Port) }); err != nil {
		return nil, apierror.Wrap(err, "read port "+id)
	}
	return &answer.Port, nil
}

// listPorts lists ports with the given fields, in a type that has them.
func listPorts[P any](ctx context.Context, r requests, q url.Values, fields []string, id func(P) string) ([]P, error) {
	q["fields"] = fields
	found, err := list(ctx, r, "ports", q, id)
	return found, apierror.Wrap(err, "list ports")
}

// PortsInGroup lists the ports in a security group. It filters the answer again, because some
// Neutrons ignore the filter.
func (c portAPI) PortsInGroup(ctx context.Context, groupID string) ([]Port, error) {
	all, err := c.ports(ctx, url.Values{"security_groups": {groupID}})
	if apierror.IsInvalid(err) {
		all, err = c.ports(ctx, url.Values{})
	}
	if err != nil {
		return nil, err
	}
	var using []Port
	for _, port := range all {
		if port.UsesGroup(groupID) {
			using = append(using, port)
		}
	}
	return using, nil
}

// GroupsOfPorts lists all ports of the project, only with their security groups.
func (c portAPI) GroupsOfPorts(ctx context.Context) ([]Port, error) {
	q := url.Values{}
	if project := c.session.ProjectID(); project != "" {
		q.Set("project_id", project)
	}
	return c.portsWith(ctx, q, []string{"id", "security_groups"})
}

// SetPortGroups replaces the security groups of a port. apierror.IsStale(err) if the port has
// changed since it was read.
func (c portAPI) SetPortGroups(ctx context.Context, port Port, groupIDs []string) (*Port, error) {
	client, err := c.session.Network(ctx)
	if err != nil {
		return nil, err
	}
	var changed Port
	opts := ports.UpdateOpts{SecurityGroups: &groupIDs, RevisionNumber: port.Revision}
	if err := ports.Update(ctx, client, port.ID, opts).ExtractInto(&changed); err != nil {
		return nil, apierror.Wrap(err, "set the security groups of port "+port.ID)
	}
	return &changed, nil
}

// Package neutron is a typed client of the network API.
package neutron

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
)

// Session provides the connection of a Client.
type Session interface {
	// Network returns a client of the network API, version 2.
	Network(ctx context.Context) (*gophercloud.ServiceClient, error)
	// ProjectID returns the project to which lists are limited, "" for no limit.
	ProjectID() string
}

// Client reads and writes floating IPs, security groups, the routes of routers and the ports of VIPs,
// and reads networks, subnets and other ports. A method sends one request unless its comment has another number.
// Errors are those of apierror.Wrap.
type Client struct {
	session Session
}

// New returns a client for a session.
func New(session Session) *Client { return &Client{session: session} }

// Network holds the attributes of a network that the client reads.
type Network struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	ProjectID string   `json:"project_id"`
	External  bool     `json:"router:external"`
	IsDefault bool     `json:"is_default"`
	Subnets   []string `json:"subnets"`
}

// Subnet holds the attributes of a subnet that the client reads.
type Subnet struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	NetworkID string `json:"network_id"`
	IPVersion int    `json:"ip_version"`
	CIDR      string `json:"cidr"`
	// GatewayIP is "" if the subnet has no gateway.
	GatewayIP string   `json:"gateway_ip"`
	Tags      []string `json:"tags"`
}

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

// ExternalNetworks lists the networks with floating IPs. Ordinary tenants do not see their subnets.
func (c *Client) ExternalNetworks(ctx context.Context) ([]Network, error) {
	return c.networks(ctx, url.Values{"router:external": {"true"}})
}

// NetworksNamed lists the networks with a name that are visible to the tenant.
func (c *Client) NetworksNamed(ctx context.Context, name string) ([]Network, error) {
	return c.networks(ctx, url.Values{"name": {name}})
}

// Network reads one network.
func (c *Client) Network(ctx context.Context, id string) (*Network, error) {
	var answer struct {
		Network Network `json:"network"`
	}
	if err := c.object(ctx, "networks", id, nil, &answer, func() string { return answer.Network.ID }); err != nil {
		return nil, apierror.Wrap(err, "read network "+id)
	}
	return &answer.Network, nil
}

// OwnsNetwork reports whether a network is the project's: then the project sees all ports in it.
func (c *Client) OwnsNetwork(network *Network) bool {
	project := c.session.ProjectID()
	return project != "" && network.ProjectID == project
}

func (c *Client) networks(ctx context.Context, q url.Values) ([]Network, error) {
	networks, err := list(ctx, c, "networks", q, func(found Network) string { return found.ID })
	return networks, apierror.Wrap(err, "list networks")
}

// Subnets lists the subnets of a network that are visible to the tenant.
func (c *Client) Subnets(ctx context.Context, networkID string) ([]Subnet, error) {
	q := url.Values{"network_id": {networkID}}
	subnets, err := list(ctx, c, "subnets", q, func(found Subnet) string { return found.ID })
	return subnets, apierror.Wrap(err, "list subnets of network "+networkID)
}

// Subnet reads one subnet.
func (c *Client) Subnet(ctx context.Context, id string) (*Subnet, error) {
	var answer struct {
		Subnet Subnet `json:"subnet"`
	}
	if err := c.object(ctx, "subnets", id, nil, &answer, func() string { return answer.Subnet.ID }); err != nil {
		return nil, apierror.Wrap(err, "read subnet "+id)
	}
	return &answer.Subnet, nil
}

// Port reads one port.
func (c *Client) Port(ctx context.Context, id string) (*Port, error) {
	var answer struct {
		Port Port `json:"port"`
	}
	if err := c.object(ctx, "ports", id, portFields(), &answer, func() string { return answer.Port.ID }); err != nil {
		return nil, apierror.Wrap(err, "read port "+id)
	}
	return &answer.Port, nil
}

// PortsOfDevices lists the ports of servers. It sends a request for every 150 of them, because a
// URL is limited to 8 KiB.
func (c *Client) PortsOfDevices(ctx context.Context, deviceIDs []string) ([]Port, error) {
	return inChunks(deviceIDs, func(chunk []string) ([]Port, error) {
		return c.ports(ctx, url.Values{"device_id": chunk})
	})
}

// PortsAt lists the ports of the project with an address.
func (c *Client) PortsAt(ctx context.Context, address string) ([]Port, error) {
	return c.ports(ctx, url.Values{"fixed_ips": {"ip_address=" + address}})
}

// PortsAtAddresses lists the ports of the project with any of the addresses, on any network. It sends
// a request for every 90 addresses, because IPv6 addresses are long in a URL.
func (c *Client) PortsAtAddresses(ctx context.Context, addresses []string) ([]Port, error) {
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

func (c *Client) ports(ctx context.Context, q url.Values) ([]Port, error) {
	return c.portsWith(ctx, q, portFields())
}

func (c *Client) portsWith(ctx context.Context, q url.Values, fields []string) ([]Port, error) {
	return listPorts(ctx, c, q, fields, func(p Port) string { return p.ID })
}

// listPorts lists ports with the given fields, in a type that has them.
func listPorts[P any](ctx context.Context, c *Client, q url.Values, fields []string, id func(P) string) ([]P, error) {
	q["fields"] = fields
	found, err := list(ctx, c, "ports", q, id)
	return found, apierror.Wrap(err, "list ports")
}

// list lists a collection. Neutron returns it at once, unless the operator has limited the page
// size.
func list[T any](ctx context.Context, c *Client, path string, q url.Values, id func(T) string) ([]T, error) {
	pages := rest.Collection[T]{Name: strings.ReplaceAll(path, "-", "_"), ID: id, UnknownMarker: apierror.IsUnknownMarker, Get: func(ctx context.Context, q url.Values, into any) error {
		return c.get(ctx, path, q, into)
	}}
	return pages.All(ctx, q)
}

// gone returns nil if the deletion of an object was answered 404, and a read of it is too. One of
// several API servers may lag behind, or a proxy may answer 404, and no later attempt would find
// the object of a deleted Service.
func (c *Client) gone(ctx context.Context, err error, path string) error {
	if !apierror.IsNotFound(err) {
		return err
	}
	again := apierror.Wrap(c.get(ctx, path, url.Values{"fields": {"id"}}, nil), "read "+path+" after its deletion")
	if again == nil {
		return fmt.Errorf("the deletion of %s was answered as if it were gone, but it is still there", path)
	}
	return apierror.IgnoreNotFound(again)
}

// object decodes the answer to a GET of one object of a collection, with the given fields, nil for
// all. about returns the ID in the answer; an answer about another object is an error.
func (c *Client) object(ctx context.Context, collection, id string, fields []string, into any, about func() string) error {
	path, err := rest.PathOf(collection, id)
	if err != nil {
		return err
	}
	var q url.Values
	if len(fields) > 0 {
		q = url.Values{"fields": fields}
	}
	if err := c.get(ctx, path, q, into); err != nil {
		return err
	}
	return rest.CheckAbout(id, about())
}

// get decodes the answer to a GET of a path below /v2.0.
func (c *Client) get(ctx context.Context, path string, q url.Values, into any) error {
	client, err := c.session.Network(ctx)
	if err != nil {
		return err
	}
	address := client.ServiceURL(path)
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	return rest.Get(ctx, client, address, into)
}

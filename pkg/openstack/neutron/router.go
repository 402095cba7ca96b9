package neutron

import (
	"context"
	"net/url"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/extraroutes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// Router holds the attributes that are read of a router.
type Router struct {
	ID string `json:"id"`
	// Routes are those that were added to what follows from its interfaces.
	Routes []ExtraRoute `json:"routes"`
	// Revision moves with every change of the router; nil in a Neutron without it.
	Revision *int `json:"revision_number"`
	// Gateway leads to an external network; nil where there is none, or it was not asked for.
	Gateway *RouterGateway `json:"external_gateway_info"`
	// Gateways are all gateways, in a Neutron where a router can have several.
	Gateways []RouterGateway `json:"external_gateways"`
}

// RouterGateway is the way from a router to an external network.
type RouterGateway struct {
	NetworkID string `json:"network_id"`
}

// ExtraRoute is a route of a router, as Neutron spells it. It has no ID, no tags
// and no description: the two are all there is.
type ExtraRoute struct {
	Destination string `json:"destination"` // a CIDR
	NextHop     string `json:"nexthop"`     // an address in a subnet of the router
}

// RoutedPort holds the attributes that are read of a port that routes lead to.
type RoutedPort struct {
	ID         string    `json:"id"`
	MACAddress string    `json:"mac_address"`
	FixedIPs   []FixedIP `json:"fixed_ips"`
	// AddressPairs is what the port may send from, and be sent, beside its fixed
	// IPs; nil in a Neutron without the extension allowed-address-pairs.
	AddressPairs *[]AddressPair `json:"allowed_address_pairs"`
	// Revision and PortSecurity are those of Port.
	Revision     *int  `json:"revision_number"`
	PortSecurity *bool `json:"port_security_enabled"`
}

// AddressPair is an address or a CIDR behind a port, by the MAC that sends it.
type AddressPair struct {
	IPAddress  string `json:"ip_address"`
	MACAddress string `json:"mac_address"`
}

func routedPortFields() []string {
	return []string{"id", "mac_address", "fixed_ips", "allowed_address_pairs", "revision_number", "port_security_enabled"}
}

// Router reads a router: apierror.IsNoRouter(err) when there is none for us.
func (c *Client) Router(ctx context.Context, id string) (*Router, error) {
	var answer struct {
		Router Router `json:"router"`
	}
	fields := []string{"id", "routes", "revision_number"}
	if err := c.object(ctx, "routers", id, fields, &answer, func() string { return answer.Router.ID }); err != nil {
		return nil, apierror.Wrap(err, "read router "+id)
	}
	return &answer.Router, nil
}

// Routers reads the gateways of routers, of those of them that the project sees: a request for
// every 150 of them.
func (c *Client) Routers(ctx context.Context, ids []string) ([]Router, error) {
	return inChunks(ids, func(chunk []string) ([]Router, error) {
		q := url.Values{"id": chunk, "fields": {"id", "external_gateway_info", "external_gateways"}}
		found, err := list(ctx, c, "routers", q, func(r Router) string { return r.ID })
		return found, apierror.Wrap(err, "list routers")
	})
}

// RouterInterfaces lists the ports by which routers are in a subnet, or in any subnet of a network
// where no subnet is given, as far as the project sees them.
func (c *Client) RouterInterfaces(ctx context.Context, networkID, subnetID string) ([]Port, error) {
	q := url.Values{"device_owner": {"network:router_interface", "network:router_interface_distributed", "network:ha_router_replicated_interface"}}
	if subnetID != "" {
		q.Set("fixed_ips", "subnet_id="+subnetID)
	} else {
		q.Set("network_id", networkID)
	}
	return c.ports(ctx, q)
}

// AddRoutes adds routes to a router, all of them or none, whatever others do to it
// at the same time. Those that it has are no error. apierror.IsUnknownAction(err) in a
// Neutron without the extension extraroute-atomic, which not every one that has it
// names in its list.
func (c *Client) AddRoutes(ctx context.Context, routerID string, routes []ExtraRoute) error {
	client, err := c.session.Network(ctx)
	if err != nil {
		return err
	}
	given := routesOf(routes)
	return apierror.Wrap(extraroutes.Add(ctx, client, routerID, extraroutes.Opts{Routes: &given}).Err, "add routes to router "+routerID)
}

// RemoveRoutes removes routes from a router as AddRoutes adds them. Those that it
// does not have are no error.
func (c *Client) RemoveRoutes(ctx context.Context, routerID string, routes []ExtraRoute) error {
	client, err := c.session.Network(ctx)
	if err != nil {
		return err
	}
	given := routesOf(routes)
	return apierror.Wrap(extraroutes.Remove(ctx, client, routerID, extraroutes.Opts{Routes: &given}).Err, "remove routes from router "+routerID)
}

// SetRoutes replaces the routes of a router, unless the router was changed since it
// was read: then apierror.IsStale(err). It returns the router as it then is.
func (c *Client) SetRoutes(ctx context.Context, router *Router, routes []ExtraRoute) (*Router, error) {
	client, err := c.session.Network(ctx)
	if err != nil {
		return nil, err
	}
	given := routesOf(routes)
	var answer struct {
		Router Router `json:"router"`
	}
	opts := routers.UpdateOpts{Routes: &given, RevisionNumber: router.Revision}
	if err := routers.Update(ctx, client, router.ID, opts).ExtractInto(&answer); err != nil {
		return nil, apierror.Wrap(err, "set the routes of router "+router.ID)
	}
	return &answer.Router, nil
}

func routesOf(routes []ExtraRoute) []routers.Route {
	given := make([]routers.Route, 0, len(routes))
	for _, r := range routes {
		given = append(given, routers.Route{DestinationCIDR: r.Destination, NextHop: r.NextHop})
	}
	return given
}

// RouterPorts lists the ports of a router itself, by which it is in its subnets.
func (c *Client) RouterPorts(ctx context.Context, routerID string) ([]RoutedPort, error) {
	return c.routedPorts(ctx, url.Values{"device_id": {routerID}})
}

// PortsWithAddresses lists the ports that have one of the addresses, on whatever
// network: a request for every 90 addresses, as those of IPv6 are long in a URL.
func (c *Client) PortsWithAddresses(ctx context.Context, addresses []string) ([]RoutedPort, error) {
	return atAddresses(addresses, func(q url.Values) ([]RoutedPort, error) { return c.routedPorts(ctx, q) })
}

func (c *Client) routedPorts(ctx context.Context, q url.Values) ([]RoutedPort, error) {
	return listPorts(ctx, c, q, routedPortFields(), func(p RoutedPort) string { return p.ID })
}

// RoutedPort reads one port.
func (c *Client) RoutedPort(ctx context.Context, id string) (*RoutedPort, error) {
	var answer struct {
		Port RoutedPort `json:"port"`
	}
	if err := c.object(ctx, "ports", id, routedPortFields(), &answer, func() string { return answer.Port.ID }); err != nil {
		return nil, apierror.Wrap(err, "read port "+id)
	}
	return &answer.Port, nil
}

// SetAddressPairs replaces the allowed address pairs of a port, unless the port
// was changed since it was read: then apierror.IsStale(err).
func (c *Client) SetAddressPairs(ctx context.Context, port *RoutedPort, pairs []AddressPair) error {
	client, err := c.session.Network(ctx)
	if err != nil {
		return err
	}
	given := make([]ports.AddressPair, 0, len(pairs))
	for _, p := range pairs {
		given = append(given, ports.AddressPair{IPAddress: p.IPAddress, MACAddress: p.MACAddress})
	}
	opts := ports.UpdateOpts{AllowedAddressPairs: &given, RevisionNumber: port.Revision}
	return apierror.Wrap(ports.Update(ctx, client, port.ID, opts).Err, "set the allowed address pairs of port "+port.ID)
}

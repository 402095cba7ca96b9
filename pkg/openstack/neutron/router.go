package neutron

import (
	"context"
	"net/url"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/extraroutes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// Router holds the attributes of a router that the client reads.
type Router struct {
	ID string `json:"id"`
	// Routes are the extra routes, without those of its interfaces.
	Routes []ExtraRoute `json:"routes"`
	// Revision increases with every change of the router; nil if Neutron does not support it.
	Revision *int `json:"revision_number"`
	// Gateway is the connection to an external network; nil if there is none, or it was not read.
	Gateway *RouterGateway `json:"external_gateway_info"`
	// Gateways are all gateways, in a Neutron where a router can have several.
	Gateways []RouterGateway `json:"external_gateways"`
}

// RouterGateway is the connection of a router to an external network.
type RouterGateway struct {
	NetworkID string `json:"network_id"`
}

// ExtraRoute is a route of a router, in Neutron's spelling. It has no ID, tags or description.
type ExtraRoute struct {
	Destination string `json:"destination"` // a CIDR
	NextHop     string `json:"nexthop"`     // an address in a subnet of the router
}

// RoutedPort holds the attributes of a port that is the next hop of routes.
type RoutedPort struct {
	ID         string    `json:"id"`
	MACAddress string    `json:"mac_address"`
	FixedIPs   []FixedIP `json:"fixed_ips"`
	// AddressPairs are the addresses that the port may use in addition to its fixed IPs; nil if
	// Neutron lacks the extension allowed-address-pairs.
	AddressPairs *[]AddressPair `json:"allowed_address_pairs"`
	// Revision and PortSecurity are those of Port.
	Revision     *int  `json:"revision_number"`
	PortSecurity *bool `json:"port_security_enabled"`
}

// AddressPair is an address or a CIDR behind a port, with the MAC that sends it.
type AddressPair struct {
	IPAddress  string `json:"ip_address"`
	MACAddress string `json:"mac_address"`
}

func routedPortFields() []string {
	return []string{"id", "mac_address", "fixed_ips", "allowed_address_pairs", "revision_number", "port_security_enabled"}
}

// routerAPI reads and writes the routes of routers, and the ports that they lead to.
type routerAPI struct{ requests }

// Router reads a router. apierror.IsNoRouter(err) if it does not exist or is not visible.
func (c routerAPI) Router(ctx context.Context, id string) (*Router, error) {
	var answer struct {
		Router Router `json:"router"`
	}
	fields := []string{"id", "routes", "revision_number"}
	if err := c.object(ctx, "routers", id, fields, &answer, func() string { return answer.Router.ID }); err != nil {
		return nil, apierror.Wrap(err, "read router "+id)
	}
	return &answer.Router, nil
}

// Routers reads the routes and gateways of those routers that are visible to the project, with a request for
// every 150 of them.
func (c routerAPI) Routers(ctx context.Context, ids []string) ([]Router, error) {
	return inChunks(ids, func(chunk []string) ([]Router, error) {
		q := url.Values{"id": chunk, "fields": {"id", "routes", "external_gateway_info", "external_gateways"}}
		found, err := list(ctx, c.requests, "routers", q, func(r Router) string { return r.ID })
		return found, apierror.Wrap(err, "list routers")
	})
}

// RouterInterfaces lists the visible ports of routers in a subnet, or in all subnets of the network
// if subnetID is empty.
func (c routerAPI) RouterInterfaces(ctx context.Context, networkID, subnetID string) ([]Port, error) {
	q := url.Values{"device_owner": {"network:router_interface", "network:router_interface_distributed", "network:ha_router_replicated_interface"}}
	if subnetID != "" {
		q.Set("fixed_ips", "subnet_id="+subnetID)
	} else {
		q.Set("network_id", networkID)
	}
	return portAPI(c).ports(ctx, q)
}

// AddRoutes adds routes to a router atomically. Existing routes are no error.
// apierror.IsUnknownAction(err) without the extension extraroute-atomic, which the list of
// extensions may omit.
func (c routerAPI) AddRoutes(ctx context.Context, routerID string, routes []ExtraRoute) error {
	client, err := c.session.Network(ctx)
	if err != nil {
		return err
	}
	given := routesOf(routes)
	return apierror.Wrap(extraroutes.Add(ctx, client, routerID, extraroutes.Opts{Routes: &given}).Err, "add routes to router "+routerID)
}

// RemoveRoutes removes routes from a router atomically. Missing routes are no error. Other errors
// are those of AddRoutes.
func (c routerAPI) RemoveRoutes(ctx context.Context, routerID string, routes []ExtraRoute) error {
	client, err := c.session.Network(ctx)
	if err != nil {
		return err
	}
	given := routesOf(routes)
	return apierror.Wrap(extraroutes.Remove(ctx, client, routerID, extraroutes.Opts{Routes: &given}).Err, "remove routes from router "+routerID)
}

// SetRoutes replaces the routes of a router and returns the new router. apierror.IsStale(err) if
// the router has changed since it was read.
func (c routerAPI) SetRoutes(ctx context.Context, router *Router, routes []ExtraRoute) (*Router, error) {
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

// RouterPorts lists the ports of a router in its subnets.
func (c routerAPI) RouterPorts(ctx context.Context, routerID string) ([]RoutedPort, error) {
	return c.routedPorts(ctx, url.Values{"device_id": {routerID}})
}

// PortsWithAddresses lists the ports with any of the addresses, on any network. It sends a request
// for every 90 addresses, because IPv6 addresses are long in a URL.
func (c routerAPI) PortsWithAddresses(ctx context.Context, addresses []string) ([]RoutedPort, error) {
	return atAddresses(addresses, func(q url.Values) ([]RoutedPort, error) { return c.routedPorts(ctx, q) })
}

func (c routerAPI) routedPorts(ctx context.Context, q url.Values) ([]RoutedPort, error) {
	return listPorts(ctx, c.requests, q, routedPortFields(), func(p RoutedPort) string { return p.ID })
}

// RoutedPort reads one port.
func (c routerAPI) RoutedPort(ctx context.Context, id string) (*RoutedPort, error) {
	return readPort(ctx, c.requests, id, routedPortFields(), func(p *RoutedPort) string { return p.ID })
}

// SetAddressPairs replaces the allowed address pairs of a port. apierror.IsStale(err) if the port
// has changed since it was read.
func (c routerAPI) SetAddressPairs(ctx context.Context, port *RoutedPort, pairs []AddressPair) error {
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

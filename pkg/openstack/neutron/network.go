package neutron

import (
	"context"
	"net/url"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

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

// networkAPI reads networks and subnets.
type networkAPI struct{ requests }

// ExternalNetworks lists the networks with floating IPs. Ordinary tenants do not see their subnets.
func (c networkAPI) ExternalNetworks(ctx context.Context) ([]Network, error) {
	return c.networks(ctx, url.Values{"router:external": {"true"}})
}

// NetworksNamed lists the networks with a name that are visible to the tenant.
func (c networkAPI) NetworksNamed(ctx context.Context, name string) ([]Network, error) {
	return c.networks(ctx, url.Values{"name": {name}})
}

// Network reads one network.
func (c networkAPI) Network(ctx context.Context, id string) (*Network, error) {
	var answer struct {
		Network Network `json:"network"`
	}
	if err := c.object(ctx, "networks", id, nil, &answer, func() string { return answer.Network.ID }); err != nil {
		return nil, apierror.Wrap(err, "read network "+id)
	}
	return &answer.Network, nil
}

// OwnsNetwork reports whether a network is the project's: then the project sees all ports in it.
func (c networkAPI) OwnsNetwork(network *Network) bool {
	project := c.session.ProjectID()
	return project != "" && network.ProjectID == project
}

func (c networkAPI) networks(ctx context.Context, q url.Values) ([]Network, error) {
	networks, err := list(ctx, c.requests, "networks", q, func(found Network) string { return found.ID })
	return networks, apierror.Wrap(err, "list networks")
}

// Subnets lists the subnets of a network that are visible to the tenant.
func (c networkAPI) Subnets(ctx context.Context, networkID string) ([]Subnet, error) {
	q := url.Values{"network_id": {networkID}}
	subnets, err := list(ctx, c.requests, "subnets", q, func(found Subnet) string { return found.ID })
	return subnets, apierror.Wrap(err, "list subnets of network "+networkID)
}

// Subnet reads one subnet.
func (c networkAPI) Subnet(ctx context.Context, id string) (*Subnet, error) {
	var answer struct {
		Subnet Subnet `json:"subnet"`
	}
	if err := c.object(ctx, "subnets", id, nil, &answer, func() string { return answer.Subnet.ID }); err != nil {
		return nil, apierror.Wrap(err, "read subnet "+id)
	}
	return &answer.Subnet, nil
}

package neutron

import (
	"context"
	"net/url"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// VIPPort is a port that reserves an address and is bound to nothing.
type VIPPort struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	NetworkID   string    `json:"network_id"`
	Description string    `json:"description"`
	FixedIPs    []FixedIP `json:"fixed_ips"`
	Tags        []string  `json:"tags"`
	// DeviceOwner is "" while the port is bound to nothing.
	DeviceOwner string `json:"device_owner"`
}

func vipPortFields() []string {
	return []string{"id", "name", "network_id", "description", "fixed_ips", "tags", "device_owner"}
}

// vipPortAPI reads and writes the ports of VIPs.
type vipPortAPI struct{ requests }

// VIPPorts lists the ports that have a tag, in any network; all ports if the tag is empty.
func (c vipPortAPI) VIPPorts(ctx context.Context, tag string) ([]VIPPort, error) {
	q := url.Values{}
	if tag != "" {
		q.Set("tags", tag)
	}
	return c.vipPorts(ctx, q)
}

// VIPPortsDescribed lists the ports that have a description, in any network.
func (c vipPortAPI) VIPPortsDescribed(ctx context.Context, description string) ([]VIPPort, error) {
	return c.vipPorts(ctx, url.Values{"description": {description}})
}

func (c vipPortAPI) vipPorts(ctx context.Context, q url.Values) ([]VIPPort, error) {
	return listPorts(ctx, c.requests, q, vipPortFields(), func(p VIPPort) string { return p.ID })
}

// VIPPort reads one port.
func (c vipPortAPI) VIPPort(ctx context.Context, id string) (*VIPPort, error) {
	return readPort(ctx, c.requests, id, vipPortFields(), func(p *VIPPort) string { return p.ID })
}

// CreateVIPPort creates a port with one address in a subnet, the address of want if that has one. It
// may exist if apierror.IsUnsure(err), and may have no tags after any error. Tags take a second request, unless
// Neutron has the extension tag-ports-during-bulk-creation.
func (c vipPortAPI) CreateVIPPort(ctx context.Context, want VIPPort) (*VIPPort, error) {
	client, err := c.session.Network(ctx)
	if err != nil {
		return nil, err
	}
	port := &VIPPort{}
	if err := ports.Create(ctx, client, newVIPPort{want}).ExtractInto(port); err != nil {
		return nil, apierror.Wrap(err, "create a port in network "+want.NetworkID)
	}
	if slices.ContainsFunc(want.Tags, func(tag string) bool { return !slices.Contains(port.Tags, tag) }) {
		if err := c.TagPort(ctx, port.ID, want.Tags); err != nil {
			return nil, err
		}
		port.Tags = want.Tags
	}
	return port, nil
}

// TagPort replaces the tags of a port.
func (c vipPortAPI) TagPort(ctx context.Context, id string, tags []string) error {
	return c.tag(ctx, "ports", id, tags)
}

// newVIPPort is the request for a port. gophercloud has no tags in it.
type newVIPPort struct{ want VIPPort }

// ToPortCreateMap implements ports.CreateOptsBuilder.
func (o newVIPPort) ToPortCreateMap() (map[string]any, error) {
	type fixed struct {
		SubnetID  string `json:"subnet_id"`
		IPAddress string `json:"ip_address,omitempty"`
	}
	var addresses []fixed
	for _, ip := range o.want.FixedIPs {
		addresses = append(addresses, fixed(ip))
	}
	return gophercloud.BuildRequestBody(struct {
		NetworkID   string   `json:"network_id"`
		Name        string   `json:"name"`
		Description string   `json:"description"`
		FixedIPs    []fixed  `json:"fixed_ips"`
		Tags        []string `json:"tags"`
	}{o.want.NetworkID, o.want.Name, o.want.Description, addresses, o.want.Tags}, "port")
}

// DeletePort deletes a port. After a 404 it sends a second request to read it.
func (c vipPortAPI) DeletePort(ctx context.Context, id string) error {
	client, err := c.session.Network(ctx)
	if err != nil {
		return err
	}
	return c.gone(ctx, apierror.Wrap(ports.Delete(ctx, client, id).ExtractErr(), "delete port "+id), "ports/"+id)
}

package octavia

import (
	"context"
	"net/url"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// Flavor is a kind of load balancer that the cloud offers.
type Flavor struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
}

// AvailabilityZone is a zone for load balancers.
type AvailabilityZone struct {
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
}

// Flavors lists the flavors of load balancers. There are few, and they belong to no
// project.
func (c *Client) Flavors(ctx context.Context) ([]Flavor, error) {
	return listAnyProject(ctx, c, "flavors", url.Values{}, func(f Flavor) string { return f.ID })
}

// AvailabilityZones lists the availability zones of load balancers. They have no ID, and Octavia
// answers 500 to a marker, so that only the first page can be read.
func (c *Client) AvailabilityZones(ctx context.Context) ([]AvailabilityZone, error) {
	var answer struct {
		Zones []AvailabilityZone `json:"availability_zones"`
	}
	if err := c.get(ctx, "availabilityzones", &answer); err != nil {
		return nil, apierror.Wrap(err, "list availability zones of load balancers")
	}
	return answer.Zones, nil
}

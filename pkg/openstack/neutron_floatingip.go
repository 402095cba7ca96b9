package openstack

import (
	"context"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
)

// FloatingIPFilter says which floating IPs FloatingIPs lists. Empty fields do not
// filter.
type FloatingIPFilter struct {
	PortID, Address, Description string
	// Tag is one that they all carry.
	Tag string
	// IDs and PortIDs are lists of which each has one: no more than 150 of them, as
	// a URL holds no more than 8 KiB.
	IDs, PortIDs []string
}

func (f FloatingIPFilter) query(projectID string) url.Values {
	q := url.Values{}
	for key, value := range map[string]string{
		"port_id":             f.PortID,
		"floating_ip_address": f.Address,
		"description":         f.Description,
		"tags":                f.Tag,
		"project_id":          projectID,
	} {
		if value != "" {
			q.Set(key, value)
		}
	}
	for key, values := range map[string][]string{"id": f.IDs, "port_id": f.PortIDs} {
		for _, value := range values {
			q.Add(key, value)
		}
	}
	return q
}

// FloatingIPs lists floating IPs of the session's project.
func (n *Neutron) FloatingIPs(ctx context.Context, filter FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	q := filter.query(n.session.ProjectID())
	found, err := listNetwork(ctx, n, "floatingips", q, func(fip floatingips.FloatingIP) string { return fip.ID })
	return found, Wrap(err, "list floating IPs")
}

// CreateFloatingIP makes a floating IP and, with a PortID, associates it in the
// same request. When IsUnsure(err) it may exist all the same.
func (n *Neutron) CreateFloatingIP(ctx context.Context, opts floatingips.CreateOpts) (*floatingips.FloatingIP, error) {
	client, err := n.session.Network(ctx)
	if err != nil {
		return nil, err
	}
	fip, err := floatingips.Create(ctx, client, opts).Extract()
	if err != nil {
		return nil, Wrap(err, "create floating IP on network "+opts.FloatingNetworkID)
	}
	return fip, nil
}

// UpdateFloatingIP puts a floating IP on a port, or takes it off, and changes its
// description, in one request. Neutron moves a floating IP that is on another port
// without a word: with RevisionNumber it does so only if nobody has changed it since
// it was read, and answers 412 otherwise.
func (n *Neutron) UpdateFloatingIP(ctx context.Context, id string, opts floatingips.UpdateOpts) (*floatingips.FloatingIP, error) {
	client, err := n.session.Network(ctx)
	if err != nil {
		return nil, err
	}
	fip, err := floatingips.Update(ctx, client, id, opts).Extract()
	if err != nil {
		return nil, Wrap(err, "associate floating IP "+id)
	}
	return fip, nil
}

// DeleteFloatingIP gives a floating IP back to its pool.
func (n *Neutron) DeleteFloatingIP(ctx context.Context, id string) error {
	client, err := n.session.Network(ctx)
	if err != nil {
		return err
	}
	return ignoreNotFound(floatingips.Delete(ctx, client, id).ExtractErr(), "delete floating IP "+id)
}

// IsExhausted tells that there is no free address where a floating IP was to come
// from.
func IsExhausted(err error) bool {
	kind := NeutronType(err)
	return strings.HasPrefix(kind, "IpAddressGenerationFailure") || kind == "ExternalIpAddressExhausted"
}

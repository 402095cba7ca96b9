package neutron

import (
	"context"
	"errors"
	"net/url"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// FloatingIPFilter selects the floating IPs that FloatingIPs lists. Empty fields do not
// filter; one in which nothing is set is an error, unless All is.
type FloatingIPFilter struct {
	PortID, Address, Description string
	// Tag is one that they all carry.
	Tag string
	// IDs and PortIDs are lists of which each has one: no more than 150 of them, as
	// a URL holds no more than 8 KiB.
	IDs, PortIDs []string
	All          bool
}

// empty reports whether nothing limits the list.
func (f FloatingIPFilter) empty() bool { return len(f.query("")) == 0 }

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
func (c *Client) FloatingIPs(ctx context.Context, filter FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	if filter.empty() != filter.All {
		return nil, errors.New("list floating IPs: the filter is empty")
	}
	q := filter.query(c.session.ProjectID())
	found, err := list(ctx, c, "floatingips", q, func(fip listed) string { return fip.ID })
	if err != nil {
		return nil, apierror.Wrap(err, "list floating IPs")
	}
	all := make([]floatingips.FloatingIP, len(found))
	for i := range found {
		all[i] = floatingips.FloatingIP(found[i])
	}
	return all, nil
}

// listed is a floating IP without the method that decodes it twice more, for times that nobody needs.
type listed floatingips.FloatingIP

// CreateFloatingIP creates a floating IP and, with a PortID, associates it in the
// same request. When apierror.IsUnsure(err) it may exist all the same.
func (c *Client) CreateFloatingIP(ctx context.Context, opts floatingips.CreateOpts) (*floatingips.FloatingIP, error) {
	client, err := c.session.Network(ctx)
	if err != nil {
		return nil, err
	}
	fip, err := floatingips.Create(ctx, client, opts).Extract()
	if err != nil {
		return nil, apierror.Wrap(err, "create floating IP on network "+opts.FloatingNetworkID)
	}
	return fip, nil
}

// UpdateFloatingIP puts a floating IP on a port, or takes it off, and changes its
// description, in one request. Neutron moves a floating IP that is on another port
// without a word: with RevisionNumber it answers 412 instead when the floating IP was
// changed since it was read.
func (c *Client) UpdateFloatingIP(ctx context.Context, id string, opts floatingips.UpdateOpts) (*floatingips.FloatingIP, error) {
	client, err := c.session.Network(ctx)
	if err != nil {
		return nil, err
	}
	fip, err := floatingips.Update(ctx, client, id, opts).Extract()
	if err != nil {
		return nil, apierror.Wrap(err, "associate floating IP "+id)
	}
	return fip, nil
}

// DeleteFloatingIP returns a floating IP to its pool. After a 404 it is read: a second request.
func (c *Client) DeleteFloatingIP(ctx context.Context, id string) error {
	client, err := c.session.Network(ctx)
	if err != nil {
		return err
	}
	return c.gone(ctx, apierror.Wrap(floatingips.Delete(ctx, client, id).ExtractErr(), "delete floating IP "+id), "floatingips/"+id)
}

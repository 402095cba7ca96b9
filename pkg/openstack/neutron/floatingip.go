package neutron

import (
	"context"
	"errors"
	"net/url"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// FloatingIPFilter selects floating IPs. Empty fields do not filter; a filter without any field is
// an error, unless All is set.
type FloatingIPFilter struct {
	PortID, Address, Description string
	// Tag is a tag that all of them have.
	Tag string
	// IDs and PortIDs list alternatives: at most 150, because a URL is limited to 8 KiB.
	IDs, PortIDs []string
	All          bool
}

// empty reports whether the filter has no field.
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

// floatingIPAPI reads and writes floating IPs.
type floatingIPAPI struct{ requests }

// FloatingIPs lists floating IPs of the session's project.
func (c floatingIPAPI) FloatingIPs(ctx context.Context, filter FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	if filter.empty() != filter.All {
		return nil, errors.New("list floating IPs: the filter is empty")
	}
	q := filter.query(c.session.ProjectID())
	found, err := list(ctx, c.requests, "floatingips", q, func(fip listed) string { return fip.ID })
	if err != nil {
		return nil, apierror.Wrap(err, "list floating IPs")
	}
	all := make([]floatingips.FloatingIP, len(found))
	for i := range found {
		all[i] = floatingips.FloatingIP(found[i])
	}
	return all, nil
}

// FloatingIPsOn lists the floating IPs on ports, with one request for every 150 ports.
func (c floatingIPAPI) FloatingIPsOn(ctx context.Context, portIDs []string) ([]floatingips.FloatingIP, error) {
	return inChunks(portIDs, func(chunk []string) ([]floatingips.FloatingIP, error) {
		return c.FloatingIPs(ctx, FloatingIPFilter{PortIDs: chunk})
	})
}

// listed is a floating IP without its UnmarshalJSON, which decodes it twice more for timestamps
// that are not used.
type listed floatingips.FloatingIP

// CreateFloatingIP creates a floating IP and, with a PortID, associates it in the same request. It
// may exist if apierror.IsUnsure(err).
func (c floatingIPAPI) CreateFloatingIP(ctx context.Context, opts floatingips.CreateOpts) (*floatingips.FloatingIP, error) {
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

// UpdateFloatingIP associates a floating IP with a port or dissociates it, and changes its
// description, in one request. Neutron silently moves a floating IP from another port. With
// RevisionNumber it answers 412 if the floating IP has changed since it was read.
func (c floatingIPAPI) UpdateFloatingIP(ctx context.Context, id string, opts floatingips.UpdateOpts) (*floatingips.FloatingIP, error) {
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

// DeleteFloatingIP returns a floating IP to its pool. After a 404 it sends a second request to read
// it. Neutron refuses to delete one with port forwardings: it deletes these, and tries again.
func (c floatingIPAPI) DeleteFloatingIP(ctx context.Context, id string) error {
	client, err := c.session.Network(ctx)
	if err != nil {
		return err
	}
	remove := func() error {
		return apierror.Wrap(floatingips.Delete(ctx, client, id).ExtractErr(), "delete floating IP "+id)
	}
	err = remove()
	if apierror.IsForwarded(err) {
		if err := forwardingAPI(c).deleteForwardings(ctx, id); err != nil {
			return err
		}
		err = remove()
	}
	return c.gone(ctx, err, "floatingips/"+id)
}

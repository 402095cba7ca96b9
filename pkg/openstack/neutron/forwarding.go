package neutron

import (
	"context"
	"net/url"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/portforwarding"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// Forwarding is a port forwarding of a floating IP.
type Forwarding struct {
	ID string `json:"id"`
	// Protocol is tcp or udp. ExternalPort is a port of the floating IP, InternalPort one of the target.
	Protocol     string `json:"protocol"`
	ExternalPort int    `json:"external_port"`
	InternalPort int    `json:"internal_port"`
	// InternalPortID is the port of the target, InternalIPAddress one of its IPv4 addresses.
	InternalPortID    string `json:"internal_port_id"`
	InternalIPAddress string `json:"internal_ip_address"`
	// Description is "" in lists of floating IPs.
	Description string `json:"description"`
}

// ForwardedIP is a floating IP with its port forwardings.
type ForwardedIP struct {
	ID          string       `json:"id"`
	NetworkID   string       `json:"floating_network_id"`
	Address     string       `json:"floating_ip_address"`
	Description string       `json:"description"`
	Forwardings []Forwarding `json:"port_forwardings"`
}

// forwardingAPI reads and writes the port forwardings of floating IPs.
type forwardingAPI struct{ requests }

// ForwardedIPs lists the floating IPs of the project that have port forwardings.
func (c forwardingAPI) ForwardedIPs(ctx context.Context) ([]ForwardedIP, error) {
	q := url.Values{"fields": {"id", "floating_network_id", "floating_ip_address", "description", "port_forwardings"}}
	if project := c.session.ProjectID(); project != "" {
		q.Set("project_id", project)
	}
	all, err := list(ctx, c.requests, "floatingips", q, func(fip ForwardedIP) string { return fip.ID })
	var found []ForwardedIP
	for _, fip := range all {
		if len(fip.Forwardings) > 0 {
			found = append(found, fip)
		}
	}
	return found, apierror.Wrap(err, "list floating IPs with port forwardings")
}

// Forwards reports whether a floating IP has port forwardings: only these put one without a port on a router.
func Forwards(fip floatingips.FloatingIP) bool { return fip.PortID == "" && fip.RouterID != "" }

// HasForwardings reports whether Neutron has port forwardings: the service plug-in port_forwarding.
func (c forwardingAPI) HasForwardings(ctx context.Context) (bool, error) {
	err := c.get(ctx, "extensions/floating-ip-port-forwarding", nil, nil)
	if apierror.IsUnknownAction(err) {
		return false, nil
	}
	return err == nil, apierror.Wrap(err, "read the extension floating-ip-port-forwarding")
}

// Forwardings lists the port forwardings of a floating IP.
func (c forwardingAPI) Forwardings(ctx context.Context, floatingIPID string) ([]Forwarding, error) {
	var answer struct {
		Forwardings []Forwarding `json:"port_forwardings"`
	}
	err := c.get(ctx, "floatingips/"+url.PathEscape(floatingIPID)+"/port_forwardings", nil, &answer)
	return answer.Forwardings, apierror.Wrap(err, "list the port forwardings of floating IP "+floatingIPID)
}

// CreateForwarding creates a port forwarding, and returns its ID.
func (c forwardingAPI) CreateForwarding(ctx context.Context, floatingIPID string, want Forwarding) (id string, err error) {
	client, err := c.session.Network(ctx)
	if err != nil {
		return "", err
	}
	made, err := portforwarding.Create(ctx, client, floatingIPID, portforwarding.CreateOpts{
		Protocol: want.Protocol, ExternalPort: want.ExternalPort, InternalPort: want.InternalPort,
		InternalPortID: want.InternalPortID, InternalIPAddress: want.InternalIPAddress, Description: want.Description,
	}).Extract()
	if err != nil {
		return "", apierror.Wrap(err, "create a port forwarding of floating IP "+floatingIPID)
	}
	return made.ID, nil
}

// RetargetForwarding changes the target of a port forwarding, in one request.
func (c forwardingAPI) RetargetForwarding(ctx context.Context, floatingIPID string, to Forwarding) error {
	client, err := c.session.Network(ctx)
	if err != nil {
		return err
	}
	err = portforwarding.Update(ctx, client, floatingIPID, to.ID, portforwarding.UpdateOpts{
		InternalPort: to.InternalPort, InternalPortID: to.InternalPortID, InternalIPAddress: to.InternalIPAddress,
	}).Err
	return apierror.Wrap(err, "change port forwarding "+to.ID+" of floating IP "+floatingIPID)
}

// DeleteForwarding deletes a port forwarding. After a 404 it sends a second request to read it.
func (c forwardingAPI) DeleteForwarding(ctx context.Context, floatingIPID, id string) error {
	client, err := c.session.Network(ctx)
	if err != nil {
		return err
	}
	err = apierror.Wrap(portforwarding.Delete(ctx, client, floatingIPID, id).ExtractErr(), "delete port forwarding "+id+" of floating IP "+floatingIPID)
	return c.gone(ctx, err, "floatingips/"+floatingIPID+"/port_forwardings/"+id)
}

// deleteForwardings deletes all port forwardings of a floating IP.
func (c forwardingAPI) deleteForwardings(ctx context.Context, floatingIPID string) error {
	all, err := c.Forwardings(ctx, floatingIPID)
	for _, f := range all {
		if err == nil {
			err = c.DeleteForwarding(ctx, floatingIPID, f.ID)
		}
	}
	return err
}

package facts

import (
	"context"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// NodePorts gives the ports of servers, by server: a request for 150 servers that
// were not asked for lately.
func (r *Reader) NodePorts(ctx context.Context, servers []string) (map[string][]openstack.Port, error) {
	return r.ports.getMany(ctx, servers, r.portsOf)
}

// KnownPort gives a port as it was last seen, if that is not too long ago.
func (r *Reader) KnownPort(id string) (openstack.Port, bool) { return r.port.kept(id) }

// KeepPort notes how a port is now.
func (r *Reader) KeepPort(port openstack.Port) {
	r.port.keep(port.ID, port)
	if known, ok := r.ports.kept(port.DeviceID); ok {
		others := slices.DeleteFunc(slices.Clone(known), func(p openstack.Port) bool { return p.ID == port.ID })
		r.ports.keep(port.DeviceID, append(others, port))
	}
}

// ForgetPorts has the ports of servers read anew.
func (r *Reader) ForgetPorts(servers ...string) {
	for _, server := range servers {
		r.ports.forget(server)
	}
}

func (r *Reader) portsOf(ctx context.Context, servers []string) (map[string][]openstack.Port, error) {
	ports, err := r.neutron.PortsOfDevices(ctx, servers)
	if err != nil {
		return nil, err
	}
	byServer := map[string][]openstack.Port{}
	for _, port := range ports {
		r.port.keep(port.ID, port)
		byServer[port.DeviceID] = append(byServer[port.DeviceID], port)
	}
	return byServer, nil
}

// ServerID gives the last part of a provider ID, openstack://[region]/ID; "" when it
// is no server of OpenStack.
func ServerID(providerID string) string {
	rest, ok := strings.CutPrefix(providerID, "openstack://")
	if !ok {
		return ""
	}
	return rest[strings.LastIndexByte(rest, '/')+1:]
}

// SubnetCIDR gives the CIDR of a subnet; "" when there is none that the project can
// see.
func (r *Reader) SubnetCIDR(ctx context.Context, id string) (string, error) {
	subnet, err := r.subnet.get(ctx, id, r.neutron.Subnet)
	switch {
	case openstack.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", err
	}
	return subnet.CIDR, nil
}

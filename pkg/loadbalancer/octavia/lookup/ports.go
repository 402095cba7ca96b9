package lookup

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// nodePorts reads and caches the ports of nodes.
type nodePorts struct {
	neutron Neutron
	ports   *cache[[]neutron.Port] // by server
	port    *cache[neutron.Port]   // by ID
	// addresses are the ports by address; an empty list if the address has none.
	addresses *cache[[]neutron.Port]
	// missed are addresses for which the ports of their servers were read again without finding
	// them.
	missed *cache[bool] // by server and address
	// nodes caches the subnets of the nodes of the last call.
	nodes nodeSubnets
}

// NodePorts returns the ports of servers, by server. It sends a request for every 150 servers that
// are not cached. Each port is in its last known state.
func (p *nodePorts) NodePorts(ctx context.Context, servers []string) (map[string][]neutron.Port, error) {
	found, err := p.ports.getMany(ctx, servers, p.portsOf)
	for server, ports := range found {
		found[server] = p.lastSeen(ports)
	}
	return found, err
}

// NodeSubnets returns the subnets of the ports of servers.
func (p *nodePorts) NodeSubnets(ctx context.Context, servers []string) ([]string, error) {
	found, err := p.NodePorts(ctx, servers)
	var subnets []string
	for _, ports := range found {
		for _, port := range ports {
			for _, ip := range port.FixedIPs {
				subnets = append(subnets, ip.SubnetID)
			}
		}
	}
	slices.Sort(subnets)
	return slices.Compact(subnets), err
}

// KnownPort returns the cached state of a port, if it is valid.
func (p *nodePorts) KnownPort(id string) (neutron.Port, bool) { return p.port.kept(id) }

// KeepPort caches the state of a port.
func (p *nodePorts) KeepPort(port neutron.Port) { p.port.keep(port.ID, port) }

// ForgetPorts drops the ports of servers from the cache.
func (p *nodePorts) ForgetPorts(servers ...string) {
	for _, server := range servers {
		p.ports.forget(server)
	}
}

func (p *nodePorts) portsOf(ctx context.Context, servers []string) (map[string][]neutron.Port, error) {
	ports, err := p.neutron.PortsOfDevices(ctx, servers)
	if err != nil {
		return nil, err
	}
	byServer := map[string][]neutron.Port{}
	for _, port := range ports {
		p.port.keepNewer(port.ID, port, newerPort)
		byServer[port.DeviceID] = append(byServer[port.DeviceID], port)
	}
	return byServer, nil
}

// newerPort reports whether a is a later state of a port than b. With concurrent Services, a list
// may arrive after the answer to a change that it does not contain.
func newerPort(a, b neutron.Port) bool {
	return a.Revision != nil && b.Revision != nil && *a.Revision > *b.Revision
}

// SubnetCIDR returns the CIDR of a subnet; "" if the project cannot see it.
func (r *Reader) SubnetCIDR(ctx context.Context, id string) (string, error) {
	subnet, err := r.networks.subnet(ctx, id)
	switch {
	case apierror.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", err
	}
	return subnet.CIDR, nil
}

// Range returns the CIDR of a subnet or, if that is of another IP family, of the first subnet of the family in
// its network. It is not valid if the project sees none of the family. The error is an *Error that names the setting
// askedBy if the project does not see the subnet itself: without its range, members would get other addresses of their nodes.
func (r *Reader) Range(ctx context.Context, id string, family v1.IPFamily, askedBy string) (netip.Prefix, error) {
	subnet, err := r.networks.subnet(ctx, id)
	switch {
	case apierror.IsNotFound(err):
		return netip.Prefix{}, noSubnet(askedBy, id)
	case err != nil:
		return netip.Prefix{}, err
	case familyOf(*subnet) == family:
		return netip.ParsePrefix(subnet.CIDR)
	}
	subnets, err := r.networks.subnets(ctx, subnet.NetworkID)
	if err != nil {
		return netip.Prefix{}, err
	}
	subnets = slices.DeleteFunc(slices.Clone(subnets), func(s neutron.Subnet) bool { return familyOf(s) != family })
	if len(subnets) == 0 {
		return netip.Prefix{}, nil
	}
	first := slices.MinFunc(subnets, func(a, b neutron.Subnet) int { return strings.Compare(a.ID, b.ID) })
	return netip.ParsePrefix(first.CIDR)
}

// Family returns the IP family of a VIP, by its address or else by its subnet; empty if both are
// unknown. Octavia validates a subnet that the project cannot see.
func (r *Reader) Family(ctx context.Context, vip model.VIP) (v1.IPFamily, error) {
	text := vip.Address
	if text == "" && vip.SubnetID != "" {
		cidr, err := r.SubnetCIDR(ctx, vip.SubnetID)
		if err != nil {
			return "", err
		}
		text, _, _ = strings.Cut(cidr, "/")
	}
	switch address, err := netip.ParseAddr(text); {
	case err != nil:
		return "", nil //nolint:nilerr // the family is unknown
	case address.Unmap().Is4():
		return v1.IPv4Protocol, nil
	}
	return v1.IPv6Protocol, nil
}

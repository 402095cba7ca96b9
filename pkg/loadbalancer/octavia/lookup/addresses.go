package lookup

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// addressAge is how long the ports at an address are cached, also if there are none: long enough
// for Services that are reconciled one after the other.
const addressAge = time.Minute

// NodePortsAt returns the ports with the given addresses on any network, by address. It sends a
// request for every 90 addresses that it has not read within addressAge. Each port is in its last
// known state. Ports of Neutron itself and of load balancers are omitted, because they are not
// those of nodes.
func (p *nodePorts) NodePortsAt(ctx context.Context, addresses []string) (map[string][]neutron.Port, error) {
	found, err := p.addresses.getMany(ctx, addresses, p.portsAt)
	for address, ports := range found {
		found[address] = p.lastSeen(ports)
	}
	return found, err
}

func (p *nodePorts) portsAt(ctx context.Context, addresses []string) (map[string][]neutron.Port, error) {
	ports, err := p.neutron.PortsAtAddresses(ctx, addresses)
	if err != nil {
		return nil, err
	}
	byAddress := make(map[string][]neutron.Port, len(addresses))
	for _, address := range addresses {
		byAddress[address] = nil
	}
	for _, port := range ports {
		if notOfServer(port) {
			continue
		}
		p.port.keepNewer(port.ID, port, newerPort)
		for _, ip := range port.FixedIPs {
			if _, asked := byAddress[ip.IPAddress]; asked {
				byAddress[ip.IPAddress] = append(byAddress[ip.IPAddress], port)
			}
		}
	}
	return byAddress, nil
}

// notOfServer reports whether a port belongs to Neutron itself or to a load balancer. Before 2026.2, only
// the name of a VIP of provider ovn shows that.
func notOfServer(port neutron.Port) bool {
	owner := strings.ToLower(port.DeviceOwner)
	return strings.HasPrefix(owner, "network:") || strings.Contains(owner, "octavia") ||
		strings.HasPrefix(owner, "ovn-lb") || strings.HasPrefix(port.Name, "ovn-lb-vip-")
}

// lastSeen returns the last known states of ports.
func (p *nodePorts) lastSeen(ports []neutron.Port) []neutron.Port {
	now := slices.Clone(ports)
	for i, port := range now {
		if known, ok := p.port.kept(port.ID); ok {
			now[i] = known
		}
	}
	return now
}

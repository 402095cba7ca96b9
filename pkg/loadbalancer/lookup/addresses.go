package lookup

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// addressAge is how long the ports at an address are taken to stay as they were read, also where there
// was none: long enough for Services that come one after the other.
const addressAge = time.Minute

// NodePortsAt returns the ports that have some addresses, on whatever network, by address: a request for
// 90 addresses that were not asked for within a minute. Each port is as it was last seen. Ports of
// Neutron itself and of load balancers are left out: they are not a node's.
func (r *Reader) NodePortsAt(ctx context.Context, addresses []string) (map[string][]neutron.Port, error) {
	found, err := r.addresses.getMany(ctx, addresses, r.portsAt)
	for address, ports := range found {
		found[address] = r.lastSeen(ports)
	}
	return found, err
}

func (r *Reader) portsAt(ctx context.Context, addresses []string) (map[string][]neutron.Port, error) {
	ports, err := r.neutron.PortsAtAddresses(ctx, addresses)
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
		r.port.keepNewer(port.ID, port, newerPort)
		for _, ip := range port.FixedIPs {
			if _, asked := byAddress[ip.IPAddress]; asked {
				byAddress[ip.IPAddress] = append(byAddress[ip.IPAddress], port)
			}
		}
	}
	return byAddress, nil
}

// notOfServer reports whether a port is of Neutron itself or of a load balancer. The VIP of one of provider
// ovn shows that by its name alone before 2026.2.
func notOfServer(port neutron.Port) bool {
	owner := strings.ToLower(port.DeviceOwner)
	return strings.HasPrefix(owner, "network:") || strings.Contains(owner, "octavia") ||
		strings.HasPrefix(owner, "ovn-lb") || strings.HasPrefix(port.Name, "ovn-lb-vip-")
}

// lastSeen returns ports as they were last seen.
func (r *Reader) lastSeen(ports []neutron.Port) []neutron.Port {
	now := slices.Clone(ports)
	for i, port := range now {
		if known, ok := r.port.kept(port.ID); ok {
			now[i] = known
		}
	}
	return now
}

package lookup

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
)

// nodeSubnets caches the subnets of nodes for consecutive Services with the same nodes, because
// computing them is the largest part of a round without changes. The cache is valid as long as its
// inputs are.
type nodeSubnets struct {
	mu sync.Mutex
	// backends are the nodes. Lists of backends are immutable.
	backends []members.Backend
	until    time.Time
	changes  uint64
	found    map[string]string
}

// of returns the cached subnets of backends, nil if there are none.
func (n *nodeSubnets) of(backends []members.Backend, now time.Time, changes uint64) map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(backends) == 0 || len(n.backends) != len(backends) || &n.backends[0] != &backends[0] || n.changes != changes || now.After(n.until) {
		return nil
	}
	return n.found
}

func (n *nodeSubnets) keep(backends []members.Backend, found map[string]string, until time.Time, changes uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.backends, n.found, n.until, n.changes = backends, found, until, changes
}

// MemberSubnets returns the subnets of the nodes' addresses, as far as they are on ports of this
// project: from the ports of their servers, with a request for every 150 nodes that are not cached.
// Ports without the address of their node are read again once, because the node may have a new
// address. Neither the arguments nor the result may be modified.
func (p *nodePorts) MemberSubnets(ctx context.Context, backends []members.Backend) (map[string]string, error) {
	changes := p.portChanges() // before any read, so that the result does not miss later changes
	if known := p.nodes.of(backends, p.ports.clock.Now(), changes); known != nil {
		return known, nil
	}
	servers := map[string]string{} // server by address
	for _, b := range backends {
		if server := cluster.ServerID(b.Node.Spec.ProviderID); server != "" {
			servers[b.Address] = server
		}
	}
	asked := slices.Sorted(maps.Values(servers))
	before := map[string]bool{} // servers with ports that were read earlier
	for _, server := range asked {
		_, before[server] = p.ports.kept(server)
	}
	found, err := p.subnetsOf(ctx, servers, asked)
	if err != nil {
		return nil, err
	}
	var again []string
	for address, server := range servers {
		_, missed := p.missed.kept(server + " " + address)
		if found[address] == "" && before[server] && !missed {
			p.missed.keep(server+" "+address, true)
			again = append(again, server)
		}
	}
	if len(again) > 0 {
		p.ForgetPorts(again...)
		if found, err = p.subnetsOf(ctx, servers, asked); err != nil {
			return nil, err
		}
	}
	if until, all := p.ports.keptUntil(asked); all {
		p.nodes.keep(backends, found, until, changes)
	}
	return found, nil
}

// subnetsOf returns the subnets of the addresses of servers.
func (p *nodePorts) subnetsOf(ctx context.Context, servers map[string]string, asked []string) (map[string]string, error) {
	ports, err := p.NodePorts(ctx, asked)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for address, server := range servers {
		for _, port := range ports[server] {
			for _, ip := range port.FixedIPs {
				if ip.IPAddress == address {
					found[address] = ip.SubnetID
				}
			}
		}
	}
	return found, nil
}

// portChanges increases with every change of a cached port.
func (p *nodePorts) portChanges() uint64 { return p.ports.changes.Load() + p.port.changes.Load() }

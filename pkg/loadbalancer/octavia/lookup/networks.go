package lookup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// networkReader reads and caches networks and subnets. It is safe for concurrent use.
type networkReader struct {
	neutron   Neutron
	byID      *cache[*neutron.Network]
	externals *cache[[]neutron.Network]
	bySubnet  *cache[*neutron.Subnet]
	byNetwork *cache[[]neutron.Subnet]
}

func newNetworkReader(neutronAPI Neutron, clk clock.PassiveClock, age time.Duration) *networkReader {
	return &networkReader{
		neutron:   neutronAPI,
		byID:      newCache[*neutron.Network](clk, age),
		externals: newCache[[]neutron.Network](clk, age),
		bySubnet:  newCache[*neutron.Subnet](clk, age),
		byNetwork: newCache[[]neutron.Subnet](clk, age),
	}
}

func (n *networkReader) network(ctx context.Context, id string) (*neutron.Network, error) {
	return n.byID.get(ctx, id, n.neutron.Network)
}

// namedNetwork returns a network that the setting by names. The error is an *Error if the project sees none.
func (n *networkReader) namedNetwork(ctx context.Context, id, by string) (*neutron.Network, error) {
	network, err := n.network(ctx, id)
	if apierror.IsNotFound(err) {
		return nil, &Error{Message: fmt.Sprintf("%s: there is no network %s, or this project cannot see it: correct the ID, or share the network with the project", by, id)}
	}
	return network, err
}

// external returns the external networks with subnets. The others are unusable.
func (n *networkReader) external(ctx context.Context) ([]neutron.Network, error) {
	return n.externals.get(ctx, "", func(ctx context.Context, _ string) ([]neutron.Network, error) {
		all, err := n.neutron.ExternalNetworks(ctx)
		return slices.DeleteFunc(all, func(network neutron.Network) bool { return len(network.Subnets) == 0 }), err
	})
}

func (n *networkReader) subnet(ctx context.Context, id string) (*neutron.Subnet, error) {
	return n.bySubnet.get(ctx, id, n.neutron.Subnet)
}

// subnets returns the subnets of a network that the project sees.
func (n *networkReader) subnets(ctx context.Context, networkID string) ([]neutron.Subnet, error) {
	return n.byNetwork.get(ctx, networkID, n.neutron.Subnets)
}

// having returns the networks with a subnet that contains an address; all of them if the project
// sees no such subnet.
func (n *networkReader) having(ctx context.Context, networks []neutron.Network, address string) ([]neutron.Network, error) {
	var found []neutron.Network
	for _, network := range networks {
		subnets, err := n.subnets(ctx, network.ID)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(subnets, func(subnet neutron.Subnet) bool { return contains(subnet, address) }) {
			found = append(found, network)
		}
	}
	if len(found) == 0 {
		return networks, nil
	}
	return found, nil
}

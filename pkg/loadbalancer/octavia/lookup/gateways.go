package lookup

import (
	"cmp"
	"context"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// gateways are the external networks that routers connect with a subnet, as far as the project sees
// the routers.
type gateways struct {
	networks []string
	// seen is set if there are routers and the project sees the gateways of all visible ones. Choices
	// use it. A project may see no router of a subnet of another project, or routers that are not Neutron's.
	seen bool
	// in is the network of the routers, if seen.
	in string
}

// lead reports whether there may be a route to an external network, "" for any.
func (g gateways) lead(network string) bool {
	if !g.seen {
		return true
	}
	return slices.Contains(g.networks, network) || network == "" && len(g.networks) > 0
}

// gateways returns the gateways of a subnet, or of all subnets of a network if the subnet is
// unknown. A result without gateways is not cached, because the operator may be about to add one.
func (r *routerReader) gateways(ctx context.Context, network, subnet string) (gateways, error) {
	near, err := r.near(ctx, network, subnet)
	if err != nil || len(near.ids) == 0 {
		return gateways{}, err
	}
	found := gateways{seen: len(near.visible) == len(near.ids), in: near.interfaces[0].NetworkID}
	for _, router := range near.visible {
		all := slices.Clone(router.Gateways)
		if router.Gateway != nil {
			all = append(all, *router.Gateway)
		}
		for _, gateway := range all {
			if gateway.NetworkID != "" {
				found.networks = append(found.networks, gateway.NetworkID)
			}
		}
	}
	if found.seen && len(found.networks) == 0 {
		r.routers.forget(cmp.Or(subnet, network))
	}
	return found, nil
}

// complete reports whether the project certainly sees all routers. The owner of a network sees the ports
// of all projects in it; other projects see only their own. Refusals use it.
func (r *routerReader) complete(ctx context.Context, way gateways) (bool, error) {
	if !way.seen {
		return false, nil
	}
	network, err := r.networks.network(ctx, way.in)
	if err != nil {
		return false, hidden(err)
	}
	return r.neutron.OwnsNetwork(network), nil
}

// reachable returns the networks that routers connect with the VIP: all of them if that is unknown,
// none if there is certainly no router to any.
func (r *routerReader) reachable(ctx context.Context, networks []neutron.Network, way gateways) ([]neutron.Network, error) {
	found := slices.DeleteFunc(slices.Clone(networks), func(n neutron.Network) bool { return !slices.Contains(way.networks, n.ID) })
	if len(found) > 0 {
		return found, nil
	}
	complete, err := r.complete(ctx, way)
	if err != nil || complete {
		return nil, err
	}
	return networks, nil
}

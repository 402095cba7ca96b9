package lookup

import (
	"context"
	"slices"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
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
// unknown. The first call sends two requests. A result without gateways is not cached, because the
// operator may be about to add one.
func (r *Reader) gateways(ctx context.Context, network, subnet string) (gateways, error) {
	if network == "" && subnet == "" {
		return gateways{}, nil
	}
	key := network
	if subnet != "" {
		key = subnet
	}
	found, err := r.ways.get(ctx, key, func(ctx context.Context, _ string) (gateways, error) { return r.readGateways(ctx, network, subnet) })
	if err == nil && found.seen && len(found.networks) == 0 {
		r.ways.forget(key)
	}
	return found, err
}

func (r *Reader) readGateways(ctx context.Context, network, subnet string) (gateways, error) {
	interfaces, err := r.neutron.RouterInterfaces(ctx, network, subnet)
	if err != nil || len(interfaces) == 0 {
		return gateways{}, hidden(err)
	}
	var ids []string
	for _, port := range interfaces {
		ids = append(ids, port.DeviceID)
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
	if len(ids) == 0 {
		return gateways{}, nil
	}
	routers, err := r.neutron.Routers(ctx, ids)
	if err != nil {
		return gateways{}, hidden(err)
	}
	found := gateways{seen: len(routers) == len(ids), in: interfaces[0].NetworkID}
	for _, router := range routers {
		all := router.Gateways
		if router.Gateway != nil {
			all = append(all, *router.Gateway)
		}
		for _, gateway := range all {
			if gateway.NetworkID != "" {
				found.networks = append(found.networks, gateway.NetworkID)
			}
		}
	}
	return found, nil
}

// complete reports whether the project certainly sees all routers. The owner of a network sees the ports
// of all projects in it; other projects see only their own. Refusals use it.
func (r *Reader) complete(ctx context.Context, way gateways) (bool, error) {
	if !way.seen {
		return false, nil
	}
	network, err := r.networks.get(ctx, way.in, r.neutron.Network)
	if err != nil {
		return false, hidden(err)
	}
	return r.neutron.OwnsNetwork(network), nil
}

// hidden returns nil for an error that means that the project may not see routers.
func hidden(err error) error {
	if apierror.IsForbidden(err) || apierror.IsNotFound(err) || apierror.IsUnknownAction(err) {
		return nil
	}
	return err
}

// reachable returns the networks that routers connect with the VIP: all of them if that is unknown,
// none if there is certainly no router to any.
func (r *Reader) reachable(ctx context.Context, networks []neutron.Network, way gateways) ([]neutron.Network, error) {
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

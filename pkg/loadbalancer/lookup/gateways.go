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
	// complete is set if the project sees all routers. It may see none for a subnet of another
	// project, and if routers are not Neutron's.
	complete bool
}

// lead reports whether there may be a route to an external network, "" for any.
func (g gateways) lead(network string) bool {
	if !g.complete {
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
	if err == nil && found.complete && len(found.networks) == 0 {
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
	found := gateways{complete: len(routers) == len(ids)}
	for _, router := range routers {
		if router.Gateway != nil && router.Gateway.NetworkID != "" {
			found.networks = append(found.networks, router.Gateway.NetworkID)
		}
	}
	return found, nil
}

// hidden returns nil for an error that means that the project may not see routers.
func hidden(err error) error {
	if apierror.IsForbidden(err) || apierror.IsNotFound(err) || apierror.IsUnknownAction(err) {
		return nil
	}
	return err
}

// reachable returns the networks that routers connect with the VIP; all of them if that is unknown.
func reachable(networks []neutron.Network, way gateways) []neutron.Network {
	if len(way.networks) == 0 && !way.complete {
		return networks
	}
	found := slices.DeleteFunc(slices.Clone(networks), func(n neutron.Network) bool { return !slices.Contains(way.networks, n.ID) })
	if len(found) == 0 && !way.complete {
		return networks
	}
	return found
}

package router

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Barred returns the next hops of a VIP with ports that do not admit its packets. The VIP needs no address yet. It costs
// one request.
func (p *Ports) Barred(ctx context.Context, lb model.LoadBalancer) ([]string, error) {
	ports, err := p.Neutron.PortsWithAddresses(ctx, lb.NextHops)
	if err != nil {
		return nil, err
	}
	return p.barred(ctx, lb, ports)
}

// admissions returns the ports at the next hops of the known VIPs.
func (p *Ports) admissions(ctx context.Context, known map[types.UID]*state.Routed) ([]neutron.RoutedPort, error) {
	var all []string
	for _, applied := range known {
		all = append(all, applied.LoadBalancer.NextHops...)
	}
	slices.Sort(all)
	return p.Neutron.PortsWithAddresses(ctx, slices.Compact(all))
}

// barred returns those next hops of a VIP that none of these ports with their addresses admits; none if no router
// leads to the VIP.
func (p *Ports) barred(ctx context.Context, lb model.LoadBalancer, ports []neutron.RoutedPort) ([]string, error) {
	pool, err := p.Pools.In(ctx, lb.VIP.SubnetID)
	if unusable := new(lookup.Error); errors.As(err, &unusable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(lb.NextHops), func(hop string) bool {
		return slices.ContainsFunc(ports, func(port neutron.RoutedPort) bool { return hasAddress(port, hop) && port.Admits(pool.CIDR) })
	}), nil
}

// hasAddress reports whether a port has an address, in any spelling.
func hasAddress(port neutron.RoutedPort, address string) bool {
	want, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(port.FixedIPs, func(fixed neutron.FixedIP) bool {
		got, err := netip.ParseAddr(fixed.IPAddress)
		return err == nil && got == want
	})
}

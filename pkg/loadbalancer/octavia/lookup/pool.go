package lookup

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// Pool is the subnet of the VIPs of provider router, and the router that leads to them.
type Pool struct {
	NetworkID, SubnetID string
	CIDR                netip.Prefix
	RouterID            string
	// leads are the subnets with the router as their gateway, own are all subnets of the pool's network.
	leads, own []netip.Prefix
}

// Reaches reports whether a node can be a next hop: the router is the gateway of its subnet, so that its
// answers take the way of the requests.
func (p *Pool) Reaches(address string) bool { return within(p.leads, address) }

// Holds reports whether an address is in the network of the pool, where no node may be: its neighbors would
// look for VIPs with ARP, which no node answers.
func (p *Pool) Holds(address string) bool { return within(p.own, address) }

func within(prefixes []netip.Prefix, address string) bool {
	at, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(prefixes, func(prefix netip.Prefix) bool { return prefix.Contains(at) })
}

const poolKey = "cloud.conf [LoadBalancer] router-vip-network-id: "

// Pools reads and caches the pools of VIPs. It is safe for concurrent use.
type Pools struct {
	neutron  Neutron
	networks *networkReader
	bySubnet *cache[*Pool]
}

// Of returns the pool of new VIPs in a network, for an IP family. The error is an *Error if the network
// cannot be one.
func (p *Pools) Of(ctx context.Context, networkID string, family v1.IPFamily) (*Pool, error) {
	all, err := p.subnetsIn(ctx, networkID)
	if err != nil {
		return nil, err
	}
	fits := slices.DeleteFunc(slices.Clone(all), func(s neutron.Subnet) bool { return familyOf(s) != family })
	if len(fits) != 1 {
		return nil, &Error{Message: fmt.Sprintf("%sthe network %s has %d subnets of %s that this project sees; it needs one for VIPs", poolKey, networkID, len(fits), family)}
	}
	return p.In(ctx, fits[0].ID)
}

// In returns the pool of the VIPs in a subnet, which cloud.conf may not name any more. The error is an *Error
// if no router leads there.
func (p *Pools) In(ctx context.Context, subnetID string) (*Pool, error) {
	return p.bySubnet.get(ctx, subnetID, p.read)
}

func (p *Pools) subnetsIn(ctx context.Context, networkID string) ([]neutron.Subnet, error) {
	all, err := p.networks.subnets(ctx, networkID)
	if apierror.IsNotFound(err) {
		return nil, nil
	}
	return all, err
}

func (p *Pools) read(ctx context.Context, subnetID string) (*Pool, error) {
	subnet, err := p.networks.subnet(ctx, subnetID)
	if err != nil {
		return nil, err
	}
	pool := &Pool{NetworkID: subnet.NetworkID, SubnetID: subnetID}
	if pool.CIDR, err = netip.ParsePrefix(subnet.CIDR); err != nil {
		return nil, fmt.Errorf("subnet %s: %w", subnetID, err)
	}
	if pool.RouterID, err = p.gatewayOf(ctx, *subnet); err != nil {
		return nil, err
	}
	all, err := p.subnetsIn(ctx, subnet.NetworkID)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if prefix, err := netip.ParsePrefix(s.CIDR); err == nil {
			pool.own = append(pool.own, prefix)
		}
	}
	pool.leads, err = p.ledBy(ctx, pool)
	return pool, err
}

// gatewayOf returns the router that is the gateway of a pool's subnet.
func (p *Pools) gatewayOf(ctx context.Context, subnet neutron.Subnet) (routerID string, err error) {
	interfaces, err := p.neutron.RouterInterfaces(ctx, subnet.NetworkID, subnet.ID)
	if err != nil {
		return "", err
	}
	for _, port := range interfaces {
		if slices.ContainsFunc(port.FixedIPs, func(ip neutron.FixedIP) bool { return ip.IPAddress == subnet.GatewayIP }) {
			return port.DeviceID, nil
		}
	}
	return "", &Error{Message: fmt.Sprintf("%sno router that this project sees is the gateway (%q) of subnet %s: attach the subnet to the router of the nodes", poolKey, subnet.GatewayIP, subnet.ID)}
}

// ledBy returns the subnets outside of the pool's network that have its router as their gateway.
func (p *Pools) ledBy(ctx context.Context, pool *Pool) ([]netip.Prefix, error) {
	ports, err := p.neutron.RouterPorts(ctx, pool.RouterID)
	if err != nil {
		return nil, err
	}
	var led []netip.Prefix
	for _, port := range ports {
		for _, ip := range port.FixedIPs {
			subnet, err := p.networks.subnet(ctx, ip.SubnetID)
			if apierror.IsNotFound(err) { // that of the external gateway, which most projects do not see
				continue
			}
			if err != nil {
				return nil, err
			}
			prefix, err := netip.ParsePrefix(subnet.CIDR)
			if err == nil && subnet.GatewayIP == ip.IPAddress && subnet.NetworkID != pool.NetworkID {
				led = append(led, prefix)
			}
		}
	}
	return led, nil
}

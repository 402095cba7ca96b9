package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
)

// Neutron is the part of the network service that this package uses.
type Neutron interface {
	VIPPorts(ctx context.Context, tag string) ([]neutron.VIPPort, error)
	VIPPortsDescribed(ctx context.Context, description string) ([]neutron.VIPPort, error)
	CreateVIPPort(ctx context.Context, want neutron.VIPPort) (*neutron.VIPPort, error)
	TagPort(ctx context.Context, id string, tags []string) error
	DeletePort(ctx context.Context, id string) error
	FloatingIPsOn(ctx context.Context, portIDs []string) ([]floatingips.FloatingIP, error)
	PortsWithAddresses(ctx context.Context, addresses []string) ([]neutron.RoutedPort, error)
}

// Ports reads and writes the ports of VIPs and the routes to them. It is safe for concurrent use.
type Ports struct {
	Neutron Neutron
	// Table returns the only Table of a router in this process.
	Table func(routerID string) *routes.Table
	// Pools has the router of each pool of VIPs.
	Pools Pools
	// Clock is needed by First.
	Clock clock.PassiveClock

	first async.Recent[map[types.UID][]model.LoadBalancer]
}

// Pools returns the pool of the VIPs in a subnet. The error is a *lookup.Error if no router leads there.
// *lookup.Pools implements it.
type Pools interface {
	In(ctx context.Context, subnetID string) (*lookup.Pool, error)
}

// Find returns the load balancers of a Service, without their floating IPs: those with an address first. It costs
// one request, and one for each router.
func (p *Ports) Find(ctx context.Context, id ownership.Identity) ([]model.LoadBalancer, error) {
	ports, err := p.Neutron.VIPPorts(ctx, id.ServiceTag())
	if err != nil {
		return nil, err
	}
	slices.SortFunc(ports, func(a, b neutron.VIPPort) int {
		return cmp.Or(min(1, len(b.FixedIPs))-min(1, len(a.FixedIPs)), strings.Compare(a.ID, b.ID))
	})
	var all []model.LoadBalancer
	hops := map[string]map[netip.Addr][]netip.Addr{}
	for _, port := range ports {
		if id.Claim(port.Tags, port.Description) != ownership.Ours {
			continue
		}
		lb := balancerOf(port)
		if lb.NextHops, err = p.nextHopsIn(ctx, hops, lb.VIP); err != nil {
			return nil, err
		}
		all = append(all, lb)
	}
	return all, nil
}

// Published returns the position of the VIP of a Service among its load balancers: the published one, else the
// first with an address; -1 for none.
func Published(all []model.LoadBalancer, addresses []string) int {
	at := slices.IndexFunc(all, func(lb model.LoadBalancer) bool { return slices.Contains(addresses, lb.VIP.Address) })
	if at < 0 {
		at = slices.IndexFunc(all, func(lb model.LoadBalancer) bool { return lb.VIP.Address != "" })
	}
	return at
}

// poolOf returns the address of a VIP and its pool.
func (p *Ports) poolOf(ctx context.Context, vip model.VIP) (netip.Addr, *lookup.Pool, error) {
	address, err := netip.ParseAddr(vip.Address)
	if err != nil {
		return address, nil, fmt.Errorf("address of VIP port %s: %w", vip.PortID, err)
	}
	pool, err := p.Pools.In(ctx, vip.SubnetID)
	return address, pool, err
}

func balancerOf(port neutron.VIPPort) model.LoadBalancer {
	lb := model.LoadBalancer{
		ID: port.ID, Name: port.Name, Description: port.Description, Tags: port.Tags, Provider: driver.Router,
		VIP: model.VIP{NetworkID: port.NetworkID, PortID: port.ID}, Status: model.Status{Provisioning: model.StatusActive},
	}
	if len(port.FixedIPs) > 0 {
		lb.VIP.SubnetID, lb.VIP.Address = port.FixedIPs[0].SubnetID, port.FixedIPs[0].IPAddress
	}
	return lb
}

// Create creates the port of a VIP, and returns its load balancer. It may exist if
// apierror.IsUnsure(err). A creation that was interrupted before the port had its tags is completed.
func (p *Ports) Create(ctx context.Context, id ownership.Identity, lb model.LoadBalancer) (model.LoadBalancer, error) {
	port, err := p.interrupted(ctx, id, lb.VIP)
	if err == nil && port == nil {
		port, err = p.Neutron.CreateVIPPort(ctx, neutron.VIPPort{
			NetworkID: lb.VIP.NetworkID, Name: lb.Name, Description: lb.Description, Tags: lb.Tags,
			FixedIPs: []neutron.FixedIP{{SubnetID: lb.VIP.SubnetID, IPAddress: lb.VIP.Address}},
		})
	} else if err == nil {
		port.Tags = lb.Tags
		err = p.Neutron.TagPort(ctx, port.ID, lb.Tags)
	}
	if err != nil {
		return model.LoadBalancer{}, err
	}
	return balancerOf(*port), nil
}

// Untagged returns the load balancers of a Service with a creation that was interrupted before their ports had
// tags.
func (p *Ports) Untagged(ctx context.Context, id ownership.Identity) ([]model.LoadBalancer, error) {
	ports, err := p.untagged(ctx, id)
	var all []model.LoadBalancer
	for _, port := range ports {
		all = append(all, balancerOf(port))
	}
	return all, err
}

func (p *Ports) untagged(ctx context.Context, id ownership.Identity) ([]neutron.VIPPort, error) {
	ports, err := p.Neutron.VIPPortsDescribed(ctx, id.ProvenDescription())
	return slices.DeleteFunc(ports, func(port neutron.VIPPort) bool { return len(port.Tags) > 0 || !id.ProvenBy(port.Description) }), err
}

// interrupted returns the port of a Service without tags; nil if there is none. It deletes those with another
// address than the requested one.
func (p *Ports) interrupted(ctx context.Context, id ownership.Identity, vip model.VIP) (*neutron.VIPPort, error) {
	ports, err := p.untagged(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, port := range ports {
		if has := balancerOf(port).VIP; has.SubnetID == vip.SubnetID && (vip.Address == "" || vip.Address == has.Address) {
			return &port, nil
		}
		if err := p.Neutron.DeletePort(ctx, port.ID); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// Lead makes the routes to a VIP lead to next hops; none removes them.
func (p *Ports) Lead(ctx context.Context, vip model.VIP, hops []string) error {
	address, pool, err := p.poolOf(ctx, vip)
	if err != nil {
		return err
	}
	lead := routes.Lead{To: netip.PrefixFrom(address, address.BitLen()), Pool: pool.CIDR}
	for _, hop := range hops {
		via, err := netip.ParseAddr(hop)
		if err != nil {
			return fmt.Errorf("next hop of VIP %s: %w", vip.Address, err)
		}
		lead.Through = append(lead.Through, via)
	}
	return p.Table(pool.RouterID).Lead(ctx, lead)
}

// Delete deletes the port of a VIP. The routes to it must be removed before: they would lead the next
// owner of the address astray.
func (p *Ports) Delete(ctx context.Context, portID string) error {
	if portID == "" {
		return errors.New("delete a VIP: its port is unknown")
	}
	return p.Neutron.DeletePort(ctx, portID)
}

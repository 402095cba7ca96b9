package router

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
)

// First returns the load balancers of all Services of a cluster, without their floating IPs, from a list that is at
// most as old as age. Concurrent callers share one, which costs one request, and one for each router.
func (p *Ports) First(ctx context.Context, tag string, age time.Duration) (map[types.UID][]model.LoadBalancer, error) {
	return p.first.Get(ctx, p.Clock, age, func(ctx context.Context, _ time.Time) (map[types.UID][]model.LoadBalancer, error) {
		return p.All(ctx, tag)
	})
}

// All reads the load balancers of all Services of a cluster, in any network, without their floating IPs.
func (p *Ports) All(ctx context.Context, tag string) (map[types.UID][]model.LoadBalancer, error) {
	ports, err := p.Neutron.VIPPorts(ctx, tag)
	if err != nil {
		return nil, err
	}
	all, hops := map[types.UID][]model.LoadBalancer{}, map[string]map[netip.Addr][]netip.Addr{}
	for _, port := range ports {
		lb := balancerOf(port)
		uid := types.UID(ownership.OwnerOf(port.Name, port.Description, port.Tags).ServiceUID)
		if uid == "" || !slices.Contains(port.Tags, tag) {
			continue
		}
		if lb.NextHops, err = p.nextHopsIn(ctx, hops, lb.VIP); err != nil {
			return nil, err
		}
		all[uid] = append(all[uid], lb)
	}
	return all, nil
}

// nextHopsIn returns the next hops of a VIP; none if it has no address, if no router leads to its subnet, or if the
// project does not see that router, as after the subnet was moved to another project's. It reads each router once into
// hops.
func (p *Ports) nextHopsIn(ctx context.Context, hops map[string]map[netip.Addr][]netip.Addr, vip model.VIP) ([]string, error) {
	if vip.Address == "" {
		return nil, nil
	}
	address, pool, err := p.poolOf(ctx, vip)
	if unusable := new(lookup.Error); errors.As(err, &unusable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if hops[pool.RouterID] == nil {
		read, err := p.Table(pool.RouterID).NextHops(ctx)
		switch {
		case apierror.IsNoRouter(err):
			read = map[netip.Addr][]netip.Addr{}
		case err != nil:
			return nil, err
		}
		hops[pool.RouterID] = read
	}
	return textsOf(hops[pool.RouterID][address]), nil
}

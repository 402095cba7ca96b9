package garbage

import (
	"context"
	"fmt"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// read returns the objects of the project without pools, and the time of each load balancer's last
// change. Load balancers and floating IPs are those of the last snapshot of the drift watch:
// younger ones may be missing, and are no garbage yet.
func (c *Collector) read(ctx context.Context) (*Inventory, map[string]time.Time, error) {
	snap, err := c.options.Project.Snapshot(ctx, c.options.SnapshotAge)
	if c.options.OctaviaOptional && auth.IsNoOctavia(err) {
		inventory, err := c.readWithoutOctavia(ctx)
		return inventory, nil, err
	}
	if err != nil {
		return nil, nil, err
	}
	var inventory Inventory
	updated := make(map[string]time.Time, len(snap.LoadBalancers))
	for _, lb := range snap.LoadBalancers {
		var vips []octavia.AdditionalVIP
		for _, vip := range lb.AdditionalVIPs {
			vips = append(vips, octavia.AdditionalVIP{SubnetID: vip.SubnetID, Address: vip.Address})
		}
		inventory.LoadBalancers = append(inventory.LoadBalancers, octavia.LoadBalancer{
			ID: lb.ID, Name: lb.Name, Description: lb.Description, Tags: lb.Tags, VIPPortID: lb.VIPPortID, VIPAddress: lb.VIPAddress,
			AdditionalVIPs: vips,
		})
		updated[lb.ID] = lb.UpdatedAt
	}
	for _, fip := range snap.FloatingIPs {
		inventory.FloatingIPs = append(inventory.FloatingIPs, floatingips.FloatingIP{
			ID: fip.ID, FloatingIP: fip.Address, PortID: fip.PortID, Description: fip.Description, RouterID: fip.RouterID,
		})
	}
	if inventory.Listeners, err = c.options.Octavia.ListenerOwners(ctx); err != nil {
		return nil, nil, err
	}
	return &inventory, updated, c.addOthers(ctx, &inventory)
}

// readWithoutOctavia returns the objects of a project in a cloud without Octavia.
func (c *Collector) readWithoutOctavia(ctx context.Context) (*Inventory, error) {
	var inventory Inventory
	var err error
	if inventory.FloatingIPs, err = c.options.Neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{All: true}); err != nil {
		return nil, err
	}
	return &inventory, c.addOthers(ctx, &inventory)
}

// addOthers adds the objects that are not in a snapshot, except for those of Octavia.
func (c *Collector) addOthers(ctx context.Context, inventory *Inventory) (err error) {
	if c.options.VIPs {
		if inventory.VIPs, err = c.options.Neutron.VIPPorts(ctx, vipTag(c.options.ClusterID)); err != nil {
			return err
		}
	}
	inventory.SecurityGroups, err = c.options.Neutron.SecurityGroupNames(ctx)
	return err
}

// knownPools are the pools of a load balancer, valid until it changes.
type knownPools struct {
	updated time.Time
	pools   []octavia.Pool
}

// list returns the garbage. It reads pools only of load balancers with garbage, and only after
// their changes: for a list of all pools Octavia loads all members of the project.
func (c *Collector) list(ctx context.Context, inventory *Inventory, updated map[string]time.Time, query Query) ([]Item, error) {
	_, items := List(*inventory, query)
	known := map[string]knownPools{}
	for _, item := range items {
		id := item.onLoadBalancer()
		if item.Kind == VIP || item.on == VIP {
			continue
		}
		if _, read := known[id]; id == "" || read {
			continue
		}
		of, there := c.pools[id]
		if !there || !of.updated.Equal(updated[id]) {
			pools, err := c.options.Octavia.PoolOwners(ctx, id)
			if err != nil && !apierror.IsNotFound(err) {
				return nil, err
			}
			of = knownPools{updated[id], pools}
		}
		known[id] = of
		inventory.Pools = append(inventory.Pools, of.pools...)
	}
	c.pools = known
	if len(inventory.Pools) > 0 {
		_, items = List(*inventory, query)
	}
	return items, nil
}

// services reads the Services of the cluster.
func (c *Collector) services(ctx context.Context) (*Services, error) {
	var all []Service
	if err := c.options.Cluster.Services(ctx, func(service *v1.Service) { all = append(all, describe(service)) }); err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	return NewServices(all), nil
}

// describe returns the data of a Service that identify its objects in the cloud. The service
// controller removes the objects of a Service that is being deleted, however long that takes. A
// Service with a class belongs to another controller.
func describe(service *v1.Service) Service {
	named := service.Annotations[annotation.LoadBalancerID]
	s := Service{
		UID: string(service.UID), Name: service.Namespace + "/" + service.Name,
		Wanting:        service.DeletionTimestamp != nil || cluster.IsOurs(service),
		LoadBalancerID: named, Copied: annotation.IsCopied(service.Annotations, named, service.UID),
	}
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		s.Addresses = append(s.Addresses, ingress.IP)
	}
	return s
}

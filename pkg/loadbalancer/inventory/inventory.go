// Package inventory looks at all load balancers and floating IPs of the project at
// once: a request for a thousand load balancers and one for the floating IPs, in
// place of several for each Service.
package inventory

import (
	"context"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// Octavia is what is asked of the load balancer service.
type Octavia interface {
	LoadBalancers(ctx context.Context, filter openstack.LoadBalancerFilter) ([]openstack.LoadBalancer, error)
}

// Neutron is what is asked of the network service.
type Neutron interface {
	FloatingIPs(ctx context.Context, filter openstack.FloatingIPFilter) ([]floatingips.FloatingIP, error)
}

// LoadBalancer is what a look tells of a load balancer.
type LoadBalancer struct {
	ID, Name              string
	Status, Provider      string
	VIPPortID, VIPAddress string
	VIPSubnetID           string
	// UpdatedAt moves with every change of anything in the load balancer.
	UpdatedAt time.Time
}

// FloatingIP is what a look tells of a floating IP.
type FloatingIP struct {
	ID, Address, PortID, Description string
}

// Look is what the project had at one moment.
type Look struct {
	// Began is when the look began: what changed later may be missing.
	Began         time.Time
	LoadBalancers map[string]LoadBalancer // by ID
	FloatingIPs   map[string]FloatingIP   // by ID
}

// Named counts the load balancers of a name.
func (l *Look) Named(name string) int {
	n := 0
	for _, lb := range l.LoadBalancers {
		if lb.Name == name {
			n++
		}
	}
	return n
}

// OnPort finds the floating IPs on a port.
func (l *Look) OnPort(portID string) []FloatingIP {
	var found []FloatingIP
	for _, fip := range l.FloatingIPs {
		if portID != "" && fip.PortID == portID {
			found = append(found, fip)
		}
	}
	return found
}

// FirstFloatingIPs gives the floating IPs that there were at the first look of this
// process, or, when it has taken none, at the first call.
func (i *Inventory) FirstFloatingIPs(ctx context.Context) (map[string]FloatingIP, error) {
	i.mu.Lock()
	first := i.firstFloatingIPs
	i.mu.Unlock()
	if first != nil {
		return first, nil
	}
	answer := i.group.DoChan("floating IPs", func() (any, error) { return i.takeFloatingIPs(context.WithoutCancel(ctx)) })
	select {
	case got := <-answer:
		all, _ := got.Val.(map[string]FloatingIP)
		return all, got.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (i *Inventory) takeFloatingIPs(ctx context.Context) (map[string]FloatingIP, error) {
	all, err := i.listFloatingIPs(ctx)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.firstFloatingIPs == nil {
		i.firstFloatingIPs = all
	}
	return i.firstFloatingIPs, nil
}

func (i *Inventory) listFloatingIPs(ctx context.Context) (map[string]FloatingIP, error) {
	listed, err := i.neutron.FloatingIPs(ctx, openstack.FloatingIPFilter{})
	all := make(map[string]FloatingIP, len(listed))
	for _, fip := range listed {
		all[fip.ID] = FloatingIP{ID: fip.ID, Address: fip.FloatingIP, PortID: fip.PortID, Description: fip.Description}
	}
	return all, err
}

// Inventory takes looks. Callers at the same time share one.
type Inventory struct {
	octavia Octavia
	neutron Neutron
	clock   clock.PassiveClock
	group   singleflight.Group

	mu               sync.Mutex
	last             *Look
	firstFloatingIPs map[string]FloatingIP
}

// New makes an inventory.
func New(octavia Octavia, neutron Neutron, clk clock.PassiveClock) *Inventory {
	return &Inventory{octavia: octavia, neutron: neutron, clock: clk}
}

// Look gives a look that is no older than an age, taking one if need be.
func (i *Inventory) Look(ctx context.Context, age time.Duration) (*Look, error) {
	i.mu.Lock()
	last := i.last
	i.mu.Unlock()
	if last != nil && i.clock.Since(last.Began) <= age {
		return last, nil
	}
	answer := i.group.DoChan("look", func() (any, error) { return i.take(context.WithoutCancel(ctx)) })
	select {
	case got := <-answer:
		look, _ := got.Val.(*Look)
		return look, got.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (i *Inventory) take(ctx context.Context) (*Look, error) {
	look := &Look{Began: i.clock.Now(), LoadBalancers: map[string]LoadBalancer{}}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		all, err := i.octavia.LoadBalancers(ctx, openstack.LoadBalancerFilter{Fields: fields()})
		for _, lb := range all {
			look.LoadBalancers[lb.ID] = LoadBalancer{
				ID: lb.ID, Name: lb.Name, Status: lb.ProvisioningStatus, Provider: lb.Provider,
				VIPPortID: lb.VipPortID, VIPAddress: lb.VipAddress, VIPSubnetID: lb.VipSubnetID, UpdatedAt: lb.UpdatedAt,
			}
		}
		return err
	})
	group.Go(func() error {
		all, err := i.listFloatingIPs(ctx)
		look.FloatingIPs = all
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last = look
	if i.firstFloatingIPs == nil {
		i.firstFloatingIPs = look.FloatingIPs
	}
	return look, nil
}

// fields are the attributes that a look is made of: a tenth of a whole load
// balancer.
func fields() []string {
	return []string{"id", "name", "provisioning_status", "provider", "vip_port_id", "vip_address", "vip_subnet_id", "updated_at"}
}

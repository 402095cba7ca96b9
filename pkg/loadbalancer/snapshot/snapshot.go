// Package snapshot reads all load balancers and floating IPs of the project at once: one
// request for a thousand load balancers and one for the floating IPs, instead of several
// for each Service.
package snapshot

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Octavia is what is asked of the load balancer service.
type Octavia interface {
	LoadBalancers(ctx context.Context, filter octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error)
}

// Neutron is what is asked of the network service.
type Neutron interface {
	FloatingIPs(ctx context.Context, filter neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error)
}

// LoadBalancer is what a look tells of a load balancer.
type LoadBalancer struct {
	ID, Name              string
	Status, Provider      string
	VIPPortID, VIPAddress string
	VIPSubnetID           string
	// AdminDown tells that it is switched off.
	AdminDown bool
	// VIPQoSPolicyID and VIPSecurityGroupIDs are settings of the VIP's port.
	VIPQoSPolicyID      string
	VIPSecurityGroupIDs []string // sorted
	// Operating is the operating status, which moves UpdatedAt too.
	Operating string
	Tags      []string
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

	named  map[string]int          // load balancers by name
	onPort map[string][]FloatingIP // by the port that they are on

	tagged    map[string][]string // IDs of load balancers by tag
	described map[string][]string // IDs of floating IPs by description
}

// NewLook makes a look of what there was.
func NewLook(began time.Time, loadBalancers []LoadBalancer, floatingIPs []FloatingIP) *Look {
	look := &Look{
		Began: began, LoadBalancers: make(map[string]LoadBalancer, len(loadBalancers)), FloatingIPs: make(map[string]FloatingIP, len(floatingIPs)),
		named: make(map[string]int, len(loadBalancers)), onPort: make(map[string][]FloatingIP, len(floatingIPs)),
		tagged: map[string][]string{}, described: make(map[string][]string, len(floatingIPs)),
	}
	for _, lb := range loadBalancers {
		look.LoadBalancers[lb.ID] = lb
		look.named[lb.Name]++
		for _, tag := range lb.Tags {
			look.tagged[tag] = append(look.tagged[tag], lb.ID)
		}
	}
	for _, fip := range floatingIPs {
		look.FloatingIPs[fip.ID] = fip
		look.described[fip.Description] = append(look.described[fip.Description], fip.ID)
		if fip.PortID != "" {
			look.onPort[fip.PortID] = append(look.onPort[fip.PortID], fip)
		}
	}
	return look
}

// Tagged returns the load balancers that carry a tag.
func (l *Look) Tagged(tag string) []LoadBalancer {
	var found []LoadBalancer
	for _, id := range l.tagged[tag] {
		found = append(found, l.LoadBalancers[id])
	}
	return found
}

// Described returns the floating IPs of a description.
func (l *Look) Described(description string) []FloatingIP {
	var found []FloatingIP
	for _, id := range l.described[description] {
		found = append(found, l.FloatingIPs[id])
	}
	return found
}

// Named counts the load balancers of a name.
func (l *Look) Named(name string) int { return l.named[name] }

// OnPort finds the floating IPs on a port.
func (l *Look) OnPort(portID string) []FloatingIP { return l.onPort[portID] }

// FirstFloatingIPs returns the floating IPs that there were at the first look of this
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
		i.firstFloatingIPs = NewLook(time.Time{}, nil, all).FloatingIPs
	}
	return i.firstFloatingIPs, nil
}

func (i *Inventory) listFloatingIPs(ctx context.Context) ([]FloatingIP, error) {
	listed, err := i.neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{})
	all := make([]FloatingIP, 0, len(listed))
	for _, fip := range listed {
		all = append(all, FloatingIP{ID: fip.ID, Address: fip.FloatingIP, PortID: fip.PortID, Description: fip.Description})
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
func New(octaviaAPI Octavia, neutronAPI Neutron, clk clock.PassiveClock) *Inventory {
	return &Inventory{octavia: octaviaAPI, neutron: neutronAPI, clock: clk}
}

// Look returns a look that is no older than an age, taking one if need be.
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
	began := i.clock.Now()
	var loadBalancers []LoadBalancer
	var floatingIPs []FloatingIP
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		all, err := i.octavia.LoadBalancers(ctx, octavia.LoadBalancerFilter{Fields: fields()})
		for _, lb := range all {
			loadBalancers = append(loadBalancers, LoadBalancer{
				ID: lb.ID, Name: lb.Name, Status: lb.ProvisioningStatus, Operating: lb.OperatingStatus, Provider: lb.Provider,
				VIPPortID: lb.VipPortID, VIPAddress: lb.VipAddress, VIPSubnetID: lb.VipSubnetID, UpdatedAt: lb.UpdatedAt,
				AdminDown:      !lb.AdminStateUp,
				VIPQoSPolicyID: lb.VipQosPolicyID, VIPSecurityGroupIDs: slices.Sorted(slices.Values(lb.VIPSecurityGroupIDs)),
				Tags: lb.Tags,
			})
		}
		return err
	})
	group.Go(func() (err error) {
		floatingIPs, err = i.listFloatingIPs(ctx)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	look := NewLook(began, loadBalancers, floatingIPs)
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
	return []string{"id", "name", "provisioning_status", "operating_status", "provider", "vip_port_id", "vip_address", "vip_subnet_id",
		"admin_state_up", "vip_qos_policy_id", "vip_sg_ids", "tags", "updated_at"}
}

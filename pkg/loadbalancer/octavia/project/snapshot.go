package project

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// LoadBalancer is a load balancer in a snapshot.
type LoadBalancer struct {
	ID, Name              string
	Status, Provider      string
	VIPPortID, VIPAddress string
	VIPSubnetID           string
	AdditionalVIPs        []model.AdditionalVIP
	// AdminDown is set if it is administratively down.
	AdminDown bool
	// VIPQoSPolicyID and VIPSecurityGroupIDs are settings of the VIP's port.
	VIPQoSPolicyID      string
	VIPSecurityGroupIDs []string // sorted
	// Operating is the operating status; its changes change UpdatedAt too.
	Operating string
	Tags      []string
	// Description is set only if no tag identifies the cluster.
	Description string
	// UpdatedAt changes with every change of any part of the load balancer.
	UpdatedAt time.Time
}

// FloatingIP is a floating IP in a snapshot.
type FloatingIP struct {
	ID, Address, PortID, Description string
	// RouterID is set only for one with port forwardings, which is on no port.
	RouterID string
}

// Forwards reports whether it has port forwardings.
func (f FloatingIP) Forwards() bool { return f.RouterID != "" }

// Snapshot is the state of the project at one time.
type Snapshot struct {
	// Began is the time before the first request: later changes may be missing.
	Began         time.Time
	LoadBalancers map[string]LoadBalancer // by ID
	FloatingIPs   map[string]FloatingIP   // by ID

	named  map[string]int          // load balancers by name
	onPort map[string][]FloatingIP // by the port that they are associated with

	tagged    map[string][]string // IDs of load balancers by tag
	described map[string][]string // IDs of floating IPs by description
}

// Of returns the snapshot of these objects.
func Of(began time.Time, loadBalancers []LoadBalancer, floatingIPs []FloatingIP) *Snapshot {
	snap := &Snapshot{
		Began: began, LoadBalancers: make(map[string]LoadBalancer, len(loadBalancers)), FloatingIPs: make(map[string]FloatingIP, len(floatingIPs)),
		named: make(map[string]int, len(loadBalancers)), onPort: make(map[string][]FloatingIP, len(floatingIPs)),
		tagged: map[string][]string{}, described: make(map[string][]string, len(floatingIPs)),
	}
	for _, lb := range loadBalancers {
		snap.LoadBalancers[lb.ID] = lb
		snap.named[lb.Name]++
		for _, tag := range lb.Tags {
			snap.tagged[tag] = append(snap.tagged[tag], lb.ID)
		}
	}
	for _, fip := range floatingIPs {
		snap.FloatingIPs[fip.ID] = fip
		snap.described[fip.Description] = append(snap.described[fip.Description], fip.ID)
		if fip.PortID != "" {
			snap.onPort[fip.PortID] = append(snap.onPort[fip.PortID], fip)
		}
	}
	return snap
}

// Tagged returns the load balancers with a tag.
func (s *Snapshot) Tagged(tag string) []LoadBalancer {
	var found []LoadBalancer
	for _, id := range s.tagged[tag] {
		found = append(found, s.LoadBalancers[id])
	}
	return found
}

// Described returns the floating IPs with a description.
func (s *Snapshot) Described(description string) []FloatingIP {
	var found []FloatingIP
	for _, id := range s.described[description] {
		found = append(found, s.FloatingIPs[id])
	}
	return found
}

// Named returns the number of load balancers with a name.
func (s *Snapshot) Named(name string) int { return s.named[name] }

// OnPort returns the floating IPs on a port.
func (s *Snapshot) OnPort(portID string) []FloatingIP { return s.onPort[portID] }

func (r *Reader) listFloatingIPs(ctx context.Context) ([]FloatingIP, error) {
	listed, err := r.neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{All: true})
	all := make([]FloatingIP, 0, len(listed))
	for _, fip := range listed {
		found := FloatingIP{ID: fip.ID, Address: fip.FloatingIP, PortID: fip.PortID, Description: fip.Description}
		if neutron.Forwards(fip) {
			found.RouterID = fip.RouterID
		}
		all = append(all, found)
	}
	return all, err
}

// description returns the description of a load balancer if its tags do not identify the owner, to
// save the memory of thousands.
func description(lb octavia.LoadBalancer) string {
	if ownership.OwnerOf("", "", lb.Tags).ClusterID != "" {
		return ""
	}
	return lb.Description
}

// take takes a snapshot.
func (r *Reader) take(ctx context.Context, began time.Time) (*Snapshot, error) {
	var loadBalancers []LoadBalancer
	var floatingIPs []FloatingIP
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		all, err := r.octavia.LoadBalancers(ctx, octavia.LoadBalancerFilter{All: true, Fields: fields()})
		for _, lb := range all {
			loadBalancers = append(loadBalancers, LoadBalancer{
				ID: lb.ID, Name: lb.Name, Status: lb.ProvisioningStatus, Operating: lb.OperatingStatus, Provider: lb.Provider,
				VIPPortID: lb.VIPPortID, VIPAddress: lb.VIPAddress, VIPSubnetID: lb.VIPSubnetID, UpdatedAt: lb.UpdatedAt.Time,
				AdditionalVIPs: observe.AdditionalVIPs(lb.AdditionalVIPs),
				AdminDown:      !lb.AdminStateUp,
				VIPQoSPolicyID: lb.VIPQoSPolicyID, VIPSecurityGroupIDs: slices.Sorted(slices.Values(lb.VIPSecurityGroupIDs)),
				Tags: lb.Tags, Description: description(lb),
			})
		}
		return err
	})
	group.Go(func() (err error) {
		floatingIPs, err = r.listFloatingIPs(ctx)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	r.keepFirst(floatingIPs)
	return Of(began, loadBalancers, floatingIPs), nil
}

// fields are the attributes in a snapshot: a tenth of a complete load balancer.
func fields() []string {
	return []string{"id", "name", "provisioning_status", "operating_status", "provider", "vip_port_id", "vip_address", "vip_subnet_id", "additional_vips",
		"admin_state_up", "vip_qos_policy_id", "vip_sg_ids", "tags", "description", "updated_at"}
}

// Package observe reads what the cloud has for a Service: whose a load balancer
// is, and what is in it. It only reads. An answer that fails is an error, never
// taken for "nothing there".
package observe

import (
	"context"
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/identity"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
)

// Octavia is what observe asks of the load balancer service.
type Octavia interface {
	LoadBalancers(ctx context.Context, filter openstack.LoadBalancerFilter) ([]loadbalancers.LoadBalancer, error)
	LoadBalancer(ctx context.Context, id string, fields ...string) (*loadbalancers.LoadBalancer, error)
	Listeners(ctx context.Context, loadBalancerID string) ([]listeners.Listener, error)
	Pools(ctx context.Context, loadBalancerID string) ([]openstack.Pool, error)
	Members(ctx context.Context, poolID string) ([]pools.Member, error)
	MemberAt(ctx context.Context, poolID, address string, port int) ([]pools.Member, error)
	Monitor(ctx context.Context, id string) (*monitors.Monitor, error)
	MonitorsTagged(ctx context.Context, tag string) ([]monitors.Monitor, error)
	StatusTree(ctx context.Context, loadBalancerID string) (*openstack.StatusTree, error)
}

// Neutron is what observe asks of the network service.
type Neutron interface {
	FloatingIPs(ctx context.Context, filter openstack.FloatingIPFilter) ([]floatingips.FloatingIP, error)
}

// Observer reads load balancers and floating IPs.
type Observer struct {
	Octavia Octavia
	Neutron Neutron
	// Version gives the version of the load balancer API.
	Version func(context.Context) (openstack.Version, error)
}

// NotOursError tells that a load balancer which the Service names, or which has
// its name, belongs to somebody else. It is left alone.
type NotOursError struct {
	ID, Name, Why string
}

// Error implements error.
func (e *NotOursError) Error() string {
	return fmt.Sprintf("load balancer %s (%s) is not this Service's: %s", e.Name, e.ID, e.Why)
}

// Hints are what the Service says of its load balancer.
type Hints struct {
	// LoadBalancerID is the annotation of that name.
	LoadBalancerID string
	// Addresses are the published ones.
	Addresses []string
}

// Find looks for the load balancers of a Service. What proves that one is ours:
//
//	its tags hold our Service's UID, and no other cluster's           found by one list request
//	the Service's annotation names it, and its name is the Service's  adopted from cloud-provider-openstack
//	its name is the Service's, and its address is published in the    adopted from cloud-provider-openstack
//	Service's status
//
// Anything else is somebody else's, whatever its name: another cluster of the same
// name has load balancers of the same names.
func (o *Observer) Find(ctx context.Context, id identity.Identity, hints Hints) ([]loadbalancers.LoadBalancer, error) {
	if hints.LoadBalancerID != "" {
		named, err := o.named(ctx, id, hints.LoadBalancerID)
		if named != nil || err != nil {
			return named, err
		}
	}
	ours, err := o.Claimed(ctx, id)
	if len(ours) > 0 || err != nil {
		return ours, err
	}
	if len(hints.Addresses) == 0 {
		return nil, nil
	}
	return o.published(ctx, id, hints.Addresses)
}

// named reads the load balancer that the Service's annotation names. One that is
// gone is no error: the Service gets another.
func (o *Observer) named(ctx context.Context, id identity.Identity, lbID string) ([]loadbalancers.LoadBalancer, error) {
	lb, err := o.Octavia.LoadBalancer(ctx, lbID)
	switch {
	case openstack.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	switch id.Claim(lb.Tags, lb.Description) {
	case identity.Ours:
		return []loadbalancers.LoadBalancer{*lb}, nil
	case identity.Theirs:
		return nil, &NotOursError{lb.ID, lb.Name, "it carries the identity of another Service or cluster"}
	case identity.Unclaimed:
	}
	if lb.Name != id.Name() {
		return nil, &NotOursError{lb.ID, lb.Name, "it was not created for it, and sharing load balancers is not supported yet"}
	}
	return []loadbalancers.LoadBalancer{*lb}, nil
}

// Claimed lists the load balancers that carry our identity.
func (o *Observer) Claimed(ctx context.Context, id identity.Identity) ([]loadbalancers.LoadBalancer, error) {
	filter := openstack.LoadBalancerFilter{Tags: []string{id.ServiceTag()}}
	if id.Untagged {
		filter = openstack.LoadBalancerFilter{Description: id.Description()}
	}
	found, err := o.Octavia.LoadBalancers(ctx, filter)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(lb loadbalancers.LoadBalancer) bool { return id.Claim(lb.Tags, lb.Description) != identity.Ours }), nil
}

// published lists the load balancers of our name whose address is the one that
// our Service has published.
func (o *Observer) published(ctx context.Context, id identity.Identity, addresses []string) ([]loadbalancers.LoadBalancer, error) {
	found, err := o.Octavia.LoadBalancers(ctx, openstack.LoadBalancerFilter{Name: id.Name()})
	if err != nil {
		return nil, err
	}
	for _, lb := range found {
		if id.Claim(lb.Tags, lb.Description) != identity.Unclaimed || lb.Name != id.Name() {
			continue
		}
		ours, err := o.hasAddress(ctx, lb, addresses)
		if err != nil {
			return nil, err
		}
		if ours {
			return []loadbalancers.LoadBalancer{lb}, nil
		}
	}
	return nil, nil
}

func (o *Observer) hasAddress(ctx context.Context, lb loadbalancers.LoadBalancer, addresses []string) (bool, error) {
	fips, err := o.Neutron.FloatingIPs(ctx, openstack.FloatingIPFilter{PortID: lb.VipPortID})
	if err != nil {
		return false, err
	}
	for _, address := range addresses {
		if address == lb.VipAddress {
			return true, nil
		}
		for _, fip := range fips {
			if address == fip.FloatingIP {
				return true, nil
			}
		}
	}
	return false, nil
}

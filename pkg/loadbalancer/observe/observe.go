// Package observe reads what the cloud has for a Service: its load balancer, and what is
// in it. It only reads. A failed read is an error, never taken for "nothing there".
package observe

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Octavia is what observe asks of the load balancer service.
type Octavia interface {
	LoadBalancers(ctx context.Context, filter octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error)
	LoadBalancer(ctx context.Context, id string) (*octavia.LoadBalancer, error)
	Listeners(ctx context.Context, loadBalancerID string) ([]listeners.Listener, error)
	ListenersTagged(ctx context.Context, tags ...string) ([]listeners.Listener, error)
	Pools(ctx context.Context, loadBalancerID string) ([]octavia.Pool, error)
	PoolsTagged(ctx context.Context, tags ...string) ([]octavia.Pool, error)
	Members(ctx context.Context, poolID string) ([]pools.Member, error)
	MembersWith(ctx context.Context, poolID, setting, value string) ([]pools.Member, error)
	MemberAt(ctx context.Context, poolID, address string, port int) ([]pools.Member, error)
	FirstMember(ctx context.Context, poolID, order string) ([]pools.Member, error)
	Monitor(ctx context.Context, id string) (*monitors.Monitor, error)
	MonitorsTagged(ctx context.Context, tags ...string) ([]monitors.Monitor, error)
	StatusTree(ctx context.Context, loadBalancerID string) (*octavia.StatusTree, error)
}

// Neutron is what observe asks of the network service.
type Neutron interface {
	FloatingIPs(ctx context.Context, filter neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error)
}

// Observer reads load balancers and floating IPs.
type Observer struct {
	Octavia Octavia
	Neutron Neutron
	// Version gives the version of the load balancer API.
	Version func(context.Context) (octavia.Version, error)
	// Brief has Contents read of members their addresses and statuses, and of their settings
	// no more than shows whether a health monitor asks where it should. It has to be
	// ReadMembers before members change. The error of Contents may be ErrTorn.
	Brief bool
	// Listed is set where it reads lists of a Project: reading again shows nothing new.
	Listed bool
	// ScopeRecorded reports whether credentials of another project would be noticed; nil: they would.
	ScopeRecorded func() bool
}

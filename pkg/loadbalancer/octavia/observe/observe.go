package observe

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Octavia is the part of the load balancer service that observe uses.
type Octavia interface {
	LoadBalancers(ctx context.Context, filter octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error)
	LoadBalancer(ctx context.Context, id string) (*octavia.LoadBalancer, error)
	Listeners(ctx context.Context, loadBalancerID string) ([]octavia.Listener, error)
	ListenersTagged(ctx context.Context, tags ...string) ([]octavia.Listener, error)
	Pools(ctx context.Context, loadBalancerID string) ([]octavia.Pool, error)
	PoolsTagged(ctx context.Context, tags ...string) ([]octavia.Pool, error)
	Members(ctx context.Context, poolID string) ([]octavia.Member, error)
	MembersWith(ctx context.Context, poolID, setting, value string) ([]octavia.Member, error)
	MemberAt(ctx context.Context, poolID, address string, port int) ([]octavia.Member, error)
	FirstMember(ctx context.Context, poolID, order string) ([]octavia.Member, error)
	Monitor(ctx context.Context, id string) (*octavia.HealthMonitor, error)
	MonitorsTagged(ctx context.Context, tags ...string) ([]octavia.HealthMonitor, error)
	StatusTree(ctx context.Context, loadBalancerID string) (*octavia.StatusTree, error)
}

// Neutron is the part of the network service that observe uses.
type Neutron interface {
	FloatingIPs(ctx context.Context, filter neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error)
}

// Observer reads load balancers and floating IPs.
type Observer struct {
	Octavia Octavia
	Neutron Neutron
	// Version returns the version of the load balancer API.
	Version func(context.Context) (model.Version, error)
	// Depth is that of Contents. At model.Settings, ReadMembers must follow before members change,
	// and the error of Contents may be ErrTorn.
	Depth model.Depth
	// Source is model.Lists for reads of lists: reading again returns the same. Otherwise it is
	// model.Cloud.
	Source model.Source
	// ScopeRecorded reports whether credentials of another project would be noticed; nil: yes.
	ScopeRecorded func() bool
}

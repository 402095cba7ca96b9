package garbage

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
)

// Octavia is the part of the load balancer service that this package uses.
type Octavia interface {
	LoadBalancers(ctx context.Context, filter octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error)
	LoadBalancer(ctx context.Context, id string) (*octavia.LoadBalancer, error)
	AllListeners(ctx context.Context) ([]octavia.Listener, error)
	ListenerOwners(ctx context.Context) ([]octavia.Listener, error)
	Listeners(ctx context.Context, loadBalancerID string) ([]octavia.Listener, error)
	PoolOwners(ctx context.Context, loadBalancerID string) ([]octavia.Pool, error)
	DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error
	DeleteListener(ctx context.Context, id string) error
	DeletePool(ctx context.Context, id string) error
	StatusTree(ctx context.Context, loadBalancerID string) (*octavia.StatusTree, error)
}

// Neutron is the part of the network service that this package uses.
type Neutron interface {
	securitygroup.Neutron
	routes.Network
	FloatingIPs(ctx context.Context, filter neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error)
	DeleteFloatingIP(ctx context.Context, id string) error
	Forwardings(ctx context.Context, floatingIPID string) ([]neutron.Forwarding, error)
	VIPPorts(ctx context.Context, tag string) ([]neutron.VIPPort, error)
	VIPPort(ctx context.Context, id string) (*neutron.VIPPort, error)
	DeletePort(ctx context.Context, id string) error
	RouterInterfaces(ctx context.Context, networkID, subnetID string) ([]neutron.Port, error)
}

// Query selects the objects.
type Query struct {
	// ClusterID is the UID of the cluster's namespace kube-system, ClusterName its --cluster-name.
	// One of them may be empty.
	ClusterID, ClusterName string
	// AllFloatingIPs adds those that are on no load balancer, which Services may have asked to
	// keep.
	AllFloatingIPs bool
	// PodNetworks are those of the cluster, which identify its routes.
	PodNetworks []netip.Prefix
	// Services are those of a live cluster, read after the cloud: only objects that belong to none
	// of them are selected. Nil means that the cluster was deleted.
	Services *Services
}

// DefaultTimeout and DefaultPoll are the defaults of Options.
const (
	DefaultTimeout = 15 * time.Minute
	DefaultPoll    = 2 * time.Second
)

// Options configure Run.
type Options struct {
	Query
	// Remove removes the found objects.
	Remove bool
	// Octavia is nil in a cloud without it.
	Octavia Octavia
	Neutron Neutron
	// Nova returns the running servers: objects of a cluster with running nodes are left alone. Nil
	// disables this check.
	Nova Nova
	// Cloud is the location for the report.
	Cloud Cloud
	// Progress, if set, is called with each activity and each result.
	Progress func(text string)
	// RouterID is the router of pod routes in cloud.conf, "" for none.
	RouterID string
	// Timeout limits all waits for load balancers together; Poll is the interval of polls of each.
	Timeout, Poll time.Duration
	// Clock; nil means the real one.
	Clock clock.Clock
	// Living reads Query.Services again, for a live cluster.
	Living func(context.Context) (*Services, error)
	// Lock waits until no other work changes a load balancer; nil if there is none.
	Lock func(ctx context.Context, loadBalancerID string) (unlock func(), err error)
}

// Run lists the remaining objects of the cluster, and removes them if requested. An error is one of
// listing: nothing was removed. The report has the result for each object.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.ClusterID == "" && o.ClusterName == "" {
		return nil, errors.New("neither the ID nor the name of a cluster is given")
	}
	inventory, err := read(ctx, o)
	if err != nil {
		return nil, err
	}
	report := &Report{Cloud: o.Cloud, Items: []Item{}}
	report.Known, report.Carried = known(o.Query, inventory.signs())
	var items []Item
	report.Cluster, items = List(*inventory, o.Query)
	report.Items = append(report.Items, items...)
	if err := heed(ctx, o, report.Items); err != nil {
		return nil, err
	}
	if o.Remove {
		o.say("Removing the found objects")
		Remove(ctx, o, *inventory, report.Items)
	}
	report.Interrupted = ctx.Err() != nil
	return report, nil
}

// say reports an activity.
func (o Options) say(text string) {
	if o.Progress != nil {
		o.Progress(text)
	}
}

// Remove removes the found items, in order for those on the same load balancer, and records the
// results. The order of List is safe to interrupt.
func Remove(ctx context.Context, o Options, inventory Inventory, items []Item) {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Poll == 0 {
		o.Poll = DefaultPoll
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	r := remover{
		Options: o, target: resolve(o.ClusterID, o.ClusterName, inventory.signs()),
		floatingIPs: inventory.FloatingIPs, deadline: o.Clock.Now().Add(o.Timeout),
	}
	r.remove(ctx, items)
}

// read lists all objects of the project.
func read(ctx context.Context, o Options) (*Inventory, error) {
	var i Inventory
	var err error
	o.say("Reading the objects of the project")
	if o.Octavia != nil {
		if i.LoadBalancers, err = o.Octavia.LoadBalancers(ctx, octavia.LoadBalancerFilter{All: true}); err != nil {
			return nil, err
		}
		if i.Listeners, err = o.Octavia.AllListeners(ctx); err != nil {
			return nil, err
		}
		if i.Pools, err = o.Octavia.PoolOwners(ctx, ""); err != nil {
			return nil, err
		}
	}
	if i.FloatingIPs, err = o.Neutron.FloatingIPs(ctx, neutron.FloatingIPFilter{All: true}); err != nil {
		return nil, err
	}
	if i.VIPs, err = o.Neutron.VIPPorts(ctx, vipTag(o.ClusterID)); err != nil {
		return nil, err
	}
	if i.SecurityGroups, err = o.Neutron.SecurityGroupNames(ctx); err != nil {
		return nil, err
	}
	if i.Routes, err = readRoutes(ctx, o); err != nil {
		return nil, err
	}
	return &i, nil
}

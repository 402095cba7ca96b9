// Package garbage finds and removes objects in the cloud that have no owner any more: those of a
// cluster that is gone (Run), and those of no Service of a cluster that exists (Collector).
//
// The owner of an object is known from its name, description and tags (package ownership): the ID
// of a cluster or, where there is none, as on objects of cloud-provider-openstack and of the
// provider inside of Kubernetes, the name of a cluster. List is pure. No decision is remembered: the
// next run continues a run that was interrupted.
package garbage

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
)

// Octavia is what is asked of the load balancer service.
type Octavia interface {
	LoadBalancers(ctx context.Context, filter octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error)
	LoadBalancer(ctx context.Context, id string) (*octavia.LoadBalancer, error)
	AllListeners(ctx context.Context) ([]listeners.Listener, error)
	ListenerOwners(ctx context.Context) ([]listeners.Listener, error)
	Listeners(ctx context.Context, loadBalancerID string) ([]listeners.Listener, error)
	PoolOwners(ctx context.Context, loadBalancerID string) ([]octavia.PoolOwner, error)
	DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error
	DeleteListener(ctx context.Context, id string) error
	DeletePool(ctx context.Context, id string) error
	StatusTree(ctx context.Context, loadBalancerID string) (*octavia.StatusTree, error)
}

// Neutron is what is asked of the network service.
type Neutron interface {
	securitygroup.Neutron
	routes.Network
	FloatingIPs(ctx context.Context, filter neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error)
	DeleteFloatingIP(ctx context.Context, id string) error
}

// Query says what to look for.
type Query struct {
	// ClusterID is the UID of the cluster's namespace kube-system, ClusterName its
	// --cluster-name. One of them may be empty.
	ClusterID, ClusterName string
	// AllFloatingIPs adds those that are on no load balancer, which Services may have asked
	// to keep.
	AllFloatingIPs bool
	// PodNetworks are those of the cluster, by which routes are told to be its own.
	PodNetworks []netip.Prefix
	// Services are those of a cluster that lives, read after the cloud: only what is of none
	// of them is looked for. Nil: the cluster is dead.
	Services *Services
}

// DefaultTimeout and DefaultPoll are those of Options.
const (
	DefaultTimeout = 15 * time.Minute
	DefaultPoll    = 2 * time.Second
)

// Options are what Run needs.
type Options struct {
	Query
	// Remove removes what was found.
	Remove bool
	// Octavia is nil in a cloud without it.
	Octavia Octavia
	Neutron Neutron
	// Nova tells which servers run: what a cluster has whose nodes do is left alone. Nil: that is
	// not looked at.
	Nova Nova
	// Cloud is what the report says of where it was.
	Cloud Cloud
	// Progress takes what is being done, and what has become of an object, as it happens; nil:
	// nothing does.
	Progress func(text string)
	// RouterID is of the router that cloud.conf names for routes to pods, "" for none.
	RouterID string
	// Timeout bounds how long load balancers are waited for, altogether; Poll is how often
	// each is asked for.
	Timeout, Poll time.Duration
	// Clock is the real one when nil.
	Clock clock.Clock
	// Living reads Query.Services anew, for a cluster that lives.
	Living func(context.Context) (*Services, error)
	// Lock waits until nobody else works on a load balancer; nil: nobody does.
	Lock func(ctx context.Context, loadBalancerID string) (unlock func(), err error)
}

// Run lists what the cluster has left, and removes it if that is asked for. An error is one
// of listing: nothing was removed. What became of each object is in the report.
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
		o.say("Removing what was found")
		Remove(ctx, o, *inventory, report.Items)
	}
	report.Interrupted = ctx.Err() != nil
	return report, nil
}

// say takes down what is being done.
func (o Options) say(text string) {
	if o.Progress != nil {
		o.Progress(text)
	}
}

// Remove removes the items that were found, one after another where they are on the same load
// balancer, and notes what became of them. Those that List has returned for the inventory are
// in an order that an interruption does no harm to.
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
	if i.SecurityGroups, err = o.Neutron.SecurityGroupNames(ctx); err != nil {
		return nil, err
	}
	if i.Routes, err = readRoutes(ctx, o); err != nil {
		return nil, err
	}
	return &i, nil
}

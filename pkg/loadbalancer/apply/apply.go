package apply

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Octavia is what apply asks of the load balancer service.
type Octavia interface {
	CreateLoadBalancer(ctx context.Context, opts loadbalancers.CreateOptsBuilder) (*octavia.LoadBalancer, error)
	UpdateLoadBalancer(ctx context.Context, id string, opts loadbalancers.UpdateOptsBuilder) error
	DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error
	FailOver(ctx context.Context, id string) error
	CreateListener(ctx context.Context, opts listeners.CreateOpts) (*listeners.Listener, error)
	UpdateListener(ctx context.Context, id string, opts listeners.UpdateOptsBuilder) (*listeners.Listener, error)
	DeleteListener(ctx context.Context, id string) error
	CreatePool(ctx context.Context, opts pools.CreateOptsBuilder) (*pools.Pool, error)
	UpdatePool(ctx context.Context, id string, opts pools.UpdateOptsBuilder) error
	DeletePool(ctx context.Context, id string) error
	CreateMonitor(ctx context.Context, opts monitors.CreateOpts) (*monitors.Monitor, error)
	UpdateMonitor(ctx context.Context, id string, opts monitors.UpdateOptsBuilder) error
	DeleteMonitor(ctx context.Context, id string) error
	SetMembers(ctx context.Context, poolID string, members []pools.CreateMemberOpts, additive bool) error
	AddMember(ctx context.Context, poolID string, member pools.CreateMemberOpts) (id string, err error)
	UpdateMember(ctx context.Context, poolID, memberID string, opts pools.UpdateMemberOptsBuilder) error
	RemoveMember(ctx context.Context, poolID, memberID string) error
}

// Neutron is what apply asks of the network service.
type Neutron interface {
	CreateFloatingIP(ctx context.Context, opts floatingips.CreateOpts) (*floatingips.FloatingIP, error)
	UpdateFloatingIP(ctx context.Context, id string, opts floatingips.UpdateOpts) (*floatingips.FloatingIP, error)
	DeleteFloatingIP(ctx context.Context, id string) error
}

const (
	maxCreations = 16
	maxBatches   = 40
)

// New returns an Applier.
func New(a Applier) *Applier {
	a.creations, a.batches = async.NewSlots("creation", maxCreations), async.NewSlots("batch", maxBatches)
	return &a
}

// Applier carries out plans. Its methods may be called from many goroutines.
type Applier struct {
	Octavia  Octavia
	Neutron  Neutron
	Observer *observe.Observer
	Watcher  *watcher.Watcher
	Clock    clock.WithTickerAndDelayedExecution
	// Drivers have the timing of each provider.
	Drivers *driver.Registry

	// creations and batches bound how many requests with many members are built and sent at a time.
	// Such a request takes a hundred times the memory of its members, and the limiter of requests comes after
	// it is built. The numbers are above those of the limiter, and neither kind delays the other.
	creations, batches *async.Slots
}

// Request is a plan, and what it was made from.
type Request struct {
	// ID is who the Service is on the load balancer.
	ID ownership.Identity
	// Observed is what the cloud has, as Plan was made from it. Neither is changed.
	Observed model.Observed
	Plan     plan.Plan
	// Later is set where the cloud has carried out another plan since it was read.
	Later bool
}

// Continue carries out a plan as far as possible, with at most one write for each load balancer, and
// returns what the cloud has then. After async.ErrWaiting it is called again. How much the state that it
// returns is worth depends on the error:
//
//	nil              what the cloud has
//	*ChildrenError   what the cloud has: a plan made from it goes on
//	any other        the IDs of what was made; what the last step led to is not known, and another
//	                 client may be at it too: read the cloud before the next plan
//
// The others with a type are *ChangedError, *LoadBalancerError, *RefusedError,
// *FullCreateError and *UnsureCreationError; the rest are those of requests and of the
// context.
func (a *Applier) Continue(ctx context.Context, r *Run) (model.Observed, error) {
	r.Applier = a
	err := r.all(ctx)
	return r.observed, err
}

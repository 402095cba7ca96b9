package apply

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// Octavia is the part of the load balancer service that this package uses.
type Octavia interface {
	LoadBalancerState(ctx context.Context, id string) (octavia.LoadBalancerState, error)
	CreateLoadBalancer(ctx context.Context, lb octavia.LoadBalancer) (*octavia.LoadBalancer, error)
	UpdateLoadBalancer(ctx context.Context, id string, changes octavia.Changes) error
	DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error
	FailOver(ctx context.Context, id string) error
	CreateListener(ctx context.Context, listener octavia.Listener) (*octavia.Listener, error)
	UpdateListener(ctx context.Context, id string, changes octavia.Changes) (*octavia.Listener, error)
	DeleteListener(ctx context.Context, id string) error
	CreatePool(ctx context.Context, pool octavia.Pool) (*octavia.Pool, error)
	UpdatePool(ctx context.Context, id string, changes octavia.Changes) error
	DeletePool(ctx context.Context, id string) error
	Pool(ctx context.Context, id string) (*octavia.Pool, error)
	CreateMonitor(ctx context.Context, monitor octavia.HealthMonitor) (*octavia.HealthMonitor, error)
	UpdateMonitor(ctx context.Context, id string, changes octavia.Changes) error
	DeleteMonitor(ctx context.Context, id string) error
	SetMembers(ctx context.Context, poolID string, members []octavia.Member, additive bool) error
	AddMember(ctx context.Context, poolID string, member octavia.Member) (id string, err error)
	UpdateMember(ctx context.Context, poolID, memberID string, changes octavia.Changes) error
	RemoveMember(ctx context.Context, poolID, memberID string) error
}

// Neutron is the part of the network service that this package uses.
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

// Applier applies plans. It is safe for concurrent use.
type Applier struct {
	Octavia  Octavia
	Neutron  Neutron
	Observer *observe.Observer
	Watcher  *watcher.Watcher
	Clock    clock.WithTickerAndDelayedExecution
	// Drivers have the timing of each provider.
	Drivers *driver.Registry
	// VIPs are those of provider router, Forwardings those of provider port-forwarding.
	VIPs        *router.Ports
	Forwardings *router.Forwardings
	// Guests reports whether this process knows a Service other than one on a load balancer. Nil: it knows none.
	Guests func(loadBalancerID string, of types.UID) bool

	// creations and batches bound the number of concurrent requests with many members. Such a
	// request takes a hundred times the memory of its members, and is built before the limiter of
	// requests delays it. The bounds are above those of the limiter, and neither kind delays the
	// other.
	creations, batches *async.Slots
}

// Request is a plan with the state that it was made from.
type Request struct {
	// ID is the Service's identity on the load balancer.
	ID ownership.Identity
	// Observed is the state that Plan was made from. Neither is changed.
	Observed model.Observed
	Plan     plan.Plan
	// Later is set if another plan was applied since the state was read.
	Later bool
}

// Continue applies a plan as far as possible, with at most one write for each load balancer, and
// returns the state of the cloud. After async.ErrWaiting it is called again. The error decides on
// the value of the state:
//
//	nil              it is the state of the cloud
//	*ChildrenError   it is the state of the cloud: a plan made from it continues the work
//	any other        it has the IDs of created objects; the result of the last step is unknown, and
//	                 other clients may have changed something: read the cloud before the next plan
//
// Typed errors are also *ChangedError, *LoadBalancerError, *RefusedError, *FullCreateError and
// *UnsureCreationError; all others come from requests and from the context.
func (a *Applier) Continue(ctx context.Context, r *Run) (model.Observed, error) {
	r.Applier = a
	err := r.all(ctx)
	return r.observed, err
}

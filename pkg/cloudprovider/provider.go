// Package cloudprovider implements the interfaces of k8s.io/cloud-provider for OpenStack.
// It holds adapters only: they tie the calls of the controllers to the life of the process
// and hand them to the packages that do the work.
package cloudprovider

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/dryrun"
	"github.com/openstack-ccm/openstack-ccm/pkg/instances"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/conditions"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/records"
)

// Name is the name of this cloud provider, for --cloud-provider.
const Name = "openstack"

// DefaultServiceWorkers is the default of --concurrent-service-syncs; that of
// k8s.io/cloud-provider is 1, with which every Service waits for the one before it. A
// worker that waits for a load balancer costs nothing: all waits share one request.
const DefaultServiceWorkers = 300

// ErrStopping is returned by calls that are refused because the process is ending.
var ErrStopping = errors.New("the cloud-controller-manager is stopping")

// Newest returns a Service and the nodes that can be its members as the informers have
// them now; nil when there is no such Service any more, or the informers do not run yet.
type Newest = func(*v1.Service) (*v1.Service, []*v1.Node)

// Options are what a Provider needs.
type Options struct {
	// Instances answer for nodes.
	Instances cloudprovider.InstancesV2
	// Deletions decide which Nodes without a server may be deleted; nil: all of them.
	Deletions *instances.Deletions
	// UseNodes is given the Nodes that the informers know; nil: nobody asks.
	UseNodes func(corelisters.NodeLister)
	// NewLoadBalancers makes the engine once the cluster's identity is known;
	// clusterID is empty when it may not be read. Nil: no load balancers.
	NewLoadBalancers func(clusterID string, newest Newest) (LoadBalancers, error)
	// FindOctavia returns an error while the cloud has no load balancer service; nil: it
	// always has.
	FindOctavia func(context.Context) error
	// Scope returns the project and region that the session works in; nil: they are not
	// compared with those of earlier starts.
	Scope func() cluster.Scope
	// Controller identifies this controller among several of the cluster.
	Controller cluster.Controller
	// NewRoutes makes the routes to pods, once the identity and the nodes can be
	// known. Nil: no routes.
	NewRoutes func(clusterID string, nodes corelisters.NodeLister, synced func() bool) cloudprovider.Routes
	// Client reads the cluster's identity, and reads and patches Services.
	Client kubernetes.Interface
	// Records are read before NewLoadBalancers is called; nil: nothing is recorded.
	Records *records.ConfigMaps
	// Conditions writes those of Services; nil: they have none.
	Conditions *conditions.Writer
	// Leading is called when this process becomes the leader; nil: nobody asks.
	Leading func(context.Context)
	// Stop ends the process with an error, because the provider cannot start.
	Stop func(error)
	// Ready returns why the cloud refuses our credentials; nil: nobody asks.
	Ready func() error
	// Drain refuses to create anything in the cloud from now on, and waits until what is
	// being created is complete; nil: nothing is.
	Drain func(context.Context) error
	// Follow calls apply with what cloud.conf says about load balancers when that changes,
	// until the context ends; nil: it stays as it is.
	Follow func(ctx context.Context, apply func(*config.Config) error)
	// Close ends what runs in the background; nil: nothing does.
	Close func()
	// Recorder takes events for users.
	Recorder record.EventRecorder
	// DryRun takes what would be done; nil: it is done.
	DryRun *dryrun.Report
	// PreviewInterval is how often that is looked at again.
	PreviewInterval time.Duration
	// Metrics; nil: none are kept.
	Metrics *Metrics
	// Tracer records calls about nodes and routes; nil: nothing is recorded.
	Tracer trace.TracerProvider
	// Clock; nil means the real one.
	Clock clock.WithTicker
}

// Provider implements cloudprovider.Interface and cloudprovider.InformerUser.
type Provider struct {
	options Options
	calls   *calls
	scope   *cluster.Guard

	// initialized and informed are done by the first start: with leader migration the
	// controller manager starts its provider twice, for either half of its controllers.
	initialized, informed sync.Once

	mu            sync.Mutex
	clusterID     string
	settings      *config.Config // nil unless cloud.conf has changed
	loadBalancers *loadBalancers
	informers     informers.SharedInformerFactory
	routes        *routesAdapter
	background    sync.WaitGroup
}

var (
	_ cloudprovider.Interface    = (*Provider)(nil)
	_ cloudprovider.InformerUser = (*Provider)(nil)
)

// New returns a Provider whose calls all end when the context does.
func New(ctx context.Context, options Options) *Provider {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Recorder != nil {
		options.Recorder = message.LimitEvents(options.Recorder)
	}
	p := &Provider{options: options, calls: newCalls(ctx, options.Drain)}
	p.calls.tracer, p.calls.metrics = options.Tracer, options.Metrics
	if options.Scope != nil {
		p.scope = cluster.NewGuard(options.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem), options.Controller, options.Scope, options.Recorder, options.Clock)
	}
	if options.Follow != nil {
		p.background.Go(func() { options.Follow(p.calls.process, p.reconfigure) })
	}
	return p
}

// LoadBalancer returns the load balancers, or false when cloud.conf switches them off.
// Only the service controller asks, and only where it runs do we resync load balancers:
// without it, Services belong to another implementation.
func (p *Provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loadBalancers == nil {
		return nil, false
	}
	p.startResync()
	return p.loadBalancers, true
}

// Untouched reports whether a Service has what it asks for, or an earlier process has seen that, and
// this one has begun no change of it.
func (p *Provider) Untouched(service types.UID) bool {
	lbs := p.balancers()
	return lbs != nil && lbs.engine.Untouched(service)
}

// balancers returns what manages load balancers; nil where that does not run.
func (p *Provider) balancers() *loadBalancers {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loadBalancers
}

// IsWritten reports whether all that has changed of a Service is what this process has written into
// its annotations and its status, and no call is needed to publish the result of a round.
func (p *Provider) IsWritten(before, now *v1.Service) bool {
	lbs := p.balancers()
	return lbs != nil && lbs.engine.IsWritten(before, now)
}

// InstancesV2 returns the servers behind the nodes.
func (p *Provider) InstancesV2() (cloudprovider.InstancesV2, bool) {
	adapter := &instancesAdapter{inner: p.options.Instances, calls: p.calls, scope: p.scope, deletions: p.options.Deletions}
	if p.options.DryRun != nil {
		return &previewedInstances{adapter, p.options.DryRun}, true
	}
	return adapter, true
}

// Routes returns the routes to pods, or false when cloud.conf names no router.
func (p *Provider) Routes() (cloudprovider.Routes, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.routes == nil {
		return nil, false
	}
	if p.options.DryRun != nil {
		return &previewedRoutes{p.routes, p.options.DryRun}, true
	}
	return p.routes, true
}

// Instances returns false: the old interface is not served, InstancesV2 is.
func (p *Provider) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones returns false: the old interface is not served, InstancesV2 is.
func (p *Provider) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters returns false: clusters are not served.
func (p *Provider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// ProviderName returns the name of this cloud provider.
func (p *Provider) ProviderName() string { return Name }

// HasClusterID reports that clusters can be told apart, which k8s.io/cloud-provider asks for.
func (p *Provider) HasClusterID() bool { return true }

// Ready returns an error as long as the cloud refuses our credentials, so that nothing
// would work if this process led. An outage of the cloud is no such error.
func (p *Provider) Ready() error {
	if p.options.Ready == nil {
		return nil
	}
	return p.options.Ready()
}

// Package cloudprovider implements the interfaces of k8s.io/cloud-provider for OpenStack. It holds
// adapters only: they end the calls of the controllers with the process, and pass them to the
// packages that do the work.
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
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// Name is the name of this cloud provider, for --cloud-provider.
const Name = "openstack"

// DefaultServiceWorkers is the default of --concurrent-service-syncs. That of k8s.io/cloud-provider
// is 1: each Service would wait for the one before it. A worker that waits for a load balancer
// costs nothing, because all waits share one request.
const DefaultServiceWorkers = 300

// ErrStopping is returned by calls that are refused because the process is ending.
var ErrStopping = errors.New("the cloud-controller-manager is stopping")

// Newest has Services, nodes and endpoints as the informers have them now.
type Newest interface {
	// Newest returns a Service and the nodes that can be its members; nil if there is no such Service
	// any more, or the informers do not run yet.
	Newest(service *v1.Service) (*v1.Service, []*v1.Node)
	// Endpoints returns the endpoints of a Service, as resync.Controller.Endpoints does.
	Endpoints(service *v1.Service) (endpoints members.Endpoints, watch settings.Watch, pending bool)
	// Services returns the Services of a namespace, nil as long as they are not known. They must not
	// be changed.
	Services(ctx context.Context, namespace string) ([]*v1.Service, error)
}

// Options are the dependencies of a Provider.
type Options struct {
	// Instances answer for nodes.
	Instances cloudprovider.InstancesV2
	// Deletions decides which Nodes without a server may be deleted. If it is nil, all may be.
	Deletions *instances.Deletions
	// UseNodes gets the lister of Nodes. It may be nil.
	UseNodes func(corelisters.NodeLister)
	// NewLoadBalancers creates the engine when the cluster's identity is known; clusterID is empty
	// if the process may not read it. If it is nil, there are no load balancers.
	NewLoadBalancers func(clusterID string, newest Newest) (LoadBalancers, error)
	// FindOctavia returns an error while the cloud has no load balancer service. If it is nil, Services
	// are served without one.
	FindOctavia func(context.Context) error
	// Scope returns the project and region of the session. If it is nil, they are not compared with
	// the recorded ones.
	Scope func() cluster.Scope
	// Controller identifies this controller if the cluster has several.
	Controller cluster.Controller
	// NewRoutes creates the routes to pods when the identity and the nodes are known. If it is nil,
	// there are no routes.
	NewRoutes func(clusterID string, nodes corelisters.NodeLister, synced func() bool) cloudprovider.Routes
	// Client reads the cluster's identity, and reads and patches Services.
	Client kubernetes.Interface
	// PodGates is set if the readiness gates of pods are opened.
	PodGates bool
	// Records are read before NewLoadBalancers is called. If it is nil, nothing is recorded.
	Records *records.ConfigMaps
	// Conditions writes the conditions of Services. If it is nil, they have none.
	Conditions *conditions.Writer
	// Leading is called when this process becomes the leader. It may be nil.
	Leading func(context.Context)
	// Stop ends the process with an error, because the provider cannot start.
	Stop func(error)
	// Ready returns an error while the cloud refuses our credentials. If it is nil, the provider is
	// always ready.
	Ready func() error
	// Drain refuses creations in the cloud from now on, and waits until those under way have ended.
	// It may be nil.
	Drain func(context.Context) error
	// Follow calls apply with each change of the configuration of load balancers, until the context
	// ends. If it is nil, changes are ignored.
	Follow func(ctx context.Context, apply func(*config.Config) error)
	// Close ends all background work. It may be nil.
	Close func()
	// Recorder takes events for users.
	Recorder record.EventRecorder
	// DryRun reports planned changes. If it is nil, changes are made.
	DryRun *dryrun.Report
	// PreviewInterval is how often previews with planned changes are repeated.
	PreviewInterval time.Duration
	// Metrics may be nil.
	Metrics *Metrics
	// Tracer records calls about nodes and routes. It may be nil.
	Tracer trace.TracerProvider
	// Clock is the real one if it is nil.
	Clock clock.WithTicker
}

// Provider implements cloudprovider.Interface and cloudprovider.InformerUser.
type Provider struct {
	options Options
	calls   *calls
	scope   *cluster.Guard

	// initialized and informed are done by the first start. With leader migration the controller
	// manager starts its provider twice, once for each half of its controllers.
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

// LoadBalancer returns the load balancers, or false if cloud.conf switches them off. Only the
// service controller calls it, and load balancers are resynced only if that runs: without it,
// Services belong to another implementation.
func (p *Provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loadBalancers == nil {
		return nil, false
	}
	if p.informers != nil && p.loadBalancers.resync.Load() == nil {
		p.loadBalancers.start(p.options, p.informers, &p.background)
	}
	return p.loadBalancers, true
}

// Untouched reports whether the load balancer matches its Service, according to this process or a
// record, and this process has begun no change of it.
func (p *Provider) Untouched(service types.UID) bool {
	lbs := p.balancers()
	return lbs != nil && lbs.engine.Untouched(service)
}

// balancers returns the adapter of load balancers, or nil if it does not run.
func (p *Provider) balancers() *loadBalancers {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loadBalancers
}

// IsWritten reports whether this process wrote all differences between the two versions of a
// Service itself, into annotations and status, and no call is needed to publish the result of a
// round.
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

// Routes returns the routes to pods, or false if cloud.conf has no router.
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

// Instances returns false: only its successor, InstancesV2, is implemented.
func (p *Provider) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones returns false: only its successor, InstancesV2, is implemented.
func (p *Provider) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters returns false: the interface is not implemented.
func (p *Provider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// ProviderName returns the name of this cloud provider.
func (p *Provider) ProviderName() string { return Name }

// HasClusterID returns true: clusters have different names of objects. k8s.io/cloud-provider
// requires it.
func (p *Provider) HasClusterID() bool { return true }

// Ready returns an error while the cloud refuses our credentials, so that this process could not
// work as the leader. An outage of the cloud is no error.
func (p *Provider) Ready() error {
	if p.options.Ready == nil {
		return nil
	}
	return p.options.Ready()
}

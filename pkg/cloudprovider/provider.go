// Package provider is what the controllers of k8s.io/cloud-provider see of us. It
// holds no logic of its own: it ties their calls to the life of the process and
// hands them to the packages that do the work.
package cloudprovider

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
)

// Name is the name of this cloud provider, for --cloud-provider.
const Name = "openstack"

// ErrStopping says that a call was refused because the process is ending.
var ErrStopping = errors.New("the cloud-controller-manager is stopping")

// Options are what a Provider needs.
type Options struct {
	// Instances answer for nodes.
	Instances cloudprovider.InstancesV2
	// NewLoadBalancers makes the engine once the cluster's identity is known;
	// clusterID is empty when it may not be read. Nil: no load balancers.
	NewLoadBalancers func(clusterID string, newest Newest) (LoadBalancers, error)
	// FindOctavia gives an error while the cloud has no load balancer service; nil: it
	// always has.
	FindOctavia func(context.Context) error
	// CloudIdentity gives the project and region that the session works in; nil: they
	// are not compared with those of earlier starts.
	CloudIdentity func() CloudIdentity
	// NewRoutes makes the routes to pods, once the identity and the nodes can be
	// known. Nil: no routes.
	NewRoutes func(clusterID string, nodes corelisters.NodeLister, synced func() bool) cloudprovider.Routes
	// Client reads the cluster's identity.
	Client kubernetes.Interface
	// Leading is called when upstream starts us, that is, when this process leads;
	// nil: nobody asks.
	Leading func(context.Context)
	// Stop ends the process with an error, because the provider cannot start.
	Stop func(error)
	// Ready gives why the cloud does not take our credentials; nil: nobody asks.
	Ready func() error
	// Drain refuses to create anything in the cloud from now on, and waits until what is
	// being created has come to its end; nil: nothing is.
	Drain func(context.Context) error
	// Close ends what runs in the background; nil: nothing does.
	Close func()
	// Recorder tells users what becomes of their Services.
	Recorder record.EventRecorder
	// Metrics; nil: none are kept.
	Metrics *Metrics
	// Clock; nil means the real one.
	Clock clock.Clock
}

// Provider implements cloudprovider.Interface and cloudprovider.InformerUser.
type Provider struct {
	options Options
	calls   *calls
	cloud   *cloudCheck

	// initialized and informed are done by the first of upstream's starts: with leader
	// migration it starts us twice, for either half of its controllers.
	initialized, informed sync.Once

	mu            sync.Mutex
	clusterID     string
	loadBalancers *loadBalancers
	informers     informers.SharedInformerFactory
	routes        *routes
	services      corelisters.ServiceLister
	background    sync.WaitGroup
}

var (
	_ cloudprovider.Interface    = (*Provider)(nil)
	_ cloudprovider.InformerUser = (*Provider)(nil)
)

// New makes a Provider whose calls all end when the context does.
func New(ctx context.Context, options Options) *Provider {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Recorder != nil {
		options.Recorder = message.Recorder(options.Recorder)
	}
	p := &Provider{options: options, calls: newCalls(ctx, options.Drain)}
	if options.CloudIdentity != nil {
		p.cloud = &cloudCheck{
			maps: options.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem), current: options.CloudIdentity,
			recorder: options.Recorder, clock: options.Clock,
		}
	}
	return p
}

// Initialize is called by upstream when this process leads, before it asks for
// anything else. It waits until the API server tells the cluster's identity. Only the
// first call does anything: two engines would know nothing of each other's work.
func (p *Provider) Initialize(_ cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	p.initialized.Do(func() { p.initialize(stop) })
}

func (p *Provider) initialize(stop <-chan struct{}) {
	ctx := p.calls.process
	go func() {
		select {
		case <-stop:
			p.calls.end()
		case <-ctx.Done():
		}
	}()
	if p.options.Leading != nil {
		p.options.Leading(ctx)
	}
	if err := p.cloud.allow(ctx); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Services, nodes and routes wait")
	}
	if p.options.NewLoadBalancers == nil && p.options.NewRoutes == nil {
		return
	}
	id, err := clusterID(ctx, p.options.Client, p.options.Clock)
	if err == nil && p.options.NewLoadBalancers != nil {
		err = p.startLoadBalancers(ctx, id)
	}
	if err != nil && ctx.Err() == nil {
		p.options.Stop(fmt.Errorf("start load balancers: %w", err))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clusterID = id
}

func (p *Provider) startLoadBalancers(ctx context.Context, id string) error {
	balancers := &loadBalancers{calls: p.calls, cloud: p.cloud, metrics: p.options.Metrics}
	engine, err := p.options.NewLoadBalancers(id, balancers.newest)
	if err != nil {
		return err
	}
	balancers.engine = engine
	context.AfterFunc(ctx, engine.Close) // its work ends with the process
	klog.FromContext(ctx).Info("Load balancers are ready", "clusterID", id)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loadBalancers = balancers
	return nil
}

// SetInformers is called by upstream after Initialize, before it starts them. Only the
// first call does anything, as with Initialize.
func (p *Provider) SetInformers(factory informers.SharedInformerFactory) {
	p.informed.Do(func() { p.setInformers(factory) })
}

func (p *Provider) setInformers(factory informers.SharedInformerFactory) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.options.NewRoutes != nil {
		nodes := factory.Core().V1().Nodes()
		p.routes = &routes{inner: p.options.NewRoutes(p.clusterID, nodes.Lister(), nodes.Informer().HasSynced), calls: p.calls, cloud: p.cloud}
	}
	if p.loadBalancers == nil {
		return
	}
	p.informers = factory
	p.services = factory.Core().V1().Services().Lister()
	factory.Core().V1().Nodes().Informer() // upstream starts those that were asked for
}

// LoadBalancer gives the load balancers, or false when cloud.conf switches them off.
// Upstream's service controller alone asks, and only where it runs do we listen to
// nodes and look for drift: without it, Services are somebody else's.
func (p *Provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loadBalancers == nil {
		return nil, false
	}
	if p.informers != nil && p.loadBalancers.upkeep.Load() == nil {
		p.startUpkeep()
	}
	return p.loadBalancers, true
}

func (p *Provider) startUpkeep() {
	upkeep, err := newUpkeep(p.informers, p.loadBalancers, p.options.Client.CoreV1(), p.options.Recorder)
	if err != nil {
		p.options.Stop(fmt.Errorf("listen to nodes: %w", err))
		return
	}
	p.loadBalancers.upkeep.Store(upkeep)
	p.background.Go(func() { upkeep.run(p.calls.process) })
}

// InstancesV2 gives the servers behind the nodes.
func (p *Provider) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return &instances{inner: p.options.Instances, calls: p.calls, cloud: p.cloud}, true
}

// Routes gives the routes to pods, or false when cloud.conf names no router.
func (p *Provider) Routes() (cloudprovider.Routes, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.routes == nil {
		return nil, false
	}
	return p.routes, true
}

// Instances says that the old interface is not served; InstancesV2 is.
func (p *Provider) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones says that the old interface is not served; InstancesV2 is.
func (p *Provider) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters says that clusters are not served.
func (p *Provider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// Ready gives an error as long as the cloud refuses our credentials, so that nothing
// that we lead would work. An outage of the cloud is none.
func (p *Provider) Ready() error {
	if p.options.Ready == nil {
		return nil
	}
	return p.options.Ready()
}

// ProviderName is the name of this cloud provider.
func (p *Provider) ProviderName() string { return Name }

// HasClusterID says that clusters can be told apart; upstream asks for it.
func (p *Provider) HasClusterID() bool { return true }

// Shutdown refuses new calls, ends the waits of those that run, and returns when
// they have returned and everything is closed, or with the context's error.
func (p *Provider) Shutdown(ctx context.Context) error {
	if err := p.calls.drain(ctx); err != nil {
		return err
	}
	p.background.Wait() // it ends with the calls
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loadBalancers != nil {
		p.loadBalancers.engine.Close()
		p.loadBalancers = nil
	}
	if p.options.Close != nil {
		p.options.Close()
	}
	return nil
}

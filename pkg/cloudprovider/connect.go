package cloudprovider

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/dryrun"
	"github.com/openstack-ccm/openstack-ccm/pkg/instances"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/conditions"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/records"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/rest"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
)

// noTimeout stands for "request-timeout=0", which is no time limit; a session takes zero for its
// default. A request on a connection that was lost silently occupies one of the limiter's few slots
// for that time.
const noTimeout = 10 * time.Minute

// Connection has the dependencies of Connect.
type Connection struct {
	Config *config.Config
	// Reread returns the present configuration, so that changes take effect. If it is nil, the
	// configuration is read only once.
	Reread func() (*config.Config, []config.Warning, error)
	// UserAgent is sent to OpenStack.
	UserAgent string
	// Client reads the cluster's identity.
	Client kubernetes.Interface
	// ClusterName is --cluster-name, a part of the names of all load balancers.
	ClusterName string
	// ServiceWorkers is the value of --concurrent-service-syncs.
	ServiceWorkers int
	// RegionalIDs is the value of OS_CCM_REGIONAL: provider IDs contain the region.
	RegionalIDs bool
	// Controller identifies this controller if the cluster has several; "" if it is the only one.
	Controller string
	// CloudRoutes reports that the route controller requests routes: it runs (--controllers), and
	// --configure-cloud-routes is not false.
	CloudRoutes bool
	// PodGates is set if the readiness gates of pods are opened.
	PodGates bool
	// CallAgain makes the service controller call again for a Service at once, after a call
	// returned before the creation of its load balancer had ended. If it is nil, the error of a
	// call contains the time of the next one.
	CallAgain func(*v1.Service)
	// Recorder takes events for users.
	Recorder record.EventRecorder
	// Leading and Stop are passed to Options.
	Leading func(context.Context)
	Stop    func(error)
	// DryRun is passed to Options. If it is set, nothing is written to OpenStack.
	DryRun *dryrun.Report
	// Metrics and APIMetrics may be nil.
	Metrics    *Metrics
	APIMetrics *transport.Metrics
	// Tracer records the work on Services, nodes and routes. It may be nil.
	Tracer trace.TracerProvider
	Clock  clock.WithTickerAndDelayedExecution

	// scopeRecorded reports whether credentials of another project would be detected.
	scopeRecorded func() bool
	// tables has the routes of each router, for pods and for the VIPs of Services.
	tables *routes.Tables
}

// Connect signs in to OpenStack and returns a Provider. All its calls end when the context does.
// The error reports that the cloud refuses the credentials or cannot be reached
// (apierror.IsKeystoneAway).
func Connect(ctx context.Context, c Connection) (*Provider, error) {
	for _, warning := range UnusedSettings(c.Config, c.CloudRoutes) {
		klog.Warning(warning)
	}
	read := c.Config
	c.Config = WithKnownAnnotations(c.Config)
	if c.DryRun != nil {
		c.Config = harmless(c.Config)
	}
	logRefused(ctx, c.Config.Refused)
	sessionOptions, err := SessionOptions(c.Config, c.UserAgent)
	if err != nil {
		return nil, err
	}
	sessionOptions.Clock, sessionOptions.Metrics, sessionOptions.Reread = c.Clock, c.APIMetrics, c.rereadGlobal()
	sessionOptions.ReadOnly = c.DryRun != nil
	session, err := openstack.NewSession(ctx, c.Config.Global, sessionOptions)
	if err != nil {
		return nil, err
	}
	var provider *Provider
	c.scopeRecorded = func() bool { return !provider.scope.Unrecorded() }
	c.tables = &routes.Tables{New: func(routerID string) *routes.Table {
		return routes.New(routes.Options{Network: session.Neutron(), RouterID: routerID, Clock: c.Clock})
	}}
	options, err := c.options(ctx, session)
	if err != nil {
		session.Close()
		return nil, err
	}
	c.Config = read
	options.Follow = c.follow(session)
	provider = New(ctx, options)
	return provider, nil
}

// SessionOptions returns the options of a session that cloud.conf contains.
func SessionOptions(conf *config.Config, userAgent string) (openstack.SessionOptions, error) {
	timeout := conf.Metadata.RequestTimeout.Duration
	if timeout == 0 {
		timeout = noTimeout
	}
	version, err := octaviaVersion(conf.LoadBalancer.OctaviaAPIVersion)
	return openstack.SessionOptions{
		UserAgent: userAgent, Timeout: timeout, Limits: limits(conf.Limits), LoadBalancerVersion: version,
		Regions: conf.Node.Region, Unused: unusedServices(conf),
	}, err
}

// unusedServices returns the services that get no requests.
func unusedServices(conf *config.Config) []string {
	switch {
	case !conf.LoadBalancer.Enabled:
		return []string{rest.Octavia, rest.Barbican}
	case conf.LoadBalancer.ContainerStore == "external":
		return []string{rest.Barbican}
	}
	return nil
}

// octaviaVersion parses [LoadBalancer] octavia-api-version; zero if it is empty.
func octaviaVersion(text string) (model.Version, error) {
	if text == "" {
		return model.Version{}, nil
	}
	version, err := model.ParseVersion(text)
	if err != nil {
		return model.Version{}, fmt.Errorf("octavia-api-version: %w", err)
	}
	return version, nil
}

// limits returns [Limits] of cloud.conf for a session.
func limits(l config.Limits) limiter.Limits {
	return limiter.Limits{
		LoadBalancerCreates: l.Creates,
		LoadBalancerDeletes: l.Deletes,
		LoadBalancerUpdates: l.Updates,
		Reads:               l.Reads,
		NetworkWrites:       l.NetworkWrites,
	}
}

// options returns the Options of a Provider that works with the session.
func (c Connection) options(ctx context.Context, session *openstack.Session) (Options, error) {
	servers, err := instances.New(c.instances(session))
	if err != nil {
		return Options{}, err
	}
	options := Options{
		Instances: servers,
		UseNodes:  servers.UseNodes,
		Deletions: instances.NewDeletions(instances.DeletionOptions{
			Instances: servers, Node: c.Config.Node, Recorder: message.LimitEvents(c.Recorder), Held: c.Metrics.Held, Clock: c.Clock,
		}),
		Client:   c.Client,
		PodGates: c.PodGates && c.DryRun == nil,
		Leading:  c.Leading,
		Stop:     c.Stop,
		Drain:    session.Drain,
		Close:    session.Close,
		Ready:    session.Refused,
		Recorder: c.Recorder,
		DryRun:   c.DryRun,
		Metrics:  c.Metrics,
		Tracer:   c.Tracer,
		Clock:    c.Clock,

		Controller: cluster.Controller{Name: c.Controller, Regional: c.RegionalIDs},
		Scope: func() cluster.Scope {
			return cluster.Scope{ProjectID: session.ProjectID(), Region: session.PinnedRegion()}
		},
	}
	if c.Config.Route.RouterID != "" {
		options.NewRoutes = c.newRoutes(session)
	}
	if !c.Config.LoadBalancer.Enabled {
		klog.FromContext(ctx).Info("Services of type LoadBalancer are left alone: cloud.conf says [LoadBalancer] enabled=false")
		return options, nil
	}
	options.PreviewInterval = c.Config.LoadBalancer.DriftInterval.Duration
	if !driver.WithoutOctavia(c.Config.LoadBalancer.LBProvider) {
		options.FindOctavia = func(ctx context.Context) error {
			_, err := session.LoadBalancer(ctx)
			return err
		}
	}
	options.Records = records.New(c.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem), c.Clock)
	if c.DryRun == nil {
		options.Conditions = conditions.NewWriter(c.Client.CoreV1(), c.Clock)
	}
	options.NewLoadBalancers = c.newLoadBalancers(session, options)
	return options, nil
}

// instances returns the Options of Instances in the regions of nodes.
func (c Connection) instances(session *openstack.Session) instances.Options {
	options := instances.Options{
		Servers:          session.Nova(),
		Subports:         session.Neutron(),
		Region:           session.Region(),
		RegionalIDs:      c.RegionalIDs,
		Networking:       c.Config.Networking,
		ShutdownStatuses: config.Items(c.Config.Node.ShutdownStatus),
		Clock:            c.Clock,
	}
	seen := []string{options.Region}
	for _, name := range c.Config.Node.Region {
		if !slices.Contains(seen, name) {
			seen = append(seen, name)
			options.Regions = append(options.Regions, instances.Region{Name: name, Servers: session.NovaIn(name), Subports: session.NeutronIn(name)})
		}
	}
	return options
}

// newRoutes returns the function for Options.NewRoutes.
func (c Connection) newRoutes(session *openstack.Session) func(string, corelisters.NodeLister, func() bool) cloudprovider.Routes {
	return func(clusterID string, nodes corelisters.NodeLister, synced func() bool) cloudprovider.Routes {
		return c.tables.Set(routes.New(routes.Options{
			Network: session.Neutron(), RouterID: c.Config.Route.RouterID, Nodes: nodes, Synced: synced,
			ConfigMaps: c.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem), ClusterID: clusterID, Clock: c.Clock,
		}))
	}
}

// newLoadBalancers returns the function for Options.NewLoadBalancers.
func (c Connection) newLoadBalancers(session *openstack.Session, options Options) func(string, Newest) (LoadBalancers, error) {
	return func(clusterID string, newest Newest) (LoadBalancers, error) {
		return loadbalancer.New(c.loadBalancerOptions(session, options, clusterID, newest))
	}
}

// loadBalancerOptions returns the options of the engine of load balancers: its session, and the
// objects outside the cloud that it writes to.
func (c Connection) loadBalancerOptions(session *openstack.Session, options Options, clusterID string, newest Newest) loadbalancer.Options {
	core := c.Client.CoreV1()
	engine := loadbalancer.Options{
		Config: c.Config, Session: session, ClusterName: c.ClusterName, ClusterID: clusterID,
		Namespace: func(ctx context.Context, name string) (*v1.Namespace, error) {
			return core.Namespaces().Get(ctx, name, metav1.GetOptions{})
		},
		Nodes: func(ctx context.Context) ([]v1.Node, error) {
			found, err := core.Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				return nil, err
			}
			return found.Items, nil
		},
		Pods: func(ctx context.Context, namespace, name string) (*v1.Pod, error) {
			return core.Pods(namespace).Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
		},
		Records: options.Records, Recorder: c.Recorder, Clock: c.Clock, Workers: c.ServiceWorkers, Ended: c.CallAgain,
		Refused: c.Metrics.Refused, Metrics: c.Metrics.forLoadBalancers(), Tracer: c.Tracer, ScopeRecorded: c.scopeRecorded,
		Routes: c.tables,
	}
	if newest != nil {
		engine.Newest, engine.Endpoints, engine.Services = newest.Newest, newest.Endpoints, newest.Services
	}
	if options.Conditions != nil { // a nil *Writer is no nil Conditions
		engine.Conditions = options.Conditions
	}
	return engine
}

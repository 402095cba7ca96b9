package provider

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/instance"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/route"
)

// unlimited stands for "request-timeout=0", no time limit, in a session, which
// takes zero for its default.
const unlimited = 24 * time.Hour

// Connection is what Connect needs.
type Connection struct {
	Config *config.Config
	// UserAgent names us to OpenStack.
	UserAgent string
	// Client reads the cluster's identity.
	Client kubernetes.Interface
	// ClusterName is in the names of all load balancers.
	ClusterName string
	// ServiceWorkers is --concurrent-service-syncs.
	ServiceWorkers int
	// CloudRoutes is --configure-cloud-routes.
	CloudRoutes bool
	// Recorder tells users what becomes of their Services.
	Recorder record.EventRecorder
	// Leading and Stop are those of Options.
	Leading func(context.Context)
	Stop    func(error)
	// Metrics and APIMetrics; nil: none are kept.
	Metrics    *Metrics
	APIMetrics *openstack.Metrics
	Clock      clock.WithTicker
}

// Connect signs in to OpenStack and makes a Provider, whose calls all end when
// the context does. It fails when the cloud refuses us or cannot be reached.
func Connect(ctx context.Context, c Connection) (*Provider, error) {
	for _, text := range ineffective(c.Config, c.CloudRoutes) {
		klog.Warning(text)
	}
	timeout := c.Config.Metadata.RequestTimeout.Duration
	if timeout == 0 {
		timeout = unlimited
	}
	session, err := openstack.NewSession(ctx, c.Config.Global, openstack.SessionOptions{
		UserAgent: c.UserAgent,
		Timeout:   timeout,
		Clock:     c.Clock,
		Metrics:   c.APIMetrics,
		Limits:    limits(c.Config.Limits),
	})
	if err != nil {
		return nil, err
	}
	options, err := c.options(ctx, session)
	if err != nil {
		session.Close()
		return nil, err
	}
	return New(ctx, options), nil
}

// limits hands on [Limits] of cloud.conf.
func limits(l config.Limits) openstack.Limits {
	return openstack.Limits{
		LoadBalancerCreates: l.Creates,
		LoadBalancerDeletes: l.Deletes,
		LoadBalancerUpdates: l.Updates,
		Reads:               l.Reads,
		NetworkWrites:       l.NetworkWrites,
	}
}

func (c Connection) options(ctx context.Context, session *openstack.Session) (Options, error) {
	servers, err := instance.New(instance.Options{
		Servers:    session.Nova(),
		Subports:   session.Neutron(),
		Region:     session.Region(),
		Networking: c.Config.Networking,
		Clock:      c.Clock,
	})
	if err != nil {
		return Options{}, err
	}
	options := Options{
		Instances: servers,
		Client:    c.Client,
		Leading:   c.Leading,
		Stop:      c.Stop,
		Close:     session.Close,
		Recorder:  c.Recorder,
		Metrics:   c.Metrics,
		Clock:     c.Clock,
		CloudIdentity: func() CloudIdentity {
			return CloudIdentity{ProjectID: session.ProjectID(), Region: session.PinnedRegion()}
		},
	}
	if c.Config.Route.RouterID != "" {
		options.NewRoutes = func(clusterID string, nodes corelisters.NodeLister, synced func() bool) cloudprovider.Routes {
			return route.New(route.Options{
				Network: session.Neutron(), RouterID: c.Config.Route.RouterID, Nodes: nodes, Synced: synced,
				ConfigMaps: c.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem), ClusterID: clusterID, Clock: c.Clock,
			})
		}
	}
	if !c.Config.LoadBalancer.Enabled {
		klog.FromContext(ctx).Info("Services of type LoadBalancer are left alone: cloud.conf says [LoadBalancer] enabled=false")
		return options, nil
	}
	options.FindOctavia = func(ctx context.Context) error {
		_, err := session.LoadBalancer(ctx)
		return err
	}
	options.NewLoadBalancers = func(clusterID string, newest Newest) (LoadBalancers, error) {
		return loadbalancer.New(loadbalancer.Options{
			Config: c.Config, Session: session, ClusterName: c.ClusterName, ClusterID: clusterID,
			Namespace: func(ctx context.Context, name string) (*v1.Namespace, error) {
				return c.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			},
			Nodes: func(ctx context.Context) ([]v1.Node, error) {
				found, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
				if err != nil {
					return nil, err
				}
				return found.Items, nil
			},
			Recorder: c.Recorder, Clock: c.Clock, Workers: c.ServiceWorkers, Newest: newest,
		})
	}
	return options, nil
}

package provider

import (
	"context"
	"errors"
	"fmt"
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
	}
	if c.Config.Route.RouterID != "" {
		options.NewRoutes = func(clusterID string, nodes corelisters.NodeLister, synced func() bool) cloudprovider.Routes {
			return route.New(route.Options{
				Network: session.Neutron(), RouterID: c.Config.Route.RouterID, Nodes: nodes, Synced: synced,
				ConfigMaps: c.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem), ClusterID: clusterID, Clock: c.Clock,
			})
		}
	}
	wanted, err := wantsLoadBalancers(ctx, c.Config.LoadBalancer.Enabled, func(ctx context.Context) error {
		_, err := session.LoadBalancer(ctx)
		return err
	})
	if wanted {
		options.NewLoadBalancers = func(clusterID string) (LoadBalancers, error) {
			return loadbalancer.New(loadbalancer.Options{
				Config: c.Config, Session: session, ClusterName: c.ClusterName, ClusterID: clusterID,
				Namespace: func(ctx context.Context, name string) (*v1.Namespace, error) {
					return c.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
				},
				Recorder: c.Recorder, Clock: c.Clock, Hold: loadbalancer.HoldFor(c.ServiceWorkers),
			})
		}
	}
	return options, err
}

// wantsLoadBalancers says whether Services get load balancers: cloud.conf must
// not switch them off, and the cloud must have Octavia. That it has none is told
// and no error, so that nodes are still served.
func wantsLoadBalancers(ctx context.Context, enabled bool, findOctavia func(context.Context) error) (bool, error) {
	logger := klog.FromContext(ctx)
	if !enabled {
		logger.Info("Services of type LoadBalancer are left alone: cloud.conf says [LoadBalancer] enabled=false")
		return false, nil
	}
	err := findOctavia(ctx)
	var missing openstack.ErrNoEndpoint
	if errors.As(err, &missing) {
		logger.Error(err, "Services of type LoadBalancer are left alone: the cloud has no load balancer service (Octavia) for us. "+
			"Should it have one, look at [Global] region and os-endpoint-type in cloud.conf; should it not, silence this with [LoadBalancer] enabled=false")
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the load balancer service: %w", err)
	}
	return true, nil
}

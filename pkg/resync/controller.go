package resync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/gates"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// Engine is the interface of the load balancers that a Controller uses.
type Engine interface {
	// SelectsNodes reports whether labels decide which nodes are members of the Service's
	// load balancer.
	SelectsNodes(service *v1.Service) bool
	// FollowsEndpoints reports whether the members of the Service's load balancer may follow its
	// endpoints.
	FollowsEndpoints(service *v1.Service) bool
	// FollowsPods reports whether pods are the members of the Service's load balancer.
	FollowsPods(service *v1.Service) bool
	// WeighsNodes reports whether the weights of nodes follow the number of ready endpoints.
	WeighsNodes(service *v1.Service) bool
	// Stay returns how long members of the Service's load balancer stay after their endpoints began to
	// terminate, so that they are removed when these stop.
	Stay(service *v1.Service) model.Stay
	// IsRefused reports whether the Service was refused in its last round, which Repair may have ended
	// without an error.
	IsRefused(service *v1.Service) bool
	// Repair changes the load balancer to match the Service and the current nodes. It does not wait
	// for the cloud: it calls ended once, with the status to publish, which may accompany an error.
	// A load balancer that is gone is recreated only if exists then reports that the Service still
	// exists. For a Service that never had one, the error is ErrNoLoadBalancer.
	Repair(ctx context.Context, service *v1.Service, exists func(context.Context) (bool, error), ended func(*v1.LoadBalancerStatus, error))
	// WatchDrift calls drifted for each Service whose load balancer another client has
	// changed, until the context ends.
	WatchDrift(ctx context.Context, drifted func(types.NamespacedName))
	// PersistRecords records the known state of load balancers until the context ends. It calls
	// write with the annotations to add to a Service, and calls it again later if that fails.
	PersistRecords(ctx context.Context, write func(ctx context.Context, service types.NamespacedName, uid types.UID, record annotation.Record) error)
}

// ErrNoLoadBalancer is returned by Engine.Repair for a Service without a load balancer. The service
// controller creates it.
var ErrNoLoadBalancer = errors.New("the Service has no load balancer yet")

const (
	// batchPeriod is how long changes of nodes are collected before a Service is synced.
	// promptBatchPeriod applies to nodes that go, because traffic to them is lost, and to the first
	// change after quietPeriod without any. Changes during a sync, which takes some seconds, are
	// collected anyway.
	batchPeriod       = 5 * time.Second
	promptBatchPeriod = 100 * time.Millisecond
	quietPeriod       = time.Minute
	// The delay after a failure doubles from the first to the last.
	firstRetryDelay, lastRetryDelay = 5 * time.Second, 5 * time.Minute
	// workers start syncs. They wait only for the API server.
	workers = 10
)

// Options are the dependencies of a Controller.
type Options struct {
	Engine Engine
	// Informers has Services and Nodes. The caller starts it.
	Informers informers.SharedInformerFactory
	// Client reads and patches Services.
	Client corev1.CoreV1Interface
	// Slices reads EndpointSlices; nil: none are watched.
	Slices kubernetes.Interface
	// Gates is set if the readiness gates of pods are opened: it needs Slices.
	Gates bool
	// Forbidden is called when the right to read EndpointSlices turns out to be missing, and when it
	// has come; may be nil.
	Forbidden func(bool)
	// Recorder takes events on Services.
	Recorder record.EventRecorder
	Clock    clock.WithTicker
}

// Controller syncs the load balancers of Services. Its methods may be called from many
// goroutines.
type Controller struct {
	engine   Engine
	services corelisters.ServiceLister
	// synced reports whether services is complete.
	synced func() bool
	nodes  corelisters.NodeLister
	// nodeVersion returns a text that changes with nodes, or "" if it is unknown.
	nodeVersion func() string
	// nodeList has all nodes, sorted.
	nodeList nodeList
	clock    clock.Clock
	// endpoints has those of Services, slices fills it; both are nil if none are watched.
	endpoints *endpointTable
	slices    *cache.Reflector
	// gates is nil if those of pods are not opened.
	gates    *gates.Gates
	api      *serviceAPI
	recorder record.EventRecorder
	queue    workqueue.TypedRateLimitingInterface[types.NamespacedName]
	// failed has the UIDs of Services with an event about their last sync, which failed.
	failed sync.Map
}

// New returns a Controller that listens to changes of nodes. It syncs nothing before Run.
func New(options Options) (*Controller, error) {
	core := options.Informers.Core().V1()
	c := &Controller{
		engine:      options.Engine,
		services:    core.Services().Lister(),
		synced:      core.Services().Informer().HasSynced,
		nodes:       core.Nodes().Lister(),
		nodeVersion: core.Nodes().Informer().GetIndexer().LastStoreSyncResourceVersion,
		api:         &serviceAPI{client: options.Client, services: core.Services().Lister()},
		recorder:    options.Recorder,
		clock:       options.Clock,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetryDelay, lastRetryDelay),
			workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Clock: options.Clock}),
	}
	nodes := &nodeChanges{nodes: c.Nodes, selects: c.engine.SelectsNodes, enqueue: c.enqueueWhere, clock: options.Clock}
	if _, err := core.Nodes().Informer().AddEventHandler(nodes.events()); err != nil {
		return nil, fmt.Errorf("listen to nodes: %w", err)
	}
	if options.Slices != nil {
		c.endpoints = newEndpointTable(options.Clock)
		c.endpoints.changed = c.endpointsChanged
		c.endpoints.stay = c.stay
		c.endpoints.restated = func(watch settings.Watch) {
			if options.Forbidden != nil {
				options.Forbidden(watch == settings.Forbidden)
			}
			c.enqueueWhere(c.engine.FollowsEndpoints, promptBatchPeriod)
		}
		c.slices = cache.NewReflectorWithOptions(listerOf(options.Slices), &discovery.EndpointSlice{}, c.endpoints, cache.ReflectorOptions{Name: "endpoints"})
		if options.Gates {
			c.useGates(options)
		}
	}
	return c, nil
}

// Run syncs Services until the context ends, and returns when all work has ended. While a load
// balancer changes, its sync occupies no worker: one that is stuck delays no other.
func (c *Controller) Run(ctx context.Context) {
	var work sync.WaitGroup
	for range workers {
		work.Go(func() {
			for {
				key, shutdown := c.queue.Get()
				if shutdown {
					return
				}
				work.Add(1)
				c.sync(ctx, key, func(err error) {
					defer work.Done()
					c.ended(ctx, key, err)
				})
			}
		})
	}
	if c.endpoints != nil {
		work.Go(func() { c.endpoints.run(ctx, c.slices.ListAndWatchWithContext) })
	}
	if c.gates != nil {
		work.Go(func() { c.gates.Run(ctx) })
	}
	work.Go(func() { c.engine.WatchDrift(ctx, c.queue.Add) })
	work.Go(func() { c.engine.PersistRecords(ctx, c.api.writeRecord) })
	<-ctx.Done()
	c.queue.ShutDown()
	work.Wait()
}

// ended requeues a Service if its sync has failed.
func (c *Controller) ended(ctx context.Context, key types.NamespacedName, err error) {
	defer c.queue.Done(key)
	if err == nil {
		c.queue.Forget(key)
		return
	}
	klog.FromContext(ctx).Error(err, "Cannot bring a load balancer up to date, trying again", "service", key)
	var later *api.RetryError
	if errors.As(err, &later) {
		c.queue.AddAfter(key, later.RetryAfter())
	} else {
		c.queue.AddRateLimited(key)
	}
}

// sync repairs the load balancer of a Service, publishes its address, and calls ended.
func (c *Controller) sync(ctx context.Context, key types.NamespacedName, ended func(error)) {
	service, err := c.services.Services(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) || err == nil && !managed(service) {
		c.failed.Delete(key)
		ended(nil)
		return
	}
	if err != nil {
		ended(err)
		return
	}
	exists := func(ctx context.Context) (bool, error) { return c.api.exists(ctx, service) }
	followed, again := c.following(key), c.lookAtStops(key)
	c.engine.Repair(ctx, service, exists, func(status *v1.LoadBalancerStatus, err error) {
		followed(err)
		again()
		ended(c.report(key, service, status, err))
	})
}

// report publishes the result of a repair, and returns the error of the sync.
func (c *Controller) report(key types.NamespacedName, service *v1.Service, status *v1.LoadBalancerStatus, err error) error {
	switch {
	case errors.Is(err, ErrNoLoadBalancer):
		c.failed.Delete(key)
		return nil // the service controller creates it, with the nodes of that time
	case err != nil:
		id, address := annotation.PlaceOf(service)
		reason.UpdateFailed.Emit(c.recorder, service, message.At(fmt.Sprintf("Error updating load balancer: %v", err), id, address))
		c.failed.Store(key, service.UID)
		return errors.Join(err, c.PublishRefused(service, status))
	case published(service): // the service controller publishes the first address
		if err := c.api.publish(service, status); err != nil {
			return err
		}
	}
	c.recovered(key, service)
	return nil
}

// recovered emits that a load balancer is up to date again, if the last event reported that it was
// not. That of a refused Service is not, although it follows its nodes.
func (c *Controller) recovered(key types.NamespacedName, service *v1.Service) {
	if c.engine.IsRefused(service) {
		return
	}
	if uid, failed := c.failed.LoadAndDelete(key); failed && uid == service.UID {
		id, address := annotation.PlaceOf(service)
		reason.Updated.Emit(c.recorder, service, message.At("The load balancer is up to date again", id, address))
	}
}

package resync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// Engine is what the Controller needs of load balancers.
type Engine interface {
	// SelectsNodes reports whether labels decide which nodes are members of the Service's
	// load balancer.
	SelectsNodes(service *v1.Service) bool
	// Repair makes the load balancer what the Service asks for, with the nodes as they are
	// when its turn comes, and calls ended once with the status to publish, also beside an error. A load
	// balancer that is gone is recreated only if exists reports, right before, that the Service still
	// exists. A Service that never had one is ErrNoLoadBalancer. Repair does not wait for the cloud.
	Repair(ctx context.Context, service *v1.Service, exists func(context.Context) (bool, error), ended func(*v1.LoadBalancerStatus, error))
	// WatchDrift calls drifted for each Service whose load balancer another client has
	// changed, until the context ends.
	WatchDrift(ctx context.Context, drifted func(types.NamespacedName))
	// PersistRecords records what is known of load balancers, and calls write with what is
	// to be written into the annotations of a Service, and again later if that fails, until
	// the context ends.
	PersistRecords(ctx context.Context, write func(ctx context.Context, service types.NamespacedName, uid types.UID, record annotation.Record) error)
}

// ErrNoLoadBalancer is returned by Engine.Repair for a Service without a load balancer,
// which is the service controller's to create.
var ErrNoLoadBalancer = errors.New("the Service has no load balancer yet")

const (
	// batchPeriod is how long changes of nodes are collected before a Service is synced, where
	// they come one after the other; promptBatchPeriod is for nodes that go, as traffic to
	// them is lost, and for the first change after quietPeriod without any. What comes while a
	// Service is synced, for some seconds, is collected anyway.
	batchPeriod       = 5 * time.Second
	promptBatchPeriod = 100 * time.Millisecond
	quietPeriod       = time.Minute
	// The delay after a failure doubles from the first to the last.
	firstRetryDelay, lastRetryDelay = 5 * time.Second, 5 * time.Minute
	// workers start syncs, which wait for nothing but the API server.
	workers = 10
)

// Options are what a Controller needs.
type Options struct {
	Engine Engine
	// Informers has Services and Nodes; whoever made it starts it.
	Informers informers.SharedInformerFactory
	// Client reads and patches Services.
	Client corev1.CoreV1Interface
	// Recorder takes events on Services.
	Recorder record.EventRecorder
	Clock    clock.WithTicker
}

// Controller syncs the load balancers of Services. Its methods may be called from many
// goroutines.
type Controller struct {
	engine   Engine
	services corelisters.ServiceLister
	// synced reports whether services has all of them.
	synced func() bool
	nodes  corelisters.NodeLister
	// nodeVersion returns another text once nodes has changed, or "" where nobody knows.
	nodeVersion func() string
	// nodeList has all nodes.
	nodeList nodeList
	clock    clock.Clock
	// lastNodeChange is used by the goroutine of the informer's events alone.
	lastNodeChange time.Time
	client         corev1.CoreV1Interface
	recorder       record.EventRecorder
	queue          workqueue.TypedRateLimitingInterface[types.NamespacedName]
	// failed are the UIDs of Services whose last sync has failed, of which an event told.
	failed sync.Map
	// getForbidden and patchForbidden are done when the role of this process lacks these
	// rights for Services, which is logged once.
	getForbidden, patchForbidden sync.Once
}

// New returns a Controller that listens to nodes. It syncs nothing before Run.
func New(options Options) (*Controller, error) {
	core := options.Informers.Core().V1()
	c := &Controller{
		engine:      options.Engine,
		services:    core.Services().Lister(),
		synced:      core.Services().Informer().HasSynced,
		nodes:       core.Nodes().Lister(),
		nodeVersion: core.Nodes().Informer().GetIndexer().LastStoreSyncResourceVersion,
		client:      options.Client,
		recorder:    options.Recorder,
		clock:       options.Clock,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetryDelay, lastRetryDelay),
			workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Clock: options.Clock}),
	}
	if _, err := core.Nodes().Informer().AddEventHandler(c.nodeEvents()); err != nil {
		return nil, fmt.Errorf("listen to nodes: %w", err)
	}
	return c, nil
}

// Run syncs Services until the context ends, and returns when all work has ended. A sync holds no
// worker while its load balancer changes, so that a stuck one delays no other.
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
	work.Go(func() { c.engine.WatchDrift(ctx, c.queue.Add) })
	work.Go(func() { c.engine.PersistRecords(ctx, c.writeRecord) })
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
	exists := func(ctx context.Context) (bool, error) { return c.exists(ctx, service) }
	c.engine.Repair(ctx, service, exists, func(status *v1.LoadBalancerStatus, err error) { ended(c.report(key, service, status, err)) })
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
		if err := c.publish(service, status); err != nil {
			return err
		}
	}
	c.recovered(key, service)
	return nil
}

// recovered emits that a load balancer is up to date again, where the last event told that it
// could not be.
func (c *Controller) recovered(key types.NamespacedName, service *v1.Service) {
	if uid, failed := c.failed.LoadAndDelete(key); failed && uid == service.UID {
		id, address := annotation.PlaceOf(service)
		reason.Updated.Emit(c.recorder, service, message.At("The load balancer is up to date again", id, address))
	}
}

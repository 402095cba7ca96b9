package cloudprovider

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/resync"
)

// LoadBalancers is the engine behind Services of type LoadBalancer. It must not change its
// arguments. *loadbalancer.Reconciler implements it.
type LoadBalancers interface {
	// Ensure changes the load balancer to match the Service. A status that accompanies an error
	// must be published too. The error loadbalancer.ErrInProgress reports that the creation
	// continues without a call; another call is requested at its end.
	Ensure(ctx context.Context, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error)
	// Get reports whether any part of the Service's load balancer exists.
	Get(ctx context.Context, service *v1.Service) (status *v1.LoadBalancerStatus, exists bool, err error)
	// Delete removes everything that was created for the Service.
	Delete(ctx context.Context, service *v1.Service) error
	// StartRepair is Repair of resync.Engine. For a Service without a load balancer the error is
	// loadbalancer.ErrNoLoadBalancer.
	StartRepair(ctx context.Context, service *v1.Service, exists func(context.Context) (bool, error), ended func(*v1.LoadBalancerStatus, error))
	// Preview returns the changes that Ensure, or Delete, would make, and makes none.
	Preview(ctx context.Context, service *v1.Service, nodes []*v1.Node) (loadbalancer.Preview, error)
	// FollowsEndpoints, FollowsPods, WeighsNodes, Stay, IsRefused, SelectsNodes, WatchDrift and PersistRecords are those of
	// resync.Engine.
	FollowsEndpoints(service *v1.Service) bool
	FollowsPods(service *v1.Service) bool
	WeighsNodes(service *v1.Service) bool
	Stay(service *v1.Service) model.Stay
	IsRefused(service *v1.Service) bool
	SelectsNodes(service *v1.Service) bool
	WatchDrift(ctx context.Context, drifted func(types.NamespacedName))
	PersistRecords(ctx context.Context, write func(context.Context, types.NamespacedName, types.UID, annotation.Record) error)
	// CollectGarbage removes objects that no Service needs, until the context ends.
	CollectGarbage(ctx context.Context, cluster garbage.Cluster)
	// WatchQuotas updates the metrics of remaining quotas, until the context ends.
	WatchQuotas(ctx context.Context)
	// Reconfigure applies another configuration to all work that begins from now on.
	Reconfigure(conf *config.Config) error
	// Name returns the name of the Service's load balancer in OpenStack.
	Name(service *v1.Service) string
	// Untouched reports whether the load balancer matches its Service, according to this process or
	// a record, and this process has begun no change of it.
	Untouched(service types.UID) bool
	// DropAllBut drops the state of Services that are gone. Live has those that exist; nil if they
	// are unknown.
	DropAllBut(live map[types.UID]bool)
	// IsWritten reports whether this process wrote all differences between the two versions of a
	// Service itself, into annotations and status, and no call is needed to publish the result of a
	// round.
	IsWritten(before, now *v1.Service) bool
	// Close ends all background work.
	Close()
}

// loadBalancers implements cloudprovider.LoadBalancer. The cluster name in each call is the one
// that the engine was created with.
type loadBalancers struct {
	engine  LoadBalancers
	calls   *calls
	scope   *cluster.Guard
	metrics *Metrics
	// resync handles changes of nodes; nil until it runs.
	resync atomic.Pointer[resync.Controller]
}

var _ cloudprovider.LoadBalancer = (*loadBalancers)(nil)

// GetLoadBalancer reports whether any part of the load balancer exists. While one does, the service
// controller keeps the Service and calls EnsureLoadBalancerDeleted.
func (l *loadBalancers) GetLoadBalancer(ctx context.Context, _ string, service *v1.Service) (status *v1.LoadBalancerStatus, exists bool, err error) {
	err = l.call(ctx, operationGet, service, func(ctx context.Context) error {
		status, exists, err = l.engine.Get(ctx, service)
		return err
	})
	return status, exists, err
}

// GetLoadBalancerName returns the load balancer's name in OpenStack.
func (l *loadBalancers) GetLoadBalancerName(_ context.Context, _ string, service *v1.Service) string {
	return l.engine.Name(service)
}

// EnsureLoadBalancer changes the load balancer to match the Service. It uses the nodes of resync,
// because the service controller may not know all of them. The service controller publishes no
// status for a refused Service, so that this method publishes a changed address itself.
func (l *loadBalancers) EnsureLoadBalancer(ctx context.Context, _ string, service *v1.Service, nodes []*v1.Node) (status *v1.LoadBalancerStatus, err error) {
	controller := l.resync.Load()
	if controller != nil {
		nodes = controller.Nodes()
	}
	err = l.call(ctx, operationEnsure, service, func(ctx context.Context) error {
		status, err = l.engine.Ensure(ctx, service, nodes)
		return err
	})
	if _, dry := l.engine.(*previews); dry && err == nil {
		return nil, cloudprovider.ImplementedElsewhere // we have no address to publish
	}
	if errors.Is(err, loadbalancer.ErrInProgress) {
		return nil, cloudprovider.ImplementedElsewhere // the creation continues, and the next call comes at its end
	}
	if err != nil && controller != nil {
		if failure := controller.PublishRefused(service, status); failure != nil {
			klog.FromContext(ctx).Error(failure, "Cannot publish the address of a Service that is refused", "service", klog.KObj(service))
		}
	}
	return status, err
}

// UpdateLoadBalancer enqueues the Service for a resync with the nodes of that time, and returns at
// once: the service controller has a single worker for nodes, which waits for the calls for all
// Services. The resync reports failures and retries.
func (l *loadBalancers) UpdateLoadBalancer(ctx context.Context, _ string, service *v1.Service, _ []*v1.Node) error {
	return l.call(ctx, operationUpdate, service, func(context.Context) error {
		if controller := l.resync.Load(); controller != nil {
			controller.Enqueue(service)
		}
		return nil
	})
}

// EnsureLoadBalancerDeleted removes everything that was created for the Service.
func (l *loadBalancers) EnsureLoadBalancerDeleted(ctx context.Context, _ string, service *v1.Service) error {
	return l.call(ctx, operationDelete, service, func(ctx context.Context) error {
		return l.engine.Delete(ctx, service)
	})
}

// Newest implements Newest.
func (l *loadBalancers) Newest(service *v1.Service) (*v1.Service, []*v1.Node) {
	if controller := l.resync.Load(); controller != nil {
		return controller.Newest(service)
	}
	return nil, nil
}

// Endpoints implements Newest.
func (l *loadBalancers) Endpoints(service *v1.Service) (endpoints members.Endpoints, watch settings.Watch, pending bool) {
	if controller := l.resync.Load(); controller != nil {
		return controller.Endpoints(service)
	}
	return nil, settings.Unwatched, false
}

// Services implements Newest.
func (l *loadBalancers) Services(_ context.Context, namespace string) ([]*v1.Service, error) {
	if controller := l.resync.Load(); controller != nil {
		return controller.Services(namespace)
	}
	return nil, nil
}

// call runs one call of the engine, with metrics. It ends with the process, and is refused if the
// session works in a project or region other than the cluster's. Its error is short enough for
// events and logs, independently of the Service.
func (l *loadBalancers) call(ctx context.Context, operation string, service *v1.Service, do func(context.Context) error) error {
	ctx, end, err := l.begin(ctx, operation, service)
	if err != nil {
		return err
	}
	return end(do(ctx))
}

// begin begins a call. The returned end converts the error to the one to report.
func (l *loadBalancers) begin(ctx context.Context, operation string, service *v1.Service) (tied context.Context, end func(error) error, err error) {
	ctx, done, err := l.calls.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := l.scope.Check(ctx); err != nil {
		done()
		if errors.Is(err, cluster.ErrMoved) { // users of a Service need not learn the project
			err = fmt.Errorf("%w: ask the cluster's operator, who finds an event on ConfigMap %s/%s", cluster.ErrMoved, metav1.NamespaceSystem, cluster.ScopeRecord)
		}
		return nil, nil, err
	}
	logger := klog.FromContext(ctx).WithValues("service", klog.KObj(service))
	count := l.metrics.begin(operation)
	return klog.NewContext(ctx, logger), func(err error) error {
		err = message.TruncateError(err, message.MaxError)
		count(err)
		done()
		return err
	}, nil
}

// resyncEngine implements resync.Engine. Its repairs are counted and bounded like the calls of the
// service controller.
type resyncEngine struct{ *loadBalancers }

var _ resync.Engine = resyncEngine{}

// Repair implements resync.Engine.
func (e resyncEngine) Repair(ctx context.Context, service *v1.Service, exists func(context.Context) (bool, error), ended func(*v1.LoadBalancerStatus, error)) {
	ctx, end, err := e.begin(ctx, operationRepair, service)
	if err != nil {
		ended(nil, err)
		return
	}
	e.engine.StartRepair(ctx, service, exists, func(status *v1.LoadBalancerStatus, err error) {
		if err = end(err); errors.Is(err, loadbalancer.ErrNoLoadBalancer) {
			status, err = nil, resync.ErrNoLoadBalancer
		}
		ended(status, err)
	})
}

// SelectsNodes implements resync.Engine.
func (e resyncEngine) SelectsNodes(service *v1.Service) bool { return e.engine.SelectsNodes(service) }

// FollowsEndpoints implements resync.Engine.
func (e resyncEngine) FollowsEndpoints(service *v1.Service) bool {
	return e.engine.FollowsEndpoints(service)
}

// FollowsPods implements resync.Engine.
func (e resyncEngine) FollowsPods(service *v1.Service) bool { return e.engine.FollowsPods(service) }

// WeighsNodes implements resync.Engine.
func (e resyncEngine) WeighsNodes(service *v1.Service) bool { return e.engine.WeighsNodes(service) }

// Stay implements resync.Engine.
func (e resyncEngine) Stay(service *v1.Service) model.Stay { return e.engine.Stay(service) }

// IsRefused implements resync.Engine.
func (e resyncEngine) IsRefused(service *v1.Service) bool { return e.engine.IsRefused(service) }

// WatchDrift implements resync.Engine.
func (e resyncEngine) WatchDrift(ctx context.Context, drifted func(types.NamespacedName)) {
	e.engine.WatchDrift(ctx, drifted)
}

// PersistRecords implements resync.Engine.
func (e resyncEngine) PersistRecords(ctx context.Context, write func(context.Context, types.NamespacedName, types.UID, annotation.Record) error) {
	e.engine.PersistRecords(ctx, write)
}

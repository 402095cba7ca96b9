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

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/message"
)

// Newest gives a Service and the nodes that can be its members as the informers have
// them now; nil when there is no such Service any more, or nobody can tell.
type Newest = func(*v1.Service) (*v1.Service, []*v1.Node)

// LoadBalancers is the engine behind Services of type LoadBalancer. It must not
// change what it is given. *loadbalancer.Reconciler does it.
type LoadBalancers interface {
	// Ensure makes the Service's load balancer what the Service asks for. A status that
	// comes with an error is to be published all the same.
	Ensure(ctx context.Context, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error)
	// Get says whether anything of the Service's load balancer is left.
	Get(ctx context.Context, service *v1.Service) (status *v1.LoadBalancerStatus, exists bool, err error)
	// Delete removes all that was made for the Service.
	Delete(ctx context.Context, service *v1.Service) error
	keeper
	// Name is the name of the Service's load balancer in OpenStack.
	Name(service *v1.Service) string
	// Close ends what runs in the background.
	Close()
}

// loadBalancers implements cloudprovider.LoadBalancer. The cluster name that
// upstream hands over with each call is the one that the engine was made with.
type loadBalancers struct {
	engine  LoadBalancers
	calls   *calls
	cloud   *cloudCheck
	metrics *Metrics
	// upkeep works on changes of nodes; nil until it runs.
	upkeep atomic.Pointer[upkeep]
}

var _ cloudprovider.LoadBalancer = (*loadBalancers)(nil)

// GetLoadBalancer says whether anything of the load balancer exists. While it
// says true, upstream keeps the Service and calls EnsureLoadBalancerDeleted.
func (l *loadBalancers) GetLoadBalancer(ctx context.Context, _ string, service *v1.Service) (status *v1.LoadBalancerStatus, exists bool, err error) {
	err = l.call(ctx, operationGet, service, func(ctx context.Context) error {
		status, exists, err = l.engine.Get(ctx, service)
		return err
	})
	return status, exists, err
}

// GetLoadBalancerName gives the load balancer's name in OpenStack.
func (l *loadBalancers) GetLoadBalancerName(_ context.Context, _ string, service *v1.Service) string {
	return l.engine.Name(service)
}

// EnsureLoadBalancer makes the load balancer what the Service asks for. Upstream publishes
// nothing of a Service that is refused: where its address has changed all the same, that is
// done here.
func (l *loadBalancers) EnsureLoadBalancer(ctx context.Context, _ string, service *v1.Service, nodes []*v1.Node) (status *v1.LoadBalancerStatus, err error) {
	err = l.call(ctx, operationEnsure, service, func(ctx context.Context) error {
		status, err = l.engine.Ensure(ctx, service, nodes)
		return err
	})
	if upkeep := l.upkeep.Load(); err != nil && upkeep != nil {
		if failure := upkeep.publishRefused(service, status); failure != nil {
			klog.FromContext(ctx).Error(failure, "Cannot publish the address of a Service that is refused", "service", klog.KObj(service))
		}
	}
	return status, err
}

// UpdateLoadBalancer has the members brought to the nodes soon, and returns at once:
// upstream has one worker for nodes, which waits for the calls for all Services. What
// then fails is told and tried again by upkeep, with the nodes as they are when the
// Service's turn has come.
func (l *loadBalancers) UpdateLoadBalancer(ctx context.Context, _ string, service *v1.Service, _ []*v1.Node) error {
	return l.call(ctx, operationUpdate, service, func(context.Context) error {
		if upkeep := l.upkeep.Load(); upkeep != nil {
			upkeep.nodesChanged(service)
		}
		return nil
	})
}

// newest gives a Service and its nodes as they are now; nil when nobody can tell.
func (l *loadBalancers) newest(service *v1.Service) (*v1.Service, []*v1.Node) {
	if upkeep := l.upkeep.Load(); upkeep != nil {
		return upkeep.newest(service)
	}
	return nil, nil
}

// SelectsNodes implements keeper.
func (l *loadBalancers) SelectsNodes(service *v1.Service) bool { return l.engine.SelectsNodes(service) }

// Watch implements keeper.
func (l *loadBalancers) Watch(ctx context.Context, drifted func(types.NamespacedName)) {
	l.engine.Watch(ctx, drifted)
}

// WriteDown implements keeper.
func (l *loadBalancers) WriteDown(ctx context.Context, write func(context.Context, types.NamespacedName, types.UID, loadbalancer.Written) error) {
	l.engine.WriteDown(ctx, write)
}

// Repair implements keeper.
func (l *loadBalancers) Repair(ctx context.Context, service *v1.Service, nodes []*v1.Node, alive func(context.Context) (bool, error)) (status *v1.LoadBalancerStatus, err error) {
	err = l.call(ctx, operationRepair, service, func(ctx context.Context) error {
		status, err = l.engine.Repair(ctx, service, nodes, alive)
		return err
	})
	return status, err
}

// EnsureLoadBalancerDeleted removes all that was made for the Service.
func (l *loadBalancers) EnsureLoadBalancerDeleted(ctx context.Context, _ string, service *v1.Service) error {
	return l.call(ctx, operationDelete, service, func(ctx context.Context) error {
		return l.engine.Delete(ctx, service)
	})
}

// call runs one call of the engine, measured, within the life of the process and in
// the project and region that the cluster is known to be in. What it
// returns is short enough for events and logs, whatever the Service says.
func (l *loadBalancers) call(ctx context.Context, operation string, service *v1.Service, do func(context.Context) error) error {
	ctx, end, err := l.calls.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err := l.cloud.allow(ctx); errors.Is(err, ErrCloudChanged) { // a Service's users need not know which
		return fmt.Errorf("%w: ask the cluster's operator, who finds an event on ConfigMap %s/%s", ErrCloudChanged, metav1.NamespaceSystem, CloudRecordName)
	} else if err != nil {
		return err
	}
	logger := klog.FromContext(ctx).WithValues("service", klog.KObj(service))
	return l.metrics.observe(operation, func() error { return message.Error(do(klog.NewContext(ctx, logger))) })
}

package resync

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	servicehelpers "k8s.io/cloud-provider/service/helpers"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
)

// managed reports whether a Service belongs to the service controller, which adds its finalizer
// before it requests a load balancer. Load balancers of Services without it belong to another
// implementation, such as MetalLB.
func managed(service *v1.Service) bool {
	return service.DeletionTimestamp == nil && cluster.IsOurs(service) && servicehelpers.HasLBFinalizer(service)
}

// published reports whether a managed Service has an address.
func published(service *v1.Service) bool {
	return managed(service) && len(service.Status.LoadBalancer.Ingress) > 0
}

// Enqueue has a Service synced soon, with the nodes of that time. It ignores a Service that is
// gone, even if another one has its name, and one that is not managed.
func (c *Controller) Enqueue(service *v1.Service) {
	known, err := c.services.Services(service.Namespace).Get(service.Name)
	if err == nil && known.UID == service.UID && managed(known) {
		c.queue.AddAfter(cluster.Key(service), batchPeriod)
	}
}

// EnqueueAll has every managed Service synced soon, after a change that affects all of them. It
// checks at that time which Services are managed: during the first Ensure of a Service, its
// finalizer may not have reached the informer yet.
func (c *Controller) EnqueueAll() {
	services, err := c.services.List(labels.Everything())
	if err != nil {
		return // a lister of an informer has no errors
	}
	for _, service := range services {
		if service.Spec.Type == v1.ServiceTypeLoadBalancer {
			c.queue.AddAfter(cluster.Key(service), batchPeriod)
		}
	}
}

// enqueueWhere enqueues the managed Services that match.
func (c *Controller) enqueueWhere(matches func(*v1.Service) bool, after time.Duration) {
	services, err := c.services.List(labels.Everything())
	if err != nil {
		return // a lister of an informer has no errors
	}
	for _, service := range services {
		if managed(service) && matches(service) {
			c.queue.AddAfter(cluster.Key(service), after)
		}
	}
}

// PublishRefused publishes the address that accompanies the error of a refused Service, because the
// service controller does not. It does nothing for a Service without an address.
func (c *Controller) PublishRefused(service *v1.Service, status *v1.LoadBalancerStatus) error {
	if status == nil || len(status.Ingress) == 0 || !published(service) {
		return nil
	}
	return c.api.publish(service, status)
}

// Newest returns the informers' present version of a Service, and the nodes in the order of their
// names; nil if that Service no longer exists. Neither may be changed. Between two changes of nodes
// the list is the same slice.
func (c *Controller) Newest(service *v1.Service) (*v1.Service, []*v1.Node) {
	now, err := c.services.Services(service.Namespace).Get(service.Name)
	if err != nil || now.UID != service.UID {
		return nil, nil
	}
	return now, c.Nodes()
}

// Services returns the informer's Services of a namespace, "" for all, nil until it has them. They must
// not be changed.
func (c *Controller) Services(namespace string) ([]*v1.Service, error) {
	if !c.synced() {
		return nil, nil
	}
	found, err := c.services.Services(namespace).List(labels.Everything())
	return append([]*v1.Service{}, found...), err
}

// ReadServices returns the Services of a namespace, read from the API server.
func ReadServices(ctx context.Context, client kubernetes.Interface, namespace string) ([]*v1.Service, error) {
	found, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	all := make([]*v1.Service, len(found.Items))
	for i := range found.Items {
		all[i] = &found.Items[i]
	}
	return all, nil
}

// Nodes returns all nodes of the informer in the order of their names, never nil. Package members
// decides which of them can be members. The list must not be changed.
func (c *Controller) Nodes() []*v1.Node {
	return c.nodeList.of(c.nodeVersion(), func() []*v1.Node {
		nodes, _ := c.nodes.List(labels.Everything()) // a lister of an informer has no errors
		return nodes
	})
}

// Live returns the UIDs of all Services, or nil until the informers have them.
func (c *Controller) Live() map[types.UID]bool {
	if !c.synced() {
		return nil
	}
	services, err := c.services.List(labels.Everything())
	if err != nil {
		return nil // a lister of an informer has no errors
	}
	live := make(map[types.UID]bool, len(services))
	for _, service := range services {
		live[service.UID] = true
	}
	return live
}

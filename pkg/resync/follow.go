package resync

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// Endpoints returns the endpoints of a Service, and whether they are watched. Pending is set for some
// seconds after the start, until they are known. If they are watched and cannot be read, there are
// none.
func (c *Controller) Endpoints(service *v1.Service) (endpoints members.Endpoints, watch settings.Watch, pending bool) {
	if c.endpoints == nil {
		return nil, settings.Unwatched, false
	}
	endpoints, watch, pending = c.endpoints.of(cluster.Key(service))
	return endpoints, watch, pending || c.gates.Pending()
}

// endpointsChanged enqueues a Service after its endpoints got to other nodes or, if pods are its
// members, after these have changed:
//
//	a node has no endpoint any more, or a pod gets no traffic    promptBatchPeriod
//	a node has an endpoint now or gets another weight, or a      periodAfter the last change
//	pod serves
//	any, of a Service that is not managed yet                    batchPeriod: during its first Ensure, which may
//	                                                             not see the change, the informer may lack its finalizer
func (c *Controller) endpointsChanged(key types.NamespacedName, changes endpointChanges) {
	service, err := c.services.Services(key.Namespace).Get(key.Name)
	if err != nil || service.Spec.Type != v1.ServiceTypeLoadBalancer || !c.engine.FollowsEndpoints(service) {
		return
	}
	change := changes.nodes
	switch {
	case c.engine.FollowsPods(service):
		change = changes.pods
	case c.engine.WeighsNodes(service):
		change = changes.weighed
	}
	switch {
	case !change.Members:
	case managed(service):
		c.queue.AddAfter(key, periodAfter(change.quiet, change.Lost))
	default:
		c.queue.AddAfter(key, batchPeriod)
	}
}

// periodAfter returns for how long changes are collected that begin with one now, some time after
// the last one: one thing that comes need not wait for others, each of many would cost every load
// balancer a cycle. Traffic to what goes is lost.
func periodAfter(last time.Duration, goes bool) time.Duration {
	if goes || last > quietPeriod {
		return promptBatchPeriod
	}
	return batchPeriod
}

package resync

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/gates"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// useGates has the readiness gates of pods opened.
func (c *Controller) useGates(options Options) {
	c.gates = gates.New(gates.Options{
		Client: options.Slices, Services: c.services, Holds: c.holds, Clock: c.clock,
		Change: c.endpoints.recount,
		Sync:   func(service types.NamespacedName) { c.queue.AddAfter(service, batchPeriod) },
	})
	c.endpoints.ready = c.gates.Ready
}

// holds reports whether pods wait for the load balancer of a Service: it exists, and may follow them.
func (c *Controller) holds(service *v1.Service) bool {
	if !published(service) || !c.engine.FollowsEndpoints(service) {
		return false
	}
	_, watch, _ := c.endpoints.of(cluster.Key(service))
	return watch == settings.Watched
}

// following is called when a round of a Service begins, and the result at its end.
func (c *Controller) following(service types.NamespacedName) (ended func(error)) {
	if c.gates == nil {
		return func(error) {}
	}
	endpoints, _, _ := c.endpoints.of(service)
	return c.gates.Begin(service, endpoints.Has)
}

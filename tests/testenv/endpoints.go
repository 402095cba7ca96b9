package testenv

import (
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// endpoints are the nodes with a ready endpoint of all ports of a Service, in each of its IP families.
type endpoints struct {
	nodes   []string
	changes int64
}

// SetEndpoints sets the nodes with an endpoint of a Service, until the Service is gone.
func (c *Cluster) SetEndpoints(key Key, nodes ...string) {
	c.change(func() { c.endpoints[key] = endpoints{slices.Clone(nodes), c.endpoints[key].changes + 1} })
}

// ForgetEndpoints has the endpoints of a Service not watched any more.
func (c *Cluster) ForgetEndpoints(key Key) {
	c.change(func() { delete(c.endpoints, key) })
}

// ForbidEndpoints sets whether the controller may not watch endpoints.
func (c *Cluster) ForbidEndpoints(forbidden bool) {
	c.change(func() {
		c.endpointsForbidden = forbidden
		for key, known := range c.endpoints {
			known.changes++
			c.endpoints[key] = known
		}
	})
}

// Endpoints returns the nodes with an endpoint of a Service, and false if its endpoints are not
// watched.
func (c *Cluster) Endpoints(key Key) (nodes []string, watched bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, watched := c.endpoints[key]
	return slices.Clone(known.nodes), watched
}

// endpointChanges returns a number that is another one after each change of a Service's endpoints.
func (c *Cluster) endpointChanges(key Key) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endpoints[key].changes
}

// drop removes a Service with its endpoints. The caller holds the lock.
func (c *Cluster) drop(key Key) {
	delete(c.services, key)
	delete(c.endpoints, key)
}

// endpointsOf implements goal.Endpoints.
func (c *Cluster) endpointsOf(svc *v1.Service) (members.Endpoints, settings.Watch, bool) {
	nodes, watched := c.Endpoints(KeyOf(svc))
	c.mu.Lock()
	forbidden := c.endpointsForbidden
	c.mu.Unlock()
	switch {
	case !watched:
		return nil, settings.Unwatched, false
	case forbidden:
		return nil, settings.Forbidden, false
	}
	families := svc.Spec.IPFamilies
	if len(families) == 0 {
		families = []v1.IPFamily{v1.IPv4Protocol}
	}
	var all members.Endpoints
	for _, family := range families {
		slice := members.Slice{Family: family}
		for _, port := range svc.Spec.Ports {
			slice.Ports, slice.Numbers = append(slice.Ports, port.Name), append(slice.Numbers, TargetPort(port))
		}
		for _, node := range nodes {
			slice.Endpoints = append(slice.Endpoints, members.Endpoint{Node: node, Address: c.addressOf(node, family), Ready: true, Serving: true})
		}
		all = append(all, slice)
	}
	return all, settings.Watched, false
}

// TargetPort returns the number at which the endpoints serve a port of a Service.
func TargetPort(port v1.ServicePort) int { return 8000 + int(port.Port) }

// addressOf returns the address of the endpoints on a node, which are in its network (hostNetwork). It is
// invalid if there is no such node or address.
func (c *Cluster) addressOf(name string, family v1.IPFamily) netip.Addr {
	if node := c.Node(name); node != nil {
		for _, a := range node.Status.Addresses {
			if address, err := netip.ParseAddr(a.Address); err == nil && a.Type == v1.NodeInternalIP && settings.InFamily(address, family) {
				return address
			}
		}
	}
	return netip.Addr{}
}

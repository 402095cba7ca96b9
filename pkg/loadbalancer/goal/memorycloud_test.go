package goal

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// memoryCloud is an OpenStack in memory. It answers the requests that stages send, and fails those that it shall.
type memoryCloud struct {
	project.Octavia // any other request panics
	lookup.Neutron

	mu          sync.Mutex
	api         model.Version
	balancers   []octavia.LoadBalancer
	listeners   map[string][]octavia.Listener // by load balancer
	pools       map[string][]octavia.Pool
	members     map[string][]octavia.Member // by pool
	tree        octavia.StatusTree
	floatingIPs []floatingips.FloatingIP
	networks    []neutron.Network
	subnets     []neutron.Subnet
	ports       []neutron.Port
	// routes are those of the router of the subnet; nil: there is none.
	routes    []neutron.ExtraRoute
	providers []string
	// secrets are the IDs of those that exist.
	secrets []string
	// task is the plan of the security groups of nodes, asked its last request.
	task  securitygroup.Plan
	asked securitygroup.Request
	// sent are the requests so far; that at index failAt fails, and those in fails.
	sent   []string
	failAt int
	fails  map[string]error
}

// send records a request, and returns its error.
func (c *memoryCloud) send(request string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, request)
	if len(c.sent) == c.failAt+1 {
		return fmt.Errorf("%s: %w", request, errFailed)
	}
	return c.fails[request]
}

// notFound is the answer to a request for an object that does not exist.
func notFound() error {
	return gophercloud.ErrUnexpectedResponseCode{Method: http.MethodGet, Actual: http.StatusNotFound, ResponseHeader: http.Header{"X-Openstack-Request-Id": {"req-1"}}}
}

// one returns the object of an ID, or the answer that there is none.
func one[T any](all []T, id string, of func(T) string, err error) (*T, error) {
	at := slices.IndexFunc(all, func(object T) bool { return of(object) == id })
	switch {
	case err != nil:
		return nil, err
	case at < 0:
		return nil, notFound()
	}
	found := all[at]
	return &found, nil
}

func (c *memoryCloud) version(context.Context) (model.Version, error) {
	return c.api, c.send("version")
}

func (c *memoryCloud) LoadBalancers(_ context.Context, filter octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	err := c.send("load balancers")
	return slices.DeleteFunc(slices.Clone(c.balancers), func(lb octavia.LoadBalancer) bool {
		lacks := func(tag string) bool { return !slices.Contains(lb.Tags, tag) }
		return slices.ContainsFunc(filter.Tags, lacks) || filter.VIPAddress != "" && filter.VIPAddress != lb.VIPAddress
	}), err
}

func (c *memoryCloud) LoadBalancer(_ context.Context, id string) (*octavia.LoadBalancer, error) {
	return one(c.balancers, id, func(lb octavia.LoadBalancer) string { return lb.ID }, c.send("load balancer"))
}

func (c *memoryCloud) LoadBalancerState(ctx context.Context, id string) (octavia.LoadBalancerState, error) {
	lb, err := c.LoadBalancer(ctx, id)
	if err != nil {
		return octavia.LoadBalancerState{}, err
	}
	return octavia.LoadBalancerState{ID: id, ProvisioningStatus: lb.ProvisioningStatus, UpdatedAt: lb.UpdatedAt.Time}, nil
}

func (c *memoryCloud) LoadBalancerStates(context.Context, string) ([]octavia.LoadBalancerState, error) {
	panic("one load balancer is not listed")
}

func (c *memoryCloud) StatusTree(context.Context, string) (*octavia.StatusTree, error) {
	return &c.tree, c.send("status tree")
}

func (c *memoryCloud) Listeners(_ context.Context, id string) ([]octavia.Listener, error) {
	return c.listeners[id], c.send("listeners")
}

func (c *memoryCloud) AllListeners(context.Context) ([]octavia.Listener, error) {
	var all []octavia.Listener
	for id, on := range c.listeners {
		for _, l := range on {
			l.LoadBalancers = []octavia.ObjectID{{ID: id}}
			all = append(all, l)
		}
	}
	return all, c.send("all listeners")
}

func (c *memoryCloud) AllMonitors(context.Context) ([]octavia.HealthMonitor, error) {
	return nil, c.send("all monitors")
}

func (c *memoryCloud) ListenersTagged(_ context.Context, tags ...string) ([]octavia.Listener, error) {
	all, err := c.AllListeners(context.Background())
	return slices.DeleteFunc(all, func(l octavia.Listener) bool { return !slices.Contains(l.Tags, tags[0]) }), err
}

func (c *memoryCloud) Pools(_ context.Context, id string) ([]octavia.Pool, error) {
	return c.pools[id], c.send("pools")
}

func (c *memoryCloud) PoolsTagged(context.Context, ...string) ([]octavia.Pool, error) {
	return nil, c.send("pools by tag")
}

func (c *memoryCloud) Members(_ context.Context, pool string) ([]octavia.Member, error) {
	return c.members[pool], c.send("members")
}

func (c *memoryCloud) FloatingIPs(_ context.Context, filter neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	err := c.send("floating IPs")
	return slices.DeleteFunc(slices.Clone(c.floatingIPs), func(fip floatingips.FloatingIP) bool {
		return filter.PortID != "" && fip.PortID != filter.PortID || filter.Address != "" && fip.FloatingIP != filter.Address ||
			filter.Description != "" && fip.Description != filter.Description || len(filter.IDs) > 0 && !slices.Contains(filter.IDs, fip.ID) ||
			len(filter.PortIDs) > 0 && !slices.Contains(filter.PortIDs, fip.PortID)
	}), err
}

func (c *memoryCloud) Network(_ context.Context, id string) (*neutron.Network, error) {
	return one(c.networks, id, func(n neutron.Network) string { return n.ID }, c.send("network"))
}

func (c *memoryCloud) OwnsNetwork(*neutron.Network) bool { return true }

func (c *memoryCloud) ExternalNetworks(context.Context) ([]neutron.Network, error) {
	return slices.DeleteFunc(slices.Clone(c.networks), func(n neutron.Network) bool { return !n.External }), c.send("external networks")
}

func (c *memoryCloud) Subnet(_ context.Context, id string) (*neutron.Subnet, error) {
	return one(c.subnets, id, func(s neutron.Subnet) string { return s.ID }, c.send("subnet"))
}

func (c *memoryCloud) Subnets(_ context.Context, network string) ([]neutron.Subnet, error) {
	return slices.DeleteFunc(slices.Clone(c.subnets), func(s neutron.Subnet) bool { return s.NetworkID != network }), c.send("subnets")
}

func (c *memoryCloud) Port(_ context.Context, id string) (*neutron.Port, error) {
	return one(c.ports, id, func(p neutron.Port) string { return p.ID }, c.send("port"))
}

func (c *memoryCloud) PortsOfDevices(_ context.Context, devices []string) ([]neutron.Port, error) {
	return slices.DeleteFunc(slices.Clone(c.ports), func(p neutron.Port) bool { return !slices.Contains(devices, p.DeviceID) }), c.send("ports of servers")
}

func (c *memoryCloud) PortsAt(ctx context.Context, address string) ([]neutron.Port, error) {
	return c.PortsAtAddresses(ctx, []string{address})
}

func (c *memoryCloud) PortsAtAddresses(_ context.Context, addresses []string) ([]neutron.Port, error) {
	return slices.DeleteFunc(slices.Clone(c.ports), func(p neutron.Port) bool {
		return !slices.ContainsFunc(p.FixedIPs, func(ip neutron.FixedIP) bool { return slices.Contains(addresses, ip.IPAddress) })
	}), c.send("ports at addresses")
}

func (c *memoryCloud) RouterInterfaces(context.Context, string, string) ([]neutron.Port, error) {
	if c.routes == nil {
		return nil, c.send("router interfaces")
	}
	return []neutron.Port{{ID: "gateway", DeviceID: "router", FixedIPs: []neutron.FixedIP{{SubnetID: "subnet", IPAddress: "10.0.0.254"}}}}, c.send("router interfaces")
}

func (c *memoryCloud) Routers(context.Context, []string) ([]neutron.Router, error) {
	return []neutron.Router{{ID: "router", Routes: c.routes}}, c.send("routers")
}

func (c *memoryCloud) RouterPorts(context.Context, string) ([]neutron.RoutedPort, error) {
	return []neutron.RoutedPort{{ID: "gateway", FixedIPs: []neutron.FixedIP{{SubnetID: "subnet", IPAddress: "10.0.0.254"}}}}, c.send("router ports")
}

func (c *memoryCloud) PortsWithAddresses(context.Context, []string) ([]neutron.RoutedPort, error) {
	var all []neutron.RoutedPort
	for _, port := range c.ports {
		all = append(all, neutron.RoutedPort{ID: port.ID, FixedIPs: port.FixedIPs, PortSecurity: new(false)})
	}
	return all, c.send("next hops")
}

func (c *memoryCloud) Quotas(context.Context) (map[string]neutron.Quota, error) {
	return map[string]neutron.Quota{"floatingip": {Limit: 5, Used: 5}}, c.send("quotas of Neutron")
}

func (c *memoryCloud) QuotaLimits(context.Context) (map[string]int, error) {
	return map[string]int{"member": 7}, c.send("quotas of Octavia")
}

func (c *memoryCloud) Providers(context.Context) ([]string, error) {
	return c.providers, c.send("providers")
}

func (c *memoryCloud) Flavors(context.Context) ([]octavia.Flavor, error) {
	return nil, c.send("flavors")
}

func (c *memoryCloud) AvailabilityZones(context.Context) ([]octavia.AvailabilityZone, error) {
	return nil, c.send("availability zones")
}

// KeyManager implements barbican.Session.
func (c *memoryCloud) KeyManager(context.Context) (*gophercloud.ServiceClient, error) {
	client := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: c}}
	return &gophercloud.ServiceClient{ProviderClient: client, Endpoint: "http://barbican.example.org/v1/"}, c.send("secret")
}

// RoundTrip implements http.RoundTripper, for requests to Barbican.
func (c *memoryCloud) RoundTrip(request *http.Request) (*http.Response, error) {
	status, ref := http.StatusOK, request.URL.String()
	if !slices.Contains(c.secrets, path.Base(ref)) {
		status = http.StatusNotFound
	}
	body := io.NopCloser(strings.NewReader(fmt.Sprintf(`{"secret_ref":%q}`, ref)))
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}, "X-Openstack-Request-Id": {"req-1"}}, Body: body, Request: request}, nil
}

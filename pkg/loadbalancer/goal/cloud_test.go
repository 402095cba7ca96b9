package goal

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
)

// cloud is an OpenStack in memory. The nodes are in the subnet subnet, 10.0.0.0/24, of the network network, which has
// subnet6, fd00::/64, as well. The router r1 is the gateway of subnet, of the subnet vips, 10.77.0.0/24, and of old-vips,
// 10.78.0.0/24. It leads to the external network public, which has no subnet that the project sees.
type cloud struct {
	version    model.Version
	balancers  []octavia.LoadBalancer
	listeners  []octavia.Listener
	pools      map[string][]octavia.Pool   // by load balancer
	members    map[string][]octavia.Member // by pool
	tree       octavia.StatusTree          // of each load balancer
	providers  []string
	secrets    []string // the IDs of those that exist
	networks   []neutron.Network
	subnets    []neutron.Subnet
	ports      []neutron.Port
	barred     bool // no port admits packets to other addresses
	interfaces []neutron.FixedIP
	routes     []neutron.ExtraRoute
	vips       []neutron.VIPPort
	// forwarded are the floating IPs with port forwardings as lists have them, forwardings those of each by its ID.
	floatingIPs []floatingips.FloatingIP
	forwarded   []neutron.ForwardedIP
	forwardings map[string][]neutron.Forwarding
	unforwards  bool // Neutron has no port forwardings

	// planned are the requests to plan the security groups of nodes, task is the answer. groupsLeft is set if some exist.
	planned    []securitygroup.Request
	task       *securitygroup.Task
	groupsLeft bool

	mu sync.Mutex
	// sent are the requests so far: a word and parameters, and a number if the same was sent before. Those in fails
	// fail, which has requests, or words for all that begin with them.
	sent  []string
	fails map[string]error
}

func newCloud() *cloud {
	return &cloud{
		version: model.Version{Major: 2, Minor: 30}, providers: []string{"amphora", "ovn"}, task: &securitygroup.Task{}, fails: map[string]error{},
		pools: map[string][]octavia.Pool{}, members: map[string][]octavia.Member{}, forwardings: map[string][]neutron.Forwarding{},
		networks: []neutron.Network{{ID: "network", Subnets: []string{"subnet", "subnet6"}}, {ID: "vip-net"}, {ID: "public", External: true, Subnets: []string{"subnet-of-public"}}},
		subnets: []neutron.Subnet{
			{ID: "subnet", NetworkID: "network", IPVersion: 4, CIDR: "10.0.0.0/24", GatewayIP: "10.0.0.254"},
			{ID: "subnet6", NetworkID: "network", IPVersion: 6, CIDR: "fd00::/64"},
			{ID: "vips", NetworkID: "vip-net", IPVersion: 4, CIDR: "10.77.0.0/24", GatewayIP: "10.77.0.1"},
			{ID: "old-vips", NetworkID: "old-net", IPVersion: 4, CIDR: "10.78.0.0/24", GatewayIP: "10.78.0.1"},
		},
		interfaces: []neutron.FixedIP{{SubnetID: "subnet", IPAddress: "10.0.0.254"}, {SubnetID: "vips", IPAddress: "10.77.0.1"}, {SubnetID: "old-vips", IPAddress: "10.78.0.1"}},
		ports:      []neutron.Port{nodePort("10.0.0.1", "fd00::1"), nodePort("10.0.0.2", "fd00::2"), portAt("free-port", "10.0.0.90")},
	}
}

// portAt returns a port of the network of the nodes.
func portAt(id string, addresses ...string) neutron.Port {
	port := neutron.Port{ID: id, NetworkID: "network"}
	for i, address := range addresses {
		port.FixedIPs = append(port.FixedIPs, neutron.FixedIP{SubnetID: []string{"subnet", "subnet6"}[i], IPAddress: address})
	}
	return port
}

// nodePort returns the port of a node.
func nodePort(addresses ...string) neutron.Port {
	port := portAt("port-"+addresses[0], addresses...)
	port.DeviceID = serverAt(addresses[0])
	return port
}

// serverAt returns the ID of the server of a node.
func serverAt(address string) string {
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", netip.MustParseAddr(address).As4()[3])
}

// send records a request, and returns its error.
func (c *cloud) send(word string, parameters ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	once := strings.TrimSpace(word + " " + strings.Join(parameters, " "))
	text := once
	for n := 2; slices.Contains(c.sent, text); n++ {
		text = fmt.Sprintf("%s #%d", once, n)
	}
	c.sent = append(c.sent, text)
	return cmp.Or(c.fails[word], c.fails[text])
}

// count returns how often a request was sent, given by its first words.
func (c *cloud) count(words string) int {
	return len(where(c.sent, func(text string) bool { return text == words || strings.HasPrefix(text, words+" ") }))
}

// has reports whether a request was sent.
func (c *cloud) has(words string) bool { return c.count(words) > 0 }

// where returns those that fit.
func where[T any](all []T, fits func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !fits(one) })
}

// answer returns nothing with an error, as a client does.
func answer[T any](value T, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return value, nil
}

// one is the answer to a request for one object.
func one[T any](all []T, fits func(T) bool, err error) (*T, error) {
	found := where(all, fits)
	if err == nil && len(found) == 0 {
		err = byOctavia(http.StatusNotFound, "not found")
	}
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

// clients are those of Octavia and Neutron.
type clients interface {
	project.Octavia
	lookup.Octavia
	lookup.Neutron
	router.Neutron
	router.ForwardingNeutron
	routes.Network
}

// cloudAPI answers the requests of goals, which only read. Any other request panics.
type cloudAPI struct {
	clients
	*cloud
}

func (c cloudAPI) octaviaVersion(context.Context) (model.Version, error) {
	return answer(c.version, c.send("version"))
}

func (c cloudAPI) LoadBalancers(_ context.Context, filter octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	return answer(where(c.balancers, func(lb octavia.LoadBalancer) bool {
		tagged := func(tag string) bool { return slices.Contains(lb.Tags, tag) }
		return (filter.ID == "" || lb.ID == filter.ID) && (filter.Description == "" || lb.Description == filter.Description) &&
			(filter.VIPPortID == "" || lb.VIPPortID == filter.VIPPortID) && (filter.VIPAddress == "" || lb.VIPAddress == filter.VIPAddress) &&
			len(where(filter.Tags, tagged)) == len(filter.Tags) && (len(filter.AnyTag) == 0 || slices.ContainsFunc(filter.AnyTag, tagged))
	}), c.send("load-balancers", fmt.Sprint(filter.ID, filter.VIPPortID, filter.VIPAddress, filter.Tags, filter.AnyTag)))
}

func (c cloudAPI) LoadBalancer(_ context.Context, id string) (*octavia.LoadBalancer, error) {
	return one(c.balancers, func(lb octavia.LoadBalancer) bool { return lb.ID == id }, c.send("load-balancer", id))
}

func (c cloudAPI) LoadBalancerState(_ context.Context, id string) (octavia.LoadBalancerState, error) {
	lb, err := one(c.balancers, func(lb octavia.LoadBalancer) bool { return lb.ID == id }, c.send("load-balancer-state", id))
	if err != nil {
		return octavia.LoadBalancerState{}, err
	}
	return octavia.LoadBalancerState{ID: id, ProvisioningStatus: lb.ProvisioningStatus, UpdatedAt: lb.UpdatedAt.Time}, nil
}

func (c cloudAPI) LoadBalancerStates(context.Context, string) ([]octavia.LoadBalancerState, error) {
	panic("a list for the state of one load balancer")
}

func (c cloudAPI) StatusTree(_ context.Context, id string) (*octavia.StatusTree, error) {
	return answer(&c.tree, c.send("tree", id))
}

func (c cloudAPI) Listeners(_ context.Context, id string) ([]octavia.Listener, error) {
	return answer(where(c.listeners, func(l octavia.Listener) bool { return slices.Contains(l.LoadBalancers, octavia.ObjectID{ID: id}) }), c.send("listeners", id))
}

func (c cloudAPI) AllListeners(context.Context) ([]octavia.Listener, error) {
	return answer(c.listeners, c.send("all-listeners"))
}

func (c cloudAPI) AllMonitors(context.Context) ([]octavia.HealthMonitor, error) {
	return nil, c.send("all-monitors")
}

func (c cloudAPI) ListenersTagged(_ context.Context, tags ...string) ([]octavia.Listener, error) {
	return answer(where(c.listeners, func(l octavia.Listener) bool { return slices.Contains(l.Tags, tags[0]) }), c.send("tagged-listeners"))
}

func (c cloudAPI) Pools(_ context.Context, id string) ([]octavia.Pool, error) {
	return answer(c.pools[id], c.send("pools", id))
}

func (c cloudAPI) PoolsTagged(context.Context, ...string) ([]octavia.Pool, error) {
	return nil, c.send("tagged-pools")
}

func (c cloudAPI) Members(_ context.Context, pool string) ([]octavia.Member, error) {
	return answer(c.members[pool], c.send("members", pool))
}

func (c cloudAPI) Providers(context.Context) ([]string, error) {
	return answer(c.providers, c.send("providers"))
}

func (c cloudAPI) Flavors(context.Context) ([]octavia.Flavor, error) { return nil, c.send("flavors") }

func (c cloudAPI) AvailabilityZones(context.Context) ([]octavia.AvailabilityZone, error) {
	return nil, c.send("availability-zones")
}

func (c cloudAPI) QuotaLimits(context.Context) (map[string]int, error) {
	return answer(map[string]int{"member": 7}, c.send("octavia-quotas"))
}

func (c cloudAPI) Quotas(context.Context) (map[string]neutron.Quota, error) {
	return answer(map[string]neutron.Quota{"floatingip": {Limit: 5, Used: 5}}, c.send("neutron-quotas"))
}

func (c cloudAPI) FloatingIPs(_ context.Context, filter neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	return answer(where(c.floatingIPs, func(fip floatingips.FloatingIP) bool {
		return (filter.PortID == "" || fip.PortID == filter.PortID) && (filter.Address == "" || fip.FloatingIP == filter.Address) &&
			(filter.Description == "" || fip.Description == filter.Description) && (len(filter.IDs) == 0 || slices.Contains(filter.IDs, fip.ID)) &&
			(len(filter.PortIDs) == 0 || slices.Contains(filter.PortIDs, fip.PortID))
	}), c.send("floating-ips", strings.TrimSpace(fmt.Sprint(filter))))
}

func (c cloudAPI) FloatingIPsOn(_ context.Context, ports []string) ([]floatingips.FloatingIP, error) {
	return answer(where(c.floatingIPs, func(fip floatingips.FloatingIP) bool { return slices.Contains(ports, fip.PortID) }), c.send("floating-ips-on"))
}

func (c cloudAPI) ForwardedIPs(context.Context) ([]neutron.ForwardedIP, error) {
	return answer(slices.Clone(c.forwarded), c.send("forwarded-ips"))
}

func (c cloudAPI) HasForwardings(context.Context) (bool, error) {
	return answer(!c.unforwards, c.send("has-forwardings"))
}

func (c cloudAPI) Forwardings(_ context.Context, id string) ([]neutron.Forwarding, error) {
	return answer(slices.Clone(c.forwardings[id]), c.send("forwardings", id))
}

func (c cloudAPI) Network(_ context.Context, id string) (*neutron.Network, error) {
	return one(c.networks, func(n neutron.Network) bool { return n.ID == id }, c.send("network", id))
}

func (c cloudAPI) OwnsNetwork(*neutron.Network) bool { return true }

func (c cloudAPI) ExternalNetworks(context.Context) ([]neutron.Network, error) {
	return answer(where(c.networks, func(n neutron.Network) bool { return n.External }), c.send("external-networks"))
}

func (c cloudAPI) Subnet(_ context.Context, id string) (*neutron.Subnet, error) {
	return one(c.subnets, func(s neutron.Subnet) bool { return s.ID == id }, c.send("subnet", id))
}

func (c cloudAPI) Subnets(_ context.Context, network string) ([]neutron.Subnet, error) {
	return answer(where(c.subnets, func(s neutron.Subnet) bool { return s.NetworkID == network }), c.send("subnets", network))
}

func (c cloudAPI) Port(_ context.Context, id string) (*neutron.Port, error) {
	return one(c.ports, func(p neutron.Port) bool { return p.ID == id }, c.send("port", id))
}

func (c cloudAPI) PortsOfDevices(_ context.Context, servers []string) ([]neutron.Port, error) {
	return answer(where(c.ports, func(p neutron.Port) bool { return slices.Contains(servers, p.DeviceID) }), c.send("ports-of", servers...))
}

func (c cloudAPI) PortsAt(ctx context.Context, address string) ([]neutron.Port, error) {
	return c.PortsAtAddresses(ctx, []string{address})
}

func (c cloudAPI) PortsAtAddresses(_ context.Context, addresses []string) ([]neutron.Port, error) {
	return answer(c.portsAt(addresses), c.send("ports-at", addresses...))
}

func (c *cloud) portsAt(addresses []string) []neutron.Port {
	return where(c.ports, func(p neutron.Port) bool {
		return slices.ContainsFunc(p.FixedIPs, func(ip neutron.FixedIP) bool { return slices.Contains(addresses, ip.IPAddress) })
	})
}

func (c cloudAPI) PortsWithAddresses(_ context.Context, addresses []string) ([]neutron.RoutedPort, error) {
	var all []neutron.RoutedPort
	for _, port := range c.portsAt(addresses) {
		all = append(all, neutron.RoutedPort{ID: port.ID, FixedIPs: port.FixedIPs, PortSecurity: &c.barred, AddressPairs: new([]neutron.AddressPair)})
	}
	return answer(all, c.send("next-hops", addresses...))
}

func (c cloudAPI) VIPPorts(_ context.Context, tag string) ([]neutron.VIPPort, error) {
	return answer(where(c.vips, func(p neutron.VIPPort) bool { return slices.Contains(p.Tags, tag) }), c.send("vips", tag))
}

func (c cloudAPI) VIPPortsDescribed(_ context.Context, description string) ([]neutron.VIPPort, error) {
	return answer(where(c.vips, func(p neutron.VIPPort) bool { return p.Description == description }), c.send("described-vips"))
}

func (c cloudAPI) RouterInterfaces(_ context.Context, _, subnet string) ([]neutron.Port, error) {
	var all []neutron.Port
	for _, ip := range where(c.interfaces, func(ip neutron.FixedIP) bool { return ip.SubnetID == subnet }) {
		all = append(all, neutron.Port{ID: "interface", DeviceID: "r1", FixedIPs: []neutron.FixedIP{ip}})
	}
	return answer(all, c.send("router-interfaces", subnet))
}

func (c cloudAPI) RouterPorts(_ context.Context, id string) ([]neutron.RoutedPort, error) {
	return answer([]neutron.RoutedPort{{ID: "interface", FixedIPs: c.interfaces}}, c.send("router-ports", id))
}

func (c cloudAPI) Routers(context.Context, []string) ([]neutron.Router, error) {
	return answer([]neutron.Router{{ID: "r1", Gateway: &neutron.RouterGateway{NetworkID: "public"}, Routes: c.routes}}, c.send("routers"))
}

func (c cloudAPI) Router(_ context.Context, id string) (*neutron.Router, error) {
	return answer(&neutron.Router{ID: id, Routes: slices.Clone(c.routes)}, c.send("router", id))
}

// KeyManager implements barbican.Session.
func (c cloudAPI) KeyManager(context.Context) (*gophercloud.ServiceClient, error) {
	client := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: c}}
	return &gophercloud.ServiceClient{ProviderClient: client, Endpoint: "http://barbican.example.org/v1/"}, c.send("secret")
}

// RoundTrip implements http.RoundTripper, for requests to Barbican.
func (c cloudAPI) RoundTrip(request *http.Request) (*http.Response, error) {
	status, ref := http.StatusOK, request.URL.String()
	if !slices.Contains(c.secrets, path.Base(ref)) {
		status = http.StatusNotFound
	}
	body := io.NopCloser(strings.NewReader(fmt.Sprintf(`{"secret_ref":%q}`, ref)))
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}, "X-Openstack-Request-Id": {"req-1"}}, Body: body, Request: request}, nil
}

// applier applies plans to the model. It chooses the addresses of new objects.
type applier struct {
	*apply.Rehearsal
	cloud *cloud
}

func (a applier) Continue(ctx context.Context, run *apply.Run) (model.Observed, error) {
	if err := a.cloud.send("apply"); err != nil {
		return model.Observed{}, err
	}
	observed, err := a.Rehearsal.Continue(ctx, run)
	if lb := observed.LoadBalancer; lb != nil && lb.VIP.Address == "" {
		lb.VIP.Address, lb.VIP.SubnetID = "10.0.0.99", cmp.Or(lb.VIP.SubnetID, "subnet")
	}
	if lb := observed.LoadBalancer; lb != nil && lb.FloatingIP != nil && lb.FloatingIP.Address == "" {
		lb.FloatingIP.Address = "203.0.113.99"
	}
	return observed, err
}

// nodeGroups are the security groups of nodes.
type nodeGroups struct{ *cloud }

func (g nodeGroups) Plan(_ context.Context, request securitygroup.Request) (*securitygroup.Task, error) {
	g.planned = append(g.planned, request)
	return answer(g.task, g.send("groups-plan"))
}

func (g nodeGroups) Open(context.Context, *securitygroup.Task) error  { return g.send("groups-open") }
func (g nodeGroups) Close(context.Context, *securitygroup.Task) error { return g.send("groups-close") }
func (g nodeGroups) Remove(context.Context, ownership.Identity) error { return g.send("groups-remove") }

func (g nodeGroups) Exists(context.Context, ownership.Identity) (bool, error) {
	return answer(g.groupsLeft, g.send("groups-exist"))
}

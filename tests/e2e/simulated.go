package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/cluster"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/netns"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/datapath/attach"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// monitorSpeed makes the monitors' five seconds a quarter of one.
const monitorSpeed = 20

// region is the only one, of the simulator and of the local OpenStack.
const region = "RegionOne"

// simulated is the simulator as a Cloud. Everybody is on loopback.
type simulated struct {
	cloud    *simulator.Cloud
	api      *API
	network  cluster.Network
	traffic  *datapath.Plane
	vips     string // ID of the network
	patience Patience

	mutex   sync.Mutex
	servers map[string]string
}

// StartSimulator starts the simulator with the speed of real clouds without the boot of an amphora.
// Its machine may be busy.
func StartSimulator(ctx context.Context, logf func(string, ...any)) (Cloud, error) {
	delays := octavia.Delays{
		Create: 500 * time.Millisecond, Update: 50 * time.Millisecond, Delete: 50 * time.Millisecond, Members: 5 * time.Millisecond,
	}
	return startSimulator(ctx, simulator.Options{Delays: map[string]octavia.Delays{"": delays}},
		Patience{Standstill: 2 * time.Minute, Most: 15 * time.Minute}, logf)
}

// slowSpeed is how many times as fast time passes in a slow simulator, and patience comes to
// its end.
const slowSpeed = 40

// StartSlowSimulator starts a simulator with an OpenStack on a machine that has much else to
// do: each POST takes 12 to 34 seconds, load balancers of a project are made one after
// another in two minutes each, so that many take longer than a standstill, and ovn takes a second
// for each member of a batch. Its time, and the patience that the real one gets, pass faster by
// the same factor.
func StartSlowSimulator(ctx context.Context, logf func(string, ...any)) (Cloud, error) {
	const least, most = 12 * time.Second, 34 * time.Second
	patience := localPatience()
	return startSimulator(ctx, simulator.Options{
		Speed: slowSpeed,
		Delays: map[string]octavia.Delays{
			"": {Create: 2 * time.Minute, Update: 2 * time.Second, Delete: 2 * time.Second, Members: time.Second},
		},
		VIPPortDelay: least, ProjectLockTimeout: time.Hour,
		Latencies: []faults.Latency{
			{Method: http.MethodPost, Route: "/load-balancer/v2.0/lbaas/loadbalancers", Max: most - least},
			{Method: http.MethodPost, Route: "/load-balancer/**", Min: least, Max: most},
			{Method: http.MethodPost, Route: "/network/**", Min: least, Max: most},
		},
	}, Patience{Standstill: patience.Standstill / slowSpeed, Most: patience.Most / slowSpeed}, logf)
}

func startSimulator(ctx context.Context, options simulator.Options, patience Patience, logf func(string, ...any)) (Cloud, error) {
	network, err := cluster.ClaimNetwork()
	if err != nil {
		return nil, err
	}
	options.Topology = simulator.Topology{CIDR: network.CIDR, ExternalCIDR: network.ExternalCIDR}
	c, err := simulator.Start(options)
	if err != nil {
		return nil, err
	}
	s := &simulated{cloud: c, network: network, patience: patience, servers: map[string]string{}}
	s.traffic = attach.Start(c.Octavia, c.Neutron, datapath.Options{
		TimeScale:    1.0 / monitorSpeed,
		Certificates: attach.SecretsOf(c.Barbican),
		Report:       func(err error) { logf("data path: %v", err) },
	})
	if s.vips, err = addVIPs(c); err == nil {
		c.CountTraffic(func(listenerID string) octavia.Statistics {
			counted := s.traffic.Statistics(listenerID)
			return octavia.Statistics{
				BytesIn: counted.BytesIn, BytesOut: counted.BytesOut,
				ActiveConnections: counted.ActiveConnections, TotalConnections: counted.TotalConnections,
			}
		})
		s.api, err = NewAPI(ctx, s.auth(c.Account), region)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; %w", err, s.Close())
	}
	return s, nil
}

// addVIPs adds a network for the VIPs of provider router to the router of the nodes, and returns its ID.
func addVIPs(c *simulator.Cloud) (string, error) {
	network := c.Neutron.AddNetwork(neutron.NetworkSpec{Name: "vips", ProjectID: c.Account.ProjectID})
	subnet, err := c.Neutron.AddSubnet(neutron.SubnetSpec{NetworkID: network.ID, CIDR: "10.77.0.0/24"})
	if err != nil {
		return "", err
	}
	return network.ID, c.Neutron.AddRouterInterface(c.Router.ID, subnet.ID)
}

func (s *simulated) CloudConf() string        { return s.cloud.CloudConf() }
func (s *simulated) API() *API                { return s.api }
func (s *simulated) KubeProxy() string        { return "" }
func (s *simulated) VIPNetwork() string       { return s.vips }
func (s *simulated) FragileTracking() bool    { return false }
func (s *simulated) Outside() netns.Namespace { return "" }
func (s *simulated) Inside() netns.Namespace  { return "" }
func (s *simulated) SubnetV6() string         { return "" }
func (s *simulated) Prefix() string           { return "" }
func (s *simulated) Pause() time.Duration     { return 20 * time.Millisecond }
func (s *simulated) Crowd() int               { return 30 }
func (s *simulated) Lease() time.Duration     { return 12 * time.Second }
func (s *simulated) Nature() Nature           { return s }
func (s *simulated) Patience() Patience       { return s.patience }

// Traffic implements Cloud.
func (s *simulated) Traffic(by string, _ corev1.Protocol) bool {
	return by != routerProvider && by != forwardingProvider
}

// RemovedTwice implements Cloud.
func (s *simulated) RemovedTwice() (int, error) { return len(s.cloud.Octavia.RemovedTwice()), nil }

// Router implements Cloud.
func (s *simulated) Router(context.Context) (string, error) { return s.cloud.Router.ID, nil }

// AddPod implements Cloud.
func (s *simulated) AddPod(context.Context, string, netip.Addr) (netns.Namespace, bool, error) {
	return "", false, nil
}

// Unused implements Cloud: few servers are made, from the first address on.
func (s *simulated) Unused(n int) string {
	return fmt.Sprintf("%s%d", strings.TrimSuffix(s.network.CIDR, "0/24"), 120+n)
}

func (s *simulated) AddMachine(_ context.Context, name string) (Machine, error) {
	server, err := s.cloud.AddServer(name, "")
	if err != nil {
		return Machine{}, err
	}
	address, err := netip.ParseAddr(server.Addresses[0])
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.servers[name] = server.ID
	return Machine{ServerID: server.ID, Addresses: []netip.Addr{address}}, err
}

func (s *simulated) RemoveMachine(_ context.Context, name string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.cloud.Nova.DeleteServer(s.servers[name]) {
		return fmt.Errorf("there is no server of %s", name)
	}
	return nil
}

// Fail implements Nature.
func (s *simulated) Fail(_ context.Context, loadBalancerID string) error {
	return s.cloud.Octavia.SetProvisioningStatus(loadBalancerID, "ERROR")
}

// KillAmphora implements Nature: there are no machines.
func (s *simulated) KillAmphora(context.Context, string) (bool, error) { return false, nil }

// StopOctavia implements Nature: all services are unreachable, not only Octavia.
func (s *simulated) StopOctavia(context.Context) (func(context.Context) error, error) {
	id := s.cloud.RefuseConnections(time.Hour)
	return func(context.Context) error { s.cloud.Faults.Remove(id); return nil }, nil
}

// LimitLoadBalancers implements Nature.
func (s *simulated) LimitLoadBalancers(ctx context.Context, limit int) (func(context.Context) error, error) {
	admin, err := NewAPI(ctx, s.auth(s.cloud.Admin), region)
	if err != nil {
		return nil, err
	}
	return admin.limitLoadBalancers(ctx, s.cloud.Account.ProjectID, limit)
}

// RevokeTokens implements Nature, for all users.
func (s *simulated) RevokeTokens(context.Context) error {
	s.cloud.Keystone.RevokeAll()
	return nil
}

func (s *simulated) auth(account simulator.Account) gophercloud.AuthOptions {
	return gophercloud.AuthOptions{
		IdentityEndpoint: s.cloud.AuthURL(), Username: account.UserName, Password: account.Password,
		TenantName: account.ProjectName, DomainName: "Default", AllowReauth: true,
	}
}

func (s *simulated) Close() error {
	s.traffic.Close()
	s.cloud.Close()
	return s.network.Release()
}

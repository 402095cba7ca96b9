package lookup_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	v1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// tables is a Neutron and an Octavia with fixed objects, for the cases that the simulator would need many
// requests for. It counts the calls of each method.
type tables struct {
	lookup.Neutron

	networks []neutron.Network
	subnets  []neutron.Subnet
	// interfaces are the ports of routers in subnets, servers those of servers.
	interfaces, servers []neutron.Port
	// routers are those that the project sees.
	routers []neutron.Router
	quotas  map[string]neutron.Quota
	limits  map[string]int
	flavors []octavia.Flavor
	zones   []octavia.AvailabilityZone

	mu    sync.Mutex
	fails map[string]error // by method
	calls map[string]int
	// reads counts all calls; the one with the number broken fails.
	reads, broken int
}

// refusal is an answer of a service with an HTTP status.
func refusal(status int, body string) error {
	return gophercloud.ErrUnexpectedResponseCode{Actual: status, Body: []byte(body), ResponseHeader: http.Header{"X-Openstack-Request-Id": {"req-1"}}}
}

// called counts a call, and returns its error.
func (t *tables) called(method string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls == nil {
		t.calls = map[string]int{}
	}
	t.calls[method]++
	if t.reads++; t.reads == t.broken {
		return refusal(http.StatusBadRequest, "")
	}
	return t.fails[method]
}

// answer returns a value unless the call of a method fails.
func answer[T any](t *tables, method string, value T) (T, error) {
	err := t.called(method)
	if err != nil {
		var none T
		return none, err
	}
	return value, nil
}

// asked fails a test unless a method was called as often as wanted since the last time.
func (t *tables) asked(test *testing.T, what, method string, want int) {
	test.Helper()
	if t.calls[method] != want {
		test.Errorf("%s: %d calls of %s, want %d", what, t.calls[method], method, want)
	}
	delete(t.calls, method)
}

// having returns the objects of a table that a filter accepts.
func having[T any](all []T, accepts func(T) bool) (found []T) {
	for _, one := range all {
		if accepts(one) {
			found = append(found, one)
		}
	}
	return found
}

// one returns the object of a table that a filter accepts, or a 404.
func one[T any](all []T, accepts func(T) bool) (*T, error) {
	if i := slices.IndexFunc(all, accepts); i >= 0 {
		return &all[i], nil
	}
	return nil, refusal(http.StatusNotFound, "")
}

func (t *tables) Network(_ context.Context, id string) (*neutron.Network, error) {
	if err := t.called("Network"); err != nil {
		return nil, err
	}
	return one(t.networks, func(n neutron.Network) bool { return n.ID == id })
}

func (t *tables) OwnsNetwork(network *neutron.Network) bool { return network.ProjectID == "ours" }

func (t *tables) ExternalNetworks(context.Context) ([]neutron.Network, error) {
	return answer(t, "ExternalNetworks", having(t.networks, func(n neutron.Network) bool { return n.External }))
}

func (t *tables) Subnet(_ context.Context, id string) (*neutron.Subnet, error) {
	if err := t.called("Subnet"); err != nil {
		return nil, err
	}
	return one(t.subnets, func(s neutron.Subnet) bool { return s.ID == id })
}

func (t *tables) Subnets(_ context.Context, networkID string) ([]neutron.Subnet, error) {
	return answer(t, "Subnets", having(t.subnets, func(s neutron.Subnet) bool { return s.NetworkID == networkID }))
}

func (t *tables) Port(_ context.Context, id string) (*neutron.Port, error) {
	if err := t.called("Port"); err != nil {
		return nil, err
	}
	return one(t.servers, func(p neutron.Port) bool { return p.ID == id })
}

func (t *tables) PortsOfDevices(_ context.Context, devices []string) ([]neutron.Port, error) {
	return answer(t, "PortsOfDevices", having(t.servers, func(p neutron.Port) bool { return slices.Contains(devices, p.DeviceID) }))
}

func (t *tables) PortsAt(_ context.Context, address string) ([]neutron.Port, error) {
	return answer(t, "PortsAt", t.at(address))
}

func (t *tables) PortsAtAddresses(_ context.Context, addresses []string) ([]neutron.Port, error) {
	return answer(t, "PortsAtAddresses", t.at(addresses...))
}

// PortsWithAddresses returns ports that may send packets of any address.
func (t *tables) PortsWithAddresses(_ context.Context, addresses []string) ([]neutron.RoutedPort, error) {
	return answer(t, "PortsWithAddresses", routed(t.at(addresses...)))
}

func (t *tables) RouterInterfaces(_ context.Context, networkID, subnetID string) ([]neutron.Port, error) {
	return answer(t, "RouterInterfaces", having(t.interfaces, func(p neutron.Port) bool {
		return subnetID == "" && p.NetworkID == networkID || has(p, func(ip neutron.FixedIP) bool { return ip.SubnetID == subnetID })
	}))
}

func (t *tables) RouterPorts(_ context.Context, router string) ([]neutron.RoutedPort, error) {
	return answer(t, "RouterPorts", routed(having(t.interfaces, func(p neutron.Port) bool { return p.DeviceID == router })))
}

func (t *tables) Routers(_ context.Context, ids []string) ([]neutron.Router, error) {
	return answer(t, "Routers", having(t.routers, func(r neutron.Router) bool { return slices.Contains(ids, r.ID) }))
}

func (t *tables) Quotas(context.Context) (map[string]neutron.Quota, error) {
	return answer(t, "Quotas", t.quotas)
}

func (t *tables) QuotaLimits(context.Context) (map[string]int, error) {
	return answer(t, "QuotaLimits", t.limits)
}

func (t *tables) Flavors(context.Context) ([]octavia.Flavor, error) {
	return answer(t, "Flavors", t.flavors)
}

func (t *tables) AvailabilityZones(context.Context) ([]octavia.AvailabilityZone, error) {
	return answer(t, "AvailabilityZones", t.zones)
}

func (t *tables) Providers(context.Context) ([]string, error) {
	return answer(t, "Providers", []string{"amphora"})
}

// at returns the ports with any of the addresses.
func (t *tables) at(addresses ...string) []neutron.Port {
	return having(slices.Concat(t.servers, t.interfaces), func(p neutron.Port) bool {
		return has(p, func(ip neutron.FixedIP) bool { return slices.Contains(addresses, ip.IPAddress) })
	})
}

func has(port neutron.Port, accepts func(neutron.FixedIP) bool) bool {
	return slices.ContainsFunc(port.FixedIPs, accepts)
}

func routed(ports []neutron.Port) (found []neutron.RoutedPort) {
	for _, port := range ports {
		found = append(found, neutron.RoutedPort{ID: port.ID, FixedIPs: port.FixedIPs})
	}
	return found
}

// network adds a network with subnets, each "ID CIDR".
func (t *tables) network(network neutron.Network, subnets ...string) {
	for _, text := range subnets {
		id, cidr, _ := strings.Cut(text, " ")
		version := 4
		if strings.Contains(cidr, ":") {
			version = 6
		}
		t.subnets = append(t.subnets, neutron.Subnet{ID: id, Name: "name of " + id, NetworkID: network.ID, IPVersion: version, CIDR: cidr})
		network.Subnets = append(network.Subnets, id)
	}
	t.networks = append(t.networks, network)
}

// attach adds a port of a router to a subnet. The first one is the gateway of that.
func (t *tables) attach(router, subnet, address string) {
	for i, s := range t.subnets {
		if s.ID == subnet {
			if s.GatewayIP == "" {
				t.subnets[i].GatewayIP = address
			}
			t.interfaces = append(t.interfaces, neutron.Port{
				ID: "port of " + router, NetworkID: s.NetworkID, DeviceID: router, DeviceOwner: "network:router_interface",
				FixedIPs: []neutron.FixedIP{{SubnetID: subnet, IPAddress: address}},
			})
		}
	}
}

// serverID returns the ID of the server with a number.
func serverID(n int) string { return fmt.Sprintf("5b8e7a55-2b1c-4d0c-93b5-%012d", n) }

// server adds a server with an address in a subnet.
func (t *tables) server(n int, subnet, address string) {
	t.servers = append(t.servers, neutron.Port{
		ID: "port at " + address, DeviceID: serverID(n), DeviceOwner: "compute:nova", FixedIPs: []neutron.FixedIP{{SubnetID: subnet, IPAddress: address}},
	})
}

// at is an address in a subnet.
type at struct{ subnet, address string }

// nodesOf adds a server for each address, and returns them as members.
func nodesOf(cloud *tables, all ...at) (backends []members.Backend) {
	for i, node := range all {
		cloud.server(i, node.subnet, node.address)
		backends = append(backends, backend(node.address, node.address, "openstack:///"+serverID(i)))
	}
	return backends
}

// reader returns a reader of the tables and its clock.
func (t *tables) reader() (*lookup.Reader, *clocktesting.FakePassiveClock) {
	clk := clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0))
	version := func(context.Context) (model.Version, error) { return newest, nil }
	return lookup.New(t, t, version, clk, age), clk
}

// newest is the version of an Octavia that supports all features.
var newest = model.Version{Major: 2, Minor: 30}

// inSettings returns the settings of an internal Service of IPv4, with changes.
func inSettings(changes ...func(*settings.Settings)) *settings.Settings {
	s := &settings.Settings{Family: v1.IPv4Protocol, Internal: true}
	for _, change := range changes {
		change(s)
	}
	return s
}

// assertRefused fails the test unless an error is one for the user, with a text.
func assertRefused(t *testing.T, what string, err error, text string) {
	t.Helper()
	var refused *lookup.Error
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: error %v, want one for the user with %q", what, err, text)
	}
}

package router_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
)

// network is a Neutron with these objects and one router. It records the requests.
type network struct {
	vips     []neutron.VIPPort
	ports    []neutron.RoutedPort
	nodes    []neutron.Port
	floating []floatingips.FloatingIP
	routes   []neutron.ExtraRoute
	// forwarded are the floating IPs with port forwardings, as lists have them.
	forwarded   []neutron.ForwardedIP
	forwardings []neutron.Forwarding
	// fails has the errors of requests, by their first words.
	fails map[string]error
	sent  []string
}

func (n *network) send(words ...string) error {
	n.sent = append(n.sent, strings.TrimSpace(strings.Join(words, " ")))
	return n.fails[words[0]]
}

// assertSent compares the requests since the last call.
func (n *network) assertSent(t *testing.T, what string, want ...string) {
	t.Helper()
	if !slices.Equal(n.sent, want) {
		t.Errorf("%s: sent\n%s\nwant\n%s", what, strings.Join(n.sent, "\n"), strings.Join(want, "\n"))
	}
	n.sent = nil
}

// VIPPorts returns all ports: the caller need not trust the filter.
func (n *network) VIPPorts(_ context.Context, tag string) ([]neutron.VIPPort, error) {
	return slices.Clone(n.vips), n.send("list", tag)
}

// VIPPortsDescribed returns all ports, too.
func (n *network) VIPPortsDescribed(_ context.Context, description string) ([]neutron.VIPPort, error) {
	return slices.Clone(n.vips), n.send("described", description)
}

func (n *network) CreateVIPPort(_ context.Context, want neutron.VIPPort) (*neutron.VIPPort, error) {
	want.ID = "new"
	return &want, n.send("create", want.Name, "in", want.FixedIPs[0].SubnetID, want.FixedIPs[0].IPAddress)
}

func (n *network) TagPort(_ context.Context, id string, tags []string) error {
	return n.send("tag", id, strings.Join(tags, " "))
}

func (n *network) DeletePort(_ context.Context, id string) error { return n.send("delete", id) }

func (n *network) FloatingIPsOn(_ context.Context, portIDs []string) ([]floatingips.FloatingIP, error) {
	return slices.DeleteFunc(slices.Clone(n.floating), func(fip floatingips.FloatingIP) bool { return !slices.Contains(portIDs, fip.PortID) }), n.send("floating")
}

func (n *network) PortsWithAddresses(_ context.Context, addresses []string) ([]neutron.RoutedPort, error) {
	return n.ports, n.send("ports", strings.Join(addresses, " "))
}

func (n *network) PortsAtAddresses(_ context.Context, addresses []string) ([]neutron.Port, error) {
	return n.nodes, n.send("nodes", strings.Join(addresses, " "))
}

func (n *network) ForwardedIPs(context.Context) ([]neutron.ForwardedIP, error) {
	return n.forwarded, n.send("forwarded")
}

func (n *network) HasForwardings(context.Context) (bool, error) { return true, n.send("has") }

func (n *network) Forwardings(_ context.Context, floatingIPID string) ([]neutron.Forwarding, error) {
	return slices.Clone(n.forwardings), n.send("forwardings", floatingIPID)
}

func (n *network) CreateForwarding(_ context.Context, floatingIPID string, want neutron.Forwarding) (string, error) {
	return fmt.Sprint("new-", want.ExternalPort), n.send("create", floatingIPID, textOf(want), want.Description)
}

func (n *network) RetargetForwarding(_ context.Context, floatingIPID string, to neutron.Forwarding) error {
	return n.send("retarget", floatingIPID, to.ID, textOf(to))
}

func (n *network) DeleteForwarding(_ context.Context, floatingIPID, id string) error {
	return n.send("delete", floatingIPID, id)
}

func textOf(f neutron.Forwarding) string {
	return fmt.Sprintf("%s/%d to %s:%d on %s", f.Protocol, f.ExternalPort, f.InternalIPAddress, f.InternalPort, f.InternalPortID)
}

// table is a router of the network.
type table struct {
	routes.Network
	*network
}

func (n table) Router(_ context.Context, id string) (*neutron.Router, error) {
	return &neutron.Router{ID: id, Routes: slices.Clone(n.routes)}, n.send("router", id)
}

// RouterPorts returns the interface of the router in the subnet of nodes.
func (n table) RouterPorts(_ context.Context, id string) ([]neutron.RoutedPort, error) {
	return []neutron.RoutedPort{{ID: "interface", FixedIPs: []neutron.FixedIP{{SubnetID: "nodes", IPAddress: "10.6.0.1"}}}}, n.send("interfaces", id)
}

func (n table) AddRoutes(_ context.Context, id string, all []neutron.ExtraRoute) error {
	n.routes = append(n.routes, all...)
	return n.send("add", id, fmt.Sprint(all))
}

func (n table) RemoveRoutes(_ context.Context, id string, all []neutron.ExtraRoute) error {
	return n.send("remove", id, fmt.Sprint(all))
}

func (n table) PortsWithAddresses(ctx context.Context, addresses []string) ([]neutron.RoutedPort, error) {
	return n.network.PortsWithAddresses(ctx, addresses)
}

func (n table) SetAddressPairs(_ context.Context, port *neutron.RoutedPort, pairs []neutron.AddressPair) error {
	return n.send("pairs", port.ID, fmt.Sprint(pairs))
}

// pools are the pools of VIPs by their subnets. No router leads to another subnet.
type pools map[string]lookup.Pool

// In implements router.Pools.
func (p pools) In(_ context.Context, subnetID string) (*lookup.Pool, error) {
	pool, is := p[subnetID]
	switch {
	case subnetID == "broken":
		return nil, errFailed
	case !is:
		return nil, fmt.Errorf("subnet %s: %w", subnetID, &lookup.Error{Message: "no router leads there"})
	}
	return &pool, nil
}

// portsOf returns the Ports of a network, with a pool 10.9.0.0/24 in the subnet vips behind the router r1, and 10.8.0.0/24 in others
// behind r2.
func portsOf(n *network) *router.Ports {
	all := pools{
		"vips":   {SubnetID: "vips", CIDR: netip.MustParsePrefix("10.9.0.0/24"), RouterID: "r1"},
		"others": {SubnetID: "others", CIDR: netip.MustParsePrefix("10.8.0.0/24"), RouterID: "r2"},
	}
	clk := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	return &router.Ports{Neutron: n, Pools: all, Clock: clk, Table: func(routerID string) *routes.Table {
		return routes.New(routes.Options{Network: table{network: n}, RouterID: routerID, Gather: time.Nanosecond})
	}}
}

type failure string

func (f failure) Error() string { return string(f) }

const errFailed = failure("failed")

// notFound returns an error as Neutron answers for an object that is gone.
func notFound() error {
	return apierror.Wrap(gophercloud.ErrUnexpectedResponseCode{
		Method: http.MethodGet, Actual: http.StatusNotFound, ResponseHeader: http.Header{"X-Openstack-Request-Id": {"req-1"}},
	}, "read")
}

// serviceOf returns the identity of a Service in a cluster.
func serviceOf(cluster, uid string) ownership.Identity {
	return ownership.Identity{ClusterName: "kubernetes", ClusterID: cluster, ServiceUID: uid, Namespace: "shop", Service: "web-" + uid}
}

func web() ownership.Identity { return serviceOf("here", "web") }

// vipOf returns the port of a Service's VIP, with at most one address.
func vipOf(id ownership.Identity, port, subnet string, addresses ...string) neutron.VIPPort {
	vip := neutron.VIPPort{ID: port, Name: id.Name(), Description: id.ProvenDescription(), Tags: id.Tags(), NetworkID: "net"}
	for _, address := range addresses {
		vip.FixedIPs = append(vip.FixedIPs, neutron.FixedIP{SubnetID: subnet, IPAddress: address})
	}
	return vip
}

// portAt returns the port of a next hop that admits packets to these CIDRs.
func portAt(address string, admits ...string) neutron.RoutedPort {
	pairs := []neutron.AddressPair{}
	for _, cidr := range admits {
		pairs = append(pairs, neutron.AddressPair{IPAddress: cidr, MACAddress: "mac"})
	}
	return neutron.RoutedPort{ID: "port-" + address, MACAddress: "mac", FixedIPs: []neutron.FixedIP{{SubnetID: "nodes", IPAddress: address}}, AddressPairs: &pairs}
}

func routeTo(destination, hop string) neutron.ExtraRoute {
	return neutron.ExtraRoute{Destination: destination, NextHop: hop}
}

package lookup_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// podCloud has a node and another server in subnet in. Its gateway is router z, which has the routes; there is a
// router before it in Neutron's list.
func podCloud(routes ...neutron.ExtraRoute) (*tables, lookup.Pods) {
	cloud := &tables{routers: []neutron.Router{{ID: "a", Routes: []neutron.ExtraRoute{{Destination: "10.66.0.0/16", NextHop: "10.0.0.11"}}}, {ID: "z", Routes: routes}}}
	cloud.network(neutron.Network{ID: "own"}, "in 10.0.0.0/24")
	cloud.attach("z", "in", "10.0.0.1")
	cloud.attach("a", "in", "10.0.0.2")
	nodes := nodesOf(cloud, at{"in", "10.0.0.11"})
	cloud.server(7, "in", "10.0.0.77")
	return cloud, lookup.Pods{
		VIP: model.VIP{SubnetID: "in"}, Driver: driver.Of("amphora", newest), Nodes: nodes, NodeSubnets: map[string]string{"10.0.0.11": "in"},
		Networks: []netip.Prefix{netip.MustParsePrefix("10.99.0.0/16")},
	}
}

func to(destination string, hops ...string) (routes []neutron.ExtraRoute) {
	for _, hop := range hops {
		routes = append(routes, neutron.ExtraRoute{Destination: destination, NextHop: hop})
	}
	return routes
}

// Security groups on the ports of nodes see only packets that pass these ports.
func TestReach_OnNodesOnlyBehindTheirPorts(t *testing.T) {
	t.Parallel()
	var routes []neutron.ExtraRoute
	for _, more := range [][]neutron.ExtraRoute{to("10.244.1.0/24", "10.0.0.11"), to("10.244.2.0/24", "10.0.0.77"), to("10.244.3.0/24", "10.0.0.11", "10.0.0.77")} {
		routes = append(routes, more...)
	}
	for address, behind := range map[string]bool{
		"10.0.0.11":  true,
		"10.244.1.7": true,
		"10.244.2.7": false, // by another server
		"10.244.3.7": false, // by one or the other
		"10.0.0.77":  false, // a port of its own
		"10.99.0.7":  false, // as cloud.conf says, somewhere
	} {
		cloud, pods := podCloud(routes...)
		pods.Addresses = []string{address}
		for _, on := range []bool{false, true} {
			reader, _ := cloud.reader()
			pods.OnNodes = on
			reach, err := reader.Reach(t.Context(), pods)
			if why := reach.Missing[address]; err != nil || (why == "") != (behind || !on) || why != "" && !strings.Contains(why, "behind no port of a node") {
				t.Errorf("%s, on nodes %t: missing %q, error %v", address, on, why, err)
			}
		}
	}
}

// The hops have no ports, so that the reason names the one that the router would take.
func TestReach_ByTheLongestRouteOfTheGateway(t *testing.T) {
	t.Parallel()
	var routes []neutron.ExtraRoute
	for i, destination := range []string{"0.0.0.0/0", "10.244.0.0/16", "10.244.1.0/24", "10.244.1.7/32", "10.245.9.0/16", "::/0", "fd00:1::/48", "fd00:1:0:2::/64", "nonsense"} {
		hop := fmt.Sprint("10.0.0.20", i)
		if strings.Contains(destination, ":") {
			hop = fmt.Sprint("fd00::", i)
		}
		routes = append(routes, to(destination, hop)...)
	}
	routes = append(routes, to("10.246.0.0/16", "nowhere")...)
	for address, hop := range map[string]string{
		"10.244.9.1": "10.0.0.201", "10.244.1.1": "10.0.0.202", "10.244.1.7": "10.0.0.203", "10.245.0.1": "10.0.0.204",
		"fd00:1::1": "fd00::6", "fd00:1:0:2::1": "fd00::7",
		"10.9.9.9": "", "fd00:2::1": "", // default routes lead out of the project
		"10.66.0.1":  "", // a route of another router of the subnet
		"10.246.0.1": "", // to no address
	} {
		cloud, pods := podCloud(routes...)
		pods.Addresses = []string{address}
		reader, _ := cloud.reader()
		reach, err := reader.Reach(t.Context(), pods)
		want := "has no route in the router"
		if hop != "" {
			want = "has a route by " + hop + ", which is the address of no port"
		}
		if why := reach.Missing[address]; err != nil || !strings.HasPrefix(why, want) || reach.Routed != (hop != "") {
			t.Errorf("%s: missing %q, routed %t, error %v, want %q", address, why, reach.Routed, err, want)
		}
	}
}

// If the subnet of the VIP is hidden, its only router is the gateway. Of several, it may be any.
func TestReach_ByTheOnlyRouterOfAHiddenSubnet(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  func(*tables)
		reaches bool
	}{
		"subnet seen":        {func(*tables) {}, true},
		"one of two routers": {func(c *tables) { c.subnets = nil }, false},
		"the only router":    {func(c *tables) { c.subnets, c.interfaces = nil, c.interfaces[:1] }, true},
		"subnet is forbidden": {func(c *tables) {
			c.fails, c.interfaces = map[string]error{"Subnet": refusal(http.StatusForbidden, "")}, c.interfaces[:1]
		}, true},
		"no gateway":            {func(c *tables) { c.subnets[0].GatewayIP = "" }, false},
		"routers are forbidden": {func(c *tables) { c.fails = map[string]error{"Routers": refusal(http.StatusForbidden, "")} }, false},
	} {
		cloud, pods := podCloud(to("10.244.1.0/24", "10.0.0.11")...)
		test.change(cloud)
		pods.Addresses = []string{"10.244.1.7"}
		reader, _ := cloud.reader()
		if reach, err := reader.Reach(t.Context(), pods); err != nil || (len(reach.Missing) == 0) != test.reaches {
			t.Errorf("%s: missing %q, error %v", name, reach.Missing, err)
		}
	}
}

// The subnet of the VIP needs no router.
func TestReach_InTheSubnetOfTheVIPWithoutRouters(t *testing.T) {
	t.Parallel()
	cloud, pods := podCloud()
	cloud.interfaces = nil
	cloud.network(neutron.Network{ID: "another"}, "far 10.1.0.0/24")
	cloud.server(8, "far", "10.1.0.88")
	pods.Addresses = []string{"10.0.0.77", "10.1.0.88"}
	reader, _ := cloud.reader()
	reach, err := reader.Reach(t.Context(), pods)
	if err != nil || len(reach.Missing) != 1 || !strings.Contains(reach.Missing["10.1.0.88"], "is in subnet far, which is not attached") {
		t.Errorf("missing %q, error %v", reach.Missing, err)
	}
}

// Only the address of a pod decides how it is reached.
func TestReach_RefusesPodsWithoutAnAddress(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "pod", "10.0.0.0/24"} {
		cloud, pods := podCloud()
		pods.Addresses = []string{"10.0.0.77", text}
		reader, _ := cloud.reader()
		if reach, err := reader.Reach(t.Context(), pods); err == nil {
			t.Errorf("%q is reached: %+v", text, reach)
		}
	}
}

func TestUnreachable_NamesTheFirstPodAndCountsTheOthers(t *testing.T) {
	t.Parallel()
	for want, missing := range map[string]map[string]string{
		"":                                   {},
		"members: pod 10.0.0.2 has no route": {"10.0.0.2": "has no route"},
		"members: pod 10.0.0.1 is elsewhere; the same for 2 others":     {"10.0.0.2": "x", "10.0.0.1": "is elsewhere", "10.0.0.3": "y"},
		"members: pod 10.0.0.1 is elsewhere; the same for 1 others":     {"10.0.0.2": "x", "10.0.0.1": "is elsewhere"},
		"members: pod 10.0.0.1 has a route by n; the same for 3 others": {"10.0.0.4": "x", "10.0.0.1": "has a route by n", "10.0.0.3": "y", "10.0.0.2": "z"},
	} {
		err := lookup.Reach{Missing: missing}.Unreachable()
		if want == "" && err != nil {
			t.Errorf("none is missing: %v", err)
		}
		if want != "" {
			assertRefused(t, "missing", err, want)
		}
	}
}

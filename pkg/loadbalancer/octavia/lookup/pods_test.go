package lookup_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// podNetwork is a cloud with pods behind two nodes: each has a route, only the first one an address pair.
func podNetwork(t *testing.T) (*environment, lookup.Pods) {
	t.Helper()
	env := newEnvironment(t, simulator.Topology{})
	pods := lookup.Pods{VIP: model.VIP{SubnetID: env.Cloud.Subnet.ID}, NodeSubnets: map[string]string{}}
	var routes []simneutron.Route
	for i, name := range []string{"a", "b"} {
		address := fmt.Sprintf("127.100.1.%d", i+1)
		pods.Nodes = append(pods.Nodes, env.node(name, address))
		pods.NodeSubnets[address] = env.Cloud.Subnet.ID
		routes = append(routes, simneutron.Route{Destination: fmt.Sprintf("10.244.%d.0/24", i+1), NextHop: address})
	}
	routes = append(routes, simneutron.Route{Destination: "10.250.0.0/16", NextHop: "127.100.1.77"}, simneutron.Route{Destination: "0.0.0.0/0", NextHop: "127.100.1.78"})
	if err := env.Cloud.Neutron.SetRoutes(env.Cloud.Router.ID, routes); err != nil {
		t.Fatal(err)
	}
	env.pair(pods.Nodes[0], "10.244.1.0/24")
	env.Cloud.RequestLog.Reset()
	return env, pods
}

// pair lets the port of a node send packets of a network.
func (env *environment) pair(node members.Backend, cidr string) {
	env.T.Helper()
	for _, port := range env.Cloud.Neutron.Ports() {
		for _, ip := range port.FixedIPs {
			if ip.Address == node.Address {
				pairs := []simneutron.AddressPair{{Address: cidr}}
				if _, err := env.Cloud.Neutron.UpdatePort(port.ID, simneutron.PortUpdate{AddressPairs: &pairs}); err != nil {
					env.T.Fatal(err)
				}
			}
		}
	}
}

// port adds a port with an address in a new subnet, attached to the router or not.
func (env *environment) portIn(cidr, address string, attached bool) (subnet string) {
	env.T.Helper()
	network := env.network(cidr)
	in := env.subnet(network.ID, cidr)
	if attached {
		if err := env.Cloud.Neutron.AddRouterInterface(env.Cloud.Router.ID, in.ID); err != nil {
			env.T.Fatal(err)
		}
	}
	spec := simneutron.PortSpec{ProjectID: env.Cloud.Account.ProjectID, NetworkID: network.ID, FixedIPs: []simneutron.FixedIP{{SubnetID: in.ID, Address: address}}}
	if _, err := env.Cloud.Neutron.CreatePort(spec); err != nil {
		env.T.Fatal(err)
	}
	return in.ID
}

// The subnet of a member, or the reason why it cannot be one.
//
//proves:56
func TestReach_ByAddressOfPodAndDriver(t *testing.T) {
	t.Parallel()
	env, pods := podNetwork(t)
	attached := env.portIn("10.201.0.0/24", "10.201.0.5", true)
	env.portIn("10.202.0.0/24", "10.202.0.5", false)
	pods.Networks = []netip.Prefix{netip.MustParsePrefix("10.99.0.0/16")}
	nodes := env.Cloud.Subnet.ID
	for address, want := range map[string]struct {
		amphora, ovn string // a subnet, or words of the reason
		missing      bool
	}{
		"127.100.1.1": {"", nodes, false},
		"10.244.1.11": {"", nodes, false},
		"10.201.0.5":  {"", attached, false},
		"10.244.2.11": {"route by b, whose port does not allow 10.244.2.0/24", "route by b, whose port does not allow 10.244.2.0/24", true},
		"10.250.1.1":  {"route by 127.100.1.77, which is the address of no port", "route by 127.100.1.77, which is the address of no port", true},
		"10.202.0.5":  {"is not attached to the router", "is not attached to the router", true},
		"10.9.9.9":    {"no route in the router", "no route in the router", true},
		"10.99.0.1":   {"", "pod-networks", false},
	} {
		for provider, expected := range map[string]string{"amphora": want.amphora, "ovn": want.ovn} {
			pods.Driver, pods.Addresses = driver.Of(provider, driver.VersionTags), []string{address}
			reach, err := env.reader.Reach(t.Context(), pods)
			if err != nil {
				t.Fatal(err)
			}
			missing := want.missing || expected == "pod-networks"
			switch why := reach.Missing[address]; {
			case missing && (why == "" || !strings.Contains(why, expected)), !missing && why != "":
				t.Errorf("%s on %s: missing %q, want %q", address, provider, why, expected)
			case !missing && reach.Subnets[address] != expected:
				t.Errorf("%s on %s: subnet %q, want %q", address, provider, reach.Subnets[address], expected)
			}
			if routed := strings.HasPrefix(address, "10.244.") || address == "10.250.1.1"; reach.Routed != routed {
				t.Errorf("%s on %s: routed %t", address, provider, reach.Routed)
			}
			if missing {
				env.refused(reach.Unreachable(), "pod "+address)
			}
		}
	}
}

// Routes and ports are read once for many pods, and again for one that cannot be reached.
//
//proves:56
func TestReach_ReadsAgainWhatIsMissing(t *testing.T) {
	t.Parallel()
	env, pods := podNetwork(t)
	reach := func(addresses ...string) (missing int) {
		t.Helper()
		pods.Addresses = addresses
		found, err := env.reader.Reach(t.Context(), pods)
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Missing)
	}
	if reach("10.244.1.11", "10.244.1.12") > 0 {
		t.Error("pods with route and pair are not reached")
	}
	env.asked(5) // the router of the subnet, its routes, the subnet, the ports of the router, and that of the next hop
	if reach("10.244.1.13") > 0 {
		t.Error("another pod is not reached")
	}
	env.asked(0)
	if reach("10.244.1.13", "10.244.2.11") != 1 {
		t.Error("a pod without a pair is reached")
	}
	env.asked(1) // the port of the other next hop: the rest has just been read
	env.pair(pods.Nodes[1], "10.244.0.0/16")
	env.pass(5 * time.Second)
	env.Cloud.RequestLog.Reset()
	if reach("10.244.2.11") > 0 {
		t.Error("the new pair is not noticed")
	}
	env.asked(5) // the router, its routes, the subnet, the ports of the router, and that of the next hop
}

// A subnet gets another router as its gateway: the routes of that one count at once.
//
//proves:56
func TestReach_NoticesNewGateway(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} { // whether the subnet of the VIP is
		t.Run(fmt.Sprintf("subnet known %t", known), func(t *testing.T) {
			t.Parallel()
			env, pods := podNetwork(t)
			env.pair(pods.Nodes[0], "10.245.0.0/16")
			if !known {
				pods.VIP = model.VIP{NetworkID: env.Cloud.Network.ID}
			}
			pods.Addresses = []string{"10.245.1.11"}
			missing := func() bool {
				t.Helper()
				reach, err := env.reader.Reach(t.Context(), pods)
				if err != nil {
					t.Fatal(err)
				}
				return len(reach.Missing) > 0
			}
			if !missing() {
				t.Error("a pod without a route is reached")
			}
			other := env.routerIn("127.100.0.9")
			if err := env.Cloud.Neutron.SetRoutes(other, []simneutron.Route{{Destination: "10.245.0.0/16", NextHop: pods.Nodes[0].Address}}); err != nil {
				t.Fatal(err)
			}
			if err := env.Cloud.Neutron.SetSubnetGateway(env.Cloud.Subnet.ID, "127.100.0.9"); err != nil {
				t.Fatal(err)
			}
			env.pass(5 * time.Second)
			if missing() {
				t.Error("the routes of the new gateway do not count")
			}
		})
	}
}

// routerIn adds a router with an address in the subnet of the VIP.
func (env *environment) routerIn(address string) (id string) {
	env.T.Helper()
	router, err := env.Cloud.Neutron.AddRouter(simneutron.RouterSpec{Name: "other", ProjectID: env.Cloud.Account.ProjectID})
	if err != nil {
		env.T.Fatal(err)
	}
	inside := simneutron.PortSpec{
		ProjectID: env.Cloud.Account.ProjectID, NetworkID: env.Cloud.Network.ID, DeviceID: router.ID, DeviceOwner: "network:router_interface",
		FixedIPs: []simneutron.FixedIP{{SubnetID: env.Cloud.Subnet.ID, Address: address}},
	}
	if _, err := env.Cloud.Neutron.CreatePort(inside); err != nil {
		env.T.Fatal(err)
	}
	return router.ID
}

// Only the router that is the gateway of the VIP's subnet counts: a load balancer sends nothing to others.
// The gateways of a floating IP need no further read.
//
//proves:56
func TestReach_ByGatewayOfSubnet(t *testing.T) {
	t.Parallel()
	env, pods := podNetwork(t)
	other := env.routerIn("127.100.0.9")
	if err := env.Cloud.Neutron.SetRoutes(other, []simneutron.Route{{Destination: "10.245.0.0/16", NextHop: pods.Nodes[0].Address}}); err != nil {
		t.Fatal(err)
	}
	env.pair(pods.Nodes[0], "10.244.0.0/15")
	env.must(env.external())
	env.Cloud.RequestLog.Reset()
	pods.Addresses = []string{"10.244.1.11", "10.245.1.11"}
	for _, vip := range []model.VIP{{SubnetID: env.Cloud.Subnet.ID}, {NetworkID: env.Cloud.Network.ID}} {
		pods.VIP = vip
		reach, err := env.reader.Reach(t.Context(), pods)
		if err != nil || reach.Missing["10.244.1.11"] != "" || !strings.Contains(reach.Missing["10.245.1.11"], "no route") {
			t.Errorf("%+v: %+v, %v", vip, reach.Missing, err)
		}
	}
}

// A router distributes packets among all next hops of a route: each must reach the pod.
//
//proves:56
func TestReach_ByEachNextHop(t *testing.T) {
	t.Parallel()
	env, pods := podNetwork(t)
	routes := []simneutron.Route{{Destination: "10.244.0.0/16", NextHop: pods.Nodes[0].Address}, {Destination: "10.244.0.0/16", NextHop: pods.Nodes[1].Address}}
	if err := env.Cloud.Neutron.SetRoutes(env.Cloud.Router.ID, routes); err != nil {
		t.Fatal(err)
	}
	pods.Addresses = []string{"10.244.1.11"}
	for _, want := range []string{"route by b, whose port does not allow", ""} {
		reach, err := env.reader.Reach(t.Context(), pods)
		if err != nil || !strings.Contains(reach.Missing["10.244.1.11"], want) || (want == "") != (len(reach.Missing) == 0) {
			t.Errorf("missing %q, want %q; %v", reach.Missing, want, err)
		}
		env.pair(pods.Nodes[1], "10.244.0.0/16")
		env.pass(5 * time.Second)
	}
}

// The ports of the pods of many Services are read together, not one Service after the other.
//
//proves:56
func TestReach_SharesReadsAmongServices(t *testing.T) {
	t.Parallel()
	env, pods := podNetwork(t)
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: portsRoute, Delay: 50 * time.Millisecond})
	env.portIn("10.201.0.0/24", "10.201.0.5", true)
	var all sync.WaitGroup
	for i := range 80 {
		mine := pods
		mine.Addresses = []string{"10.201.0.5", fmt.Sprintf("10.202.0.%d", i)}
		all.Go(func() {
			reach, err := env.reader.Reach(t.Context(), mine)
			if err != nil || len(reach.Missing) != 1 {
				t.Errorf("%+v, %v", reach, err)
			}
		})
	}
	all.Wait()
	if got := len(env.Cloud.RequestLog.Requests(requestlog.Under("/network"))); got > 12 {
		t.Errorf("%d requests for 80 Services", got)
	}
}

package routes_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

//proves:110
func TestCreateRoute_AddsRouteAndPairForEveryPodCIDR(t *testing.T) {
	t.Parallel()
	k := newCloud(t, dualStack()).cluster("a")
	node := k.join("node-1", "10.244.1.0/24", "fd00:244:0:1::/64")
	k.settle()
	v4, v6 := node.Status.Addresses[0].Address, node.Status.Addresses[1].Address
	k.wantRoutes("10.244.1.0/24 via "+v4, "fd00:244:0:1::/64 via "+v6)
	k.wantPairs("node-1", "10.244.1.0/24", "fd00:244:0:1::/64")
	for name, r := range k.list() {
		if r.TargetNode != "node-1" || r.Blackhole || len(r.TargetNodeAddresses) != 2 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

//proves:110
func TestBatch_AddsRoutesOfHundredNodesInOneRequest(t *testing.T) {
	t.Parallel()
	k := newCloud(t, dualStack()).cluster("a")
	k.many(100)
	k.client.ClearActions()
	k.spent()
	k.settle()
	spent := k.spent()
	if got := len(k.routes()); got != 200 {
		t.Errorf("%d routes, want 200", got)
	}
	for part, want := range map[string]int{
		"PUT routers/{id}/add_extraroutes": 1, "PUT ports/{id}": 100, "GET routers/{id}": 2,
		"GET ports": 4, // the router's own, and 200 addresses in three requests
	} {
		if got := count(spent, part); got != want {
			t.Errorf("%d requests %s, want %d", got, part, want)
		}
	}
	if len(spent) != 107 {
		t.Errorf("%d requests: %q", len(spent), spent)
	}
	if actions := len(k.client.Actions()); actions != 2 { // a read and a write of the record
		t.Errorf("%d requests to Kubernetes, want 2", actions)
	}
	k.settle()
	if spent := k.spent(); len(spent) != 1 {
		t.Errorf("a round with nothing to do costs %q", spent)
	}
	k.clock.Step(routes.DefaultPairsAge)
	k.settle()
	if spent := k.spent(); len(spent) != 4 {
		t.Errorf("a round that looks at the ports costs %q", spent)
	}
}

func TestRoutes_GoWithTheirPairsWhenNodeGoes(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	first, second := k.join("node-1", "10.244.1.0/24"), k.join("node-2", "10.244.2.0/24")
	k.settle()
	k.leave(first)
	k.settle()
	k.wantRoutes("10.244.2.0/24 via " + k.address(second))
	k.wantPairs("node-1")
	k.wantPairs("node-2", "10.244.2.0/24")
	if err := k.Neutron.DeletePort(k.ports["node-2"]); err != nil { // as with its server
		t.Fatal(err)
	}
	k.leave(second)
	k.settle()
	k.wantRoutes()
	if left := k.list(); len(left) > 0 {
		t.Errorf("listed are %v", left)
	}
}

func TestRoutes_AreRestoredWhenRemoved(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	node := k.join("node-1", "10.244.1.0/24")
	k.settle()
	k.setRoutes()
	k.settle()
	k.wantRoutes("10.244.1.0/24 via " + k.address(node))
}

func TestRoutes_FollowNewAddressOfNode(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	k.join("node-1", "10.244.1.0/24")
	k.settle()
	replaced := k.join("node-1", "10.244.1.0/24") // a server anew under the same name
	k.settle()
	k.wantRoutes("10.244.1.0/24 via " + k.address(replaced))
	k.wantPairs("node-1", "10.244.1.0/24")
}

func TestRoutes_LeadToNodeThatInheritsPodCIDR(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	_, heir := k.inherit("10.244.1.0/24")
	k.settle()
	k.wantRoutes("10.244.1.0/24 via " + k.address(heir))
	k.wantPairs("node-1")
	k.wantPairs("node-2", "10.244.1.0/24")
}

func TestRoutes_UseAddressOnSubnetOfRouter(t *testing.T) {
	t.Parallel()
	c := newCloud(t, simulator.Options{})
	k := c.cluster("a")
	node := k.join("node-1", "10.244.1.0/24")
	elsewhere := c.Neutron.AddNetwork(neutron.NetworkSpec{Name: "storage", ProjectID: c.Account.ProjectID})
	subnet, err := c.Neutron.AddSubnet(neutron.SubnetSpec{NetworkID: elsewhere.ID, CIDR: "10.9.0.0/24"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Neutron.CreatePort(neutron.PortSpec{ProjectID: c.Account.ProjectID, SubnetID: subnet.ID, Address: "10.9.0.5"}); err != nil {
		t.Fatal(err)
	}
	node.Status.Addresses = append([]v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.9.0.5"}}, node.Status.Addresses...)
	k.settle()
	k.wantRoutes("10.244.1.0/24 via " + node.Status.Addresses[1].Address)
	if err := c.Neutron.AddRouterInterface(c.Router.ID, subnet.ID); err != nil {
		t.Fatal(err)
	}
	k.settle()
	k.wantRoutes("10.244.1.0/24 via " + node.Status.Addresses[1].Address) // what leads to it stays
}

// One node that cannot have a route does not take it from the others.
func TestBatch_AddsOtherRoutesBesideNodeOutsideRouter(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	good, bad := k.join("node-1", "10.244.1.0/24"), k.join("node-2", "10.244.2.0/24")
	bad.Status.Addresses[0].Address = "192.0.2.7"
	k.mentions(k.sync(), "node-2", "192.0.2.7", k.Router.ID)
	k.wantRoutes("10.244.1.0/24 via " + k.address(good))
	bad.Spec.PodCIDRs = []string{"fd00:244:0:2::/64"}
	k.mentions(k.sync(), "node-2", "fd00:244:0:2::/64", "IP family")
}

// A route that Neutron refuses, here as its next hop is the router, is found among
// those that it takes.
func TestBatch_AddsOtherRoutesBesideRefusedOne(t *testing.T) {
	t.Parallel()
	k := newCloud(t, dualStack()).cluster("a")
	k.many(9)
	bad := k.join("node-x", "10.244.99.0/24")
	bad.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.6.0.1"}}
	k.mentions(k.sync(), "the nexthop is used by router")
	if got := len(k.routes()); got != 18 {
		t.Errorf("%d routes, want 18", got)
	}
}

func TestListRoutes_NamesKeyOfMissingRouter(t *testing.T) {
	t.Parallel()
	c := newCloud(t, simulator.Options{})
	c.Router.ID = "00000000-0000-4000-8000-000000000000"
	_, err := c.cluster("a").table.ListRoutes(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), "router-id") || !strings.Contains(err.Error(), c.Router.ID) {
		t.Errorf("error is %v", err)
	}
}

// The maximum number of routes of a router is found once and reported with the remedy; later
// additions send no requests.
func TestRoutes_ReportFullRouterWithoutRepeatedWrites(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"}}).cluster("a")
	k.many(20)
	errs := k.sync()
	if len(errs) != 10 || len(k.routes()) != 30 {
		t.Fatalf("%d errors and %d routes, want 10 and 30", len(errs), len(k.routes()))
	}
	for _, err := range errs {
		if !strings.Contains(err.Error(), "max_routes") || !strings.Contains(err.Error(), "30") {
			t.Errorf("error is %v", err)
		}
	}
	k.spent()
	k.sync()
	if spent := k.spent(); count(spent, "PUT") > 0 {
		t.Errorf("a round at a full router costs %q", spent)
	}
	k.clock.Step(2 * routes.DefaultPairsAge) // then it is tried again
	k.sync()
	if spent := k.spent(); count(spent, "add_extraroutes") == 0 {
		t.Errorf("a later round costs %q", spent)
	}
}

// From 2026.2 on a quota of the project takes the place of max_routes, and answers 409. A router
// that is nearly full takes the routes of as many nodes as it has room for.
func TestRoutes_FillRouterUpToQuotaOfRoutes(t *testing.T) {
	t.Parallel()
	for _, room := range []int{0, 1, 2, 7, 11} {
		k := newCloud(t, simulator.Options{Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"}}).cluster("a")
		k.Neutron.SetQuota(k.Account.ProjectID, "router_route", room)
		k.many(6)
		errs := k.sync()
		if len(errs) != 12-room || len(k.routes()) != room {
			t.Fatalf("room for %d: %d errors and %d routes", room, len(errs), len(k.routes()))
		}
		for _, err := range errs {
			if !strings.Contains(err.Error(), "quota of router_route") {
				t.Errorf("error is %v", err)
			}
		}
		k.spent()
		k.sync()
		if spent := k.spent(); count(spent, "PUT") > 0 {
			t.Errorf("a round at a full router costs %q", spent)
		}
	}
}

func TestCreateRoute_CompletesRouteAfterLostAnswer(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	node := k.join("node-1", "10.244.1.0/24")
	lift := k.Faults.Add(faults.Rule{Method: http.MethodPut, Route: "/network/v2.0/routers/*/add_extraroutes", AfterWork: true, Drop: true})
	if errs := k.sync(); len(errs) != 1 {
		t.Fatalf("errors are %v, want one", errs)
	}
	lift()
	k.settle()
	k.wantRoutes("10.244.1.0/24 via " + k.address(node))
	k.wantPairs("node-1", "10.244.1.0/24")
}

func TestCreateRoute_TakesRouteBackWhenItsPairIsRefused(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	node := k.join("node-1", "10.244.1.0/24")
	lift := k.Faults.Add(faults.Rule{Method: http.MethodPut, Route: "/network/v2.0/ports/*", Status: 403, Worded: true})
	k.mentions(k.sync(), "allowed address pairs of port "+k.ports["node-1"])
	k.wantRoutes()
	lift()
	k.settle()
	k.wantRoutes("10.244.1.0/24 via " + k.address(node))
}

func TestRoutes_FailOnUnknownNodesAndMalformedRoutes(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	table := routes.New(routes.Options{Synced: func() bool { return false }})
	if _, err := table.ListRoutes(t.Context(), ""); err == nil {
		t.Error("no error before the nodes are known")
	}
	for _, name := range []string{"", "10.244.1.0/24", "10.244.1.0/24 via nowhere"} {
		if err := k.table.DeleteRoute(t.Context(), "", &cloudprovider.Route{Name: name}); err == nil {
			t.Errorf("route %q was deleted", name)
		}
	}
	if err := k.table.CreateRoute(t.Context(), "", "", &cloudprovider.Route{DestinationCIDR: "10.244.1.0"}); err == nil {
		t.Error("no error for a destination that is not a CIDR")
	}
}

// Two next hops of one pod CIDR lose half of the packets.
func TestRoutes_GetNoSecondNextHopWhileFirstRemains(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	first, heir := k.inherit("10.244.1.0/24")
	other := k.join("node-3", "10.244.3.0/24")
	lift := k.Faults.Add(faults.Rule{Method: http.MethodPut, Route: "/network/v2.0/routers/*/remove_extraroutes", Status: 403, Worded: true})
	errs := k.sync()
	if len(errs) != 2 || !strings.Contains(errors.Join(errs...).Error(), "it still leads to "+k.address(first)) {
		t.Errorf("errors are %v, want one of the route that stays and one of that which waits", errs)
	}
	k.wantRoutes("10.244.1.0/24 via "+k.address(first), "10.244.3.0/24 via "+k.address(other))
	k.wantPairs("node-2")
	lift()
	k.settle()
	k.wantRoutes("10.244.1.0/24 via "+k.address(heir), "10.244.3.0/24 via "+k.address(other))
}

// On a busy machine the removal may come with a later batch.
func TestCreateRoute_WaitsForRemovalOfEarlierRoute(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	first, heir := k.inherit("10.244.1.0/24")
	err := k.table.CreateRoute(t.Context(), "", "", &cloudprovider.Route{
		TargetNode: "node-2", TargetNodeAddresses: heir.Status.Addresses, DestinationCIDR: "10.244.1.0/24",
	})
	if err == nil || !strings.Contains(err.Error(), "it still leads to "+k.address(first)+": that route must be removed first") {
		t.Errorf("error is %v", err)
	}
	k.wantRoutes("10.244.1.0/24 via " + k.address(first))
	k.wantPairs("node-2")
	k.settle()
	k.wantRoutes("10.244.1.0/24 via " + k.address(heir))
	k.wantPairs("node-2", "10.244.1.0/24")
}

func TestCreateRoute_KeepsEarlierRouteWhenItsPairIsRefused(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	node := k.join("node-1", "10.244.1.0/24")
	k.setRoutes([2]string{"10.244.1.0/24", k.address(node)})
	k.Faults.Add(faults.Rule{Method: http.MethodPut, Route: "/network/v2.0/ports/*", Status: 403, Worded: true})
	k.mentions(k.sync(), "allowed address pairs of port "+k.ports["node-1"])
	k.wantRoutes("10.244.1.0/24 via " + k.address(node))
}

func TestRoutes_WriteRefusedListOnce(t *testing.T) {
	t.Parallel()
	k := newCloud(t, without("extraroute-atomic")).cluster("a")
	k.join("node-1", "10.244.1.0/24")
	k.Faults.Add(faults.Rule{Method: http.MethodPut, Route: "/network/v2.0/routers/*", Status: 403, Worded: true})
	k.spent()
	if errs := k.sync(); len(errs) != 1 {
		t.Errorf("errors are %v, want one", errs)
	}
	if spent := k.spent(); count(spent, "PUT routers/") != 2 { // the atomic one, and the whole list
		t.Errorf("requests %q", spent)
	}
}

func TestBatch_AddsNoRouteForCallerThatLeft(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	stays, leaves := k.join("node-1", "10.244.1.0/24"), k.join("node-2", "10.244.2.0/24")
	left, leave := context.WithCancel(t.Context())
	leave()
	routeTo := func(node *v1.Node) *cloudprovider.Route {
		return &cloudprovider.Route{TargetNode: types.NodeName(node.Name), TargetNodeAddresses: node.Status.Addresses, DestinationCIDR: node.Spec.PodCIDRs[0]}
	}
	errs := k.table.CreateTogether(t.Context(), []context.Context{t.Context(), left}, []*cloudprovider.Route{routeTo(stays), routeTo(leaves)})
	if errs[0] != nil {
		t.Error(errs[0])
	}
	k.wantRoutes("10.244.1.0/24 via " + k.address(stays))
}

// A port that is not seen may be another project's, on a shared network. One that is
// gone makes the Node change its address, and the route follows.
func TestRoutes_StayWithoutPortUntilNodeHasAnotherAddress(t *testing.T) {
	t.Parallel()
	k := newCloud(t, simulator.Options{}).cluster("a")
	node := k.join("node-1", "10.244.1.0/24")
	k.settle()
	gone := k.address(node)
	if err := k.Neutron.DeletePort(k.ports["node-1"]); err != nil {
		t.Fatal(err)
	}
	k.restart()
	k.spent()
	k.settle()
	k.wantRoutes("10.244.1.0/24 via " + gone)
	if spent := k.spent(); count(spent, "PUT") > 0 {
		t.Errorf("requests %q", spent)
	}
	port, err := k.Neutron.CreatePort(neutron.PortSpec{ProjectID: k.Account.ProjectID, SubnetID: k.Subnet.ID})
	if err != nil {
		t.Fatal(err)
	}
	moved := node.DeepCopy()
	moved.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: port.FixedIPs[0].Address}}
	k.set(moved)
	k.settle()
	k.wantRoutes("10.244.1.0/24 via " + port.FixedIPs[0].Address)
}

// One answer of a Neutron that does not know the extension, while an upgrade goes on
// perhaps, is not believed for ever.
func TestRoutes_UseAtomicExtensionAgainOnceNeutronHasIt(t *testing.T) {
	t.Parallel()
	c := newCloud(t, simulator.Options{})
	k := c.cluster("a")
	unknown := c.Faults.Add(faults.Rule{
		Method: http.MethodPut, Route: "/network/v2.0/routers/*/add_extraroutes", Status: http.StatusNotFound,
		Body: `{"NeutronError":{"type":"HTTPNotFound","message":"The resource could not be found.","detail":""}}`,
	})
	k.join("node-1", "10.100.1.0/24")
	k.settle()
	unknown()
	k.spent()
	k.join("node-2", "10.100.2.0/24")
	k.settle()
	if spent := k.spent(); count(spent, "add_extraroutes") != 0 {
		t.Errorf("tried again at once: %q", spent)
	}
	k.clock.Step(10 * time.Minute)
	k.join("node-3", "10.100.3.0/24")
	k.settle()
	if spent := k.spent(); count(spent, "add_extraroutes") != 1 {
		t.Errorf("not tried again after ten minutes: %q", spent)
	}
	if got := c.routes(); len(got) != 3 {
		t.Errorf("routes are %q", got)
	}
}

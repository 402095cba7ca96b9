package neutron_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/extraroutes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

func TestARouterHoldsItsAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neutron.Options{})
	router, err := routers.Get(t.Context(), w.member(), w.router.ID).Extract()
	must(t, err)
	if router.GatewayInfo.NetworkID != w.external.ID || len(router.GatewayInfo.ExternalFixedIPs) != 1 {
		t.Errorf("gateway is %+v", router.GatewayInfo)
	}
	interfaces := []string{}
	for _, port := range w.Ports() {
		if port.DeviceID == w.router.ID && port.DeviceOwner == "network:router_interface" {
			interfaces = append(interfaces, port.FixedIPs[0].Address)
		}
	}
	if !slices.Equal(interfaces, []string{"10.6.0.1", "fd00:6::1"}) {
		t.Errorf("interfaces are %v", interfaces)
	}
	w.refused(http.MethodGet, "/v2.0/routers/nope", nil, 404, "RouterNotFound")
	if got := w.names("/v2.0/routers"); !slices.Equal(got, []string{"k8s-router"}) {
		t.Errorf("routers are %v", got)
	}
}

func TestARouterThatCannotBeConnectedIsNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neutron.Options{})
	before := len(w.Ports())
	_, err := w.AddRouter(neutron.RouterSpec{ProjectID: project, ExternalNetworkID: w.external.ID, SubnetIDs: []string{w.subnet.ID}})
	refusal(t, err, 409, "IpAddressAlreadyAllocated")
	if len(w.Routers()) != 1 || len(w.Ports()) != before {
		t.Errorf("%d routers and %d ports are left, want 1 and %d", len(w.Routers()), len(w.Ports()), before)
	}
	refusal(t, w.AddRouterInterface("nope", w.subnet.ID), 404, "RouterNotFound")
	refusal(t, w.AddRouterInterface(w.router.ID, "nope"), 404, "SubnetNotFound")
}

func TestRoutesAreReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neutron.Options{})
	first := []routers.Route{{DestinationCIDR: "10.100.0.0/24", NextHop: "10.6.0.20"}, {DestinationCIDR: "fd00:100::/64", NextHop: "fd00:6::20"}}
	router, err := routers.Update(t.Context(), w.member(), w.router.ID, routers.UpdateOpts{Routes: &first}).Extract()
	if err != nil || !slices.Equal(router.Routes, first) {
		t.Errorf("routes are %v %v", router, err)
	}
	second := []routers.Route{{DestinationCIDR: "10.100.1.0/24", NextHop: "10.6.0.21"}}
	router, err = routers.Update(t.Context(), w.member(), w.router.ID, routers.UpdateOpts{Name: "renamed", Routes: &second}).Extract()
	if err != nil || !slices.Equal(router.Routes, second) || router.Name != "renamed" {
		t.Errorf("routes are %v %v", router, err)
	}
	if got := w.Routers()[0].Routes; !slices.Equal(got, []neutron.Route{{Destination: "10.100.1.0/24", NextHop: "10.6.0.21"}}) {
		t.Errorf("the Go side sees %v", got)
	}
	if _, err := routers.Update(t.Context(), w.member(), w.router.ID, routers.UpdateOpts{Name: "again"}).Extract(); err != nil {
		t.Fatal(err)
	}
	if got := w.Routers()[0].Routes; len(got) != 1 {
		t.Errorf("a change of the name left the routes %v", got)
	}
}

func TestRoutesAreAddedAndRemovedOneByOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neutron.Options{})
	a, b := routers.Route{DestinationCIDR: "10.100.0.0/24", NextHop: "10.6.0.20"}, routers.Route{DestinationCIDR: "10.100.1.0/24", NextHop: "10.6.0.21"}
	for _, routes := range [][]routers.Route{{a}, {a, b}} {
		if _, err := extraroutes.Add(t.Context(), w.member(), w.router.ID, extraroutes.Opts{Routes: &routes}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	router, err := extraroutes.Remove(t.Context(), w.member(), w.router.ID, extraroutes.Opts{Routes: &[]routers.Route{a}}).Extract()
	if err != nil || !slices.Equal(router.Routes, []routers.Route{b}) {
		t.Errorf("routes are %v %v", router, err)
	}
	router, err = extraroutes.Remove(t.Context(), w.member(), w.router.ID, extraroutes.Opts{Routes: &[]routers.Route{a}}).Extract()
	if err != nil || !slices.Equal(router.Routes, []routers.Route{b}) {
		t.Errorf("after removing what is not there routes are %v %v", router, err)
	}
}

func TestRoutesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neutron.Options{})
	route := func(destination, nextHop string) map[string]any {
		return map[string]any{"destination": destination, "nexthop": nextHop}
	}
	var many []any
	for i := range 31 {
		many = append(many, route(fmt.Sprintf("10.100.%d.0/24", i), "10.6.0.20"))
	}
	for name, test := range map[string]struct {
		routes []any
		kind   string
	}{
		"next hop elsewhere":     {[]any{route("10.100.0.0/24", "10.7.0.20")}, "InvalidRoutes"},
		"next hop is the router": {[]any{route("10.100.0.0/24", "10.6.0.1")}, "InvalidRoutes"},
		"no next hop":            {[]any{route("10.100.0.0/24", "router")}, "InvalidRoutes"},
		"no destination":         {[]any{route("10.100.0.0", "10.6.0.20")}, "AddrFormatError"},
		"twice the same":         {[]any{route("10.100.0.0/24", "10.6.0.20"), route("10.100.0.0/24", "10.6.0.20")}, "HTTPBadRequest"},
		"too many":               {many, "RoutesExhausted"},
	} {
		t.Log(name)
		w.refused(http.MethodPut, "/v2.0/routers/"+w.router.ID, map[string]any{"router": map[string]any{"routes": test.routes}}, 400, test.kind)
	}
	w.refused(http.MethodPut, "/v2.0/routers/nope", map[string]any{"router": map[string]any{}}, 404, "RouterNotFound")
	w.refused(http.MethodPut, "/v2.0/routers/nope/add_extraroutes", map[string]any{"router": map[string]any{}}, 404, "RouterNotFound")
	w.refused(http.MethodPut, "/v2.0/routers/"+w.router.ID, map[string]any{"router": map[string]any{"status": "DOWN"}}, 400, "HTTPBadRequest")
	if got := w.Routers()[0].Routes; len(got) != 0 {
		t.Errorf("routes are %v", got)
	}
}

func TestWithoutTheAtomicExtensionItsActionsAreUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, neutron.Options{Extensions: []string{"extraroute", "router"}, MaxRoutes: 1})
	opts := extraroutes.Opts{Routes: &[]routers.Route{}}
	for _, err := range []error{
		extraroutes.Add(t.Context(), w.member(), w.router.ID, opts).Err, extraroutes.Remove(t.Context(), w.member(), w.router.ID, opts).Err,
	} {
		if !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			t.Errorf("the answer is %v", err)
		}
	}
	must(t, w.SetRoutes(w.router.ID, []neutron.Route{{Destination: "10.100.0.0/24", NextHop: "10.6.0.20"}}))
	refusal(t, w.SetRoutes("nope", nil), 404, "RouterNotFound")
	refusal(t, w.SetRoutes(w.router.ID, make([]neutron.Route, 2)), 400, "RoutesExhausted")
}

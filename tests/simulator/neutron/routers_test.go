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

func TestRouters_HoldTheirAddresses(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	router, err := routers.Get(t.Context(), env.member(), env.router.ID).Extract()
	must(t, err)
	if router.GatewayInfo.NetworkID != env.external.ID || len(router.GatewayInfo.ExternalFixedIPs) != 1 {
		t.Errorf("gateway is %+v", router.GatewayInfo)
	}
	interfaces := []string{}
	for _, port := range env.Ports() {
		if port.DeviceID == env.router.ID && port.DeviceOwner == "network:router_interface" {
			interfaces = append(interfaces, port.FixedIPs[0].Address)
		}
	}
	if !slices.Equal(interfaces, []string{"10.6.0.1", "fd00:6::1"}) {
		t.Errorf("interfaces are %v", interfaces)
	}
	env.refused(http.MethodGet, "/v2.0/routers/nope", nil, 404, "RouterNotFound")
	if got := env.names("/v2.0/routers"); !slices.Equal(got, []string{"k8s-router"}) {
		t.Errorf("routers are %v", got)
	}
}

func TestRouters_AreNotKeptWhenConnectionFails(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	before := len(env.Ports())
	_, err := env.AddRouter(neutron.RouterSpec{ProjectID: project, ExternalNetworkID: env.external.ID, SubnetIDs: []string{env.subnet.ID}})
	refusal(t, err, 409, "IpAddressAlreadyAllocated")
	if len(env.Routers()) != 1 || len(env.Ports()) != before {
		t.Errorf("%d routers and %d ports are left, want 1 and %d", len(env.Routers()), len(env.Ports()), before)
	}
	refusal(t, env.AddRouterInterface("nope", env.subnet.ID), 404, "RouterNotFound")
	refusal(t, env.AddRouterInterface(env.router.ID, "nope"), 404, "SubnetNotFound")
}

func TestRoutes_AreReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	first := []routers.Route{{DestinationCIDR: "10.100.0.0/24", NextHop: "10.6.0.20"}, {DestinationCIDR: "fd00:100::/64", NextHop: "fd00:6::20"}}
	router, err := routers.Update(t.Context(), env.member(), env.router.ID, routers.UpdateOpts{Routes: &first}).Extract()
	if err != nil || !slices.Equal(router.Routes, first) {
		t.Errorf("routes are %v %v", router, err)
	}
	second := []routers.Route{{DestinationCIDR: "10.100.1.0/24", NextHop: "10.6.0.21"}}
	router, err = routers.Update(t.Context(), env.member(), env.router.ID, routers.UpdateOpts{Name: "renamed", Routes: &second}).Extract()
	if err != nil || !slices.Equal(router.Routes, second) || router.Name != "renamed" {
		t.Errorf("routes are %v %v", router, err)
	}
	if got := env.Routers()[0].Routes; !slices.Equal(got, []neutron.Route{{Destination: "10.100.1.0/24", NextHop: "10.6.0.21"}}) {
		t.Errorf("the Go side sees %v", got)
	}
	if _, err := routers.Update(t.Context(), env.member(), env.router.ID, routers.UpdateOpts{Name: "again"}).Extract(); err != nil {
		t.Fatal(err)
	}
	if got := env.Routers()[0].Routes; len(got) != 1 {
		t.Errorf("a change of the name left the routes %v", got)
	}
}

func TestRoutes_AreAddedAndRemovedOneByOne(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
	a, b := routers.Route{DestinationCIDR: "10.100.0.0/24", NextHop: "10.6.0.20"}, routers.Route{DestinationCIDR: "10.100.1.0/24", NextHop: "10.6.0.21"}
	for _, routes := range [][]routers.Route{{a}, {a, b}} {
		if _, err := extraroutes.Add(t.Context(), env.member(), env.router.ID, extraroutes.Opts{Routes: &routes}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	router, err := extraroutes.Remove(t.Context(), env.member(), env.router.ID, extraroutes.Opts{Routes: &[]routers.Route{a}}).Extract()
	if err != nil || !slices.Equal(router.Routes, []routers.Route{b}) {
		t.Errorf("routes are %v %v", router, err)
	}
	router, err = extraroutes.Remove(t.Context(), env.member(), env.router.ID, extraroutes.Opts{Routes: &[]routers.Route{a}}).Extract()
	if err != nil || !slices.Equal(router.Routes, []routers.Route{b}) {
		t.Errorf("after removing what is not there routes are %v %v", router, err)
	}
}

func TestRoutes_AreRefusedWhenInvalid(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{})
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
		env.refused(http.MethodPut, "/v2.0/routers/"+env.router.ID, map[string]any{"router": map[string]any{"routes": test.routes}}, 400, test.kind)
	}
	env.refused(http.MethodPut, "/v2.0/routers/nope", map[string]any{"router": map[string]any{}}, 404, "RouterNotFound")
	env.refused(http.MethodPut, "/v2.0/routers/nope/add_extraroutes", map[string]any{"router": map[string]any{}}, 404, "RouterNotFound")
	env.refused(http.MethodPut, "/v2.0/routers/"+env.router.ID, map[string]any{"router": map[string]any{"status": "DOWN"}}, 400, "HTTPBadRequest")
	if got := env.Routers()[0].Routes; len(got) != 0 {
		t.Errorf("routes are %v", got)
	}
}

func TestRoutes_HaveNoAtomicActionsWithoutExtension(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, neutron.Options{Extensions: []string{"extraroute", "router"}, MaxRoutes: 1})
	opts := extraroutes.Opts{Routes: &[]routers.Route{}}
	for _, err := range []error{
		extraroutes.Add(t.Context(), env.member(), env.router.ID, opts).Err, extraroutes.Remove(t.Context(), env.member(), env.router.ID, opts).Err,
	} {
		if !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			t.Errorf("the answer is %v", err)
		}
	}
	must(t, env.SetRoutes(env.router.ID, []neutron.Route{{Destination: "10.100.0.0/24", NextHop: "10.6.0.20"}}))
	refusal(t, env.SetRoutes("nope", nil), 404, "RouterNotFound")
	refusal(t, env.SetRoutes(env.router.ID, make([]neutron.Route, 2)), 400, "RoutesExhausted")
}

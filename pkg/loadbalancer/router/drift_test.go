package router_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// applied is a network with the VIP of a Service that is as it was applied.
func applied() (*network, *model.LoadBalancer) {
	n := &network{
		vips:     []neutron.VIPPort{vipOf(serviceOf("here", "other"), "z", "vips", "10.9.0.9"), vipOf(web(), "a", "vips", "10.9.0.4")},
		routes:   []neutron.ExtraRoute{routeTo("10.9.0.4/32", "10.6.0.12"), routeTo("10.9.0.4/32", "10.6.0.11"), routeTo("10.9.0.9/32", "10.6.0.13")},
		ports:    []neutron.RoutedPort{portAt("10.6.0.11", "10.9.0.0/24"), portAt("10.6.0.12", "10.9.0.0/24")},
		floating: []floatingips.FloatingIP{{ID: "fip-z", PortID: "z"}, {ID: "fip", PortID: "a"}},
	}
	return n, &model.LoadBalancer{
		VIP: model.VIP{PortID: "a", SubnetID: "vips", Address: "10.9.0.4"}, NextHops: []string{"10.6.0.11", "10.6.0.12"}, FloatingIP: &model.FloatingIP{ID: "fip"},
	}
}

func TestChanged_NamesFirstDifference(t *testing.T) {
	t.Parallel()
	const (
		port, address, routes = "the port of the VIP was deleted", "the address of the VIP was changed", "the routes to the VIP were changed"
		admits, floating      = "the port of a node does not admit packets for the VIP any more", "the floating IP of the VIP was changed"
	)
	for name, test := range map[string]struct {
		change func(n *network, lb *model.LoadBalancer)
		want   string
	}{
		"nothing":             {func(*network, *model.LoadBalancer) {}, ""},
		"the port is gone":    {func(n *network, _ *model.LoadBalancer) { n.vips = n.vips[:1] }, port},
		"another address":     {func(n *network, _ *model.LoadBalancer) { n.vips[1].FixedIPs[0].IPAddress = "10.9.0.5" }, address},
		"no address any more": {func(n *network, _ *model.LoadBalancer) { n.vips[1].FixedIPs = nil }, address},
		"a route is gone":     {func(n *network, _ *model.LoadBalancer) { n.routes = n.routes[1:] }, routes},
		"a route more": {func(n *network, _ *model.LoadBalancer) {
			n.routes = append(n.routes, routeTo("10.9.0.4/32", "10.6.0.13"))
		}, routes},
		"another next hop":       {func(n *network, _ *model.LoadBalancer) { n.routes[0].NextHop = "10.6.0.13" }, routes},
		"a route of another VIP": {func(n *network, _ *model.LoadBalancer) { n.routes = n.routes[:2] }, ""},
		"a route to the whole pool": {func(n *network, _ *model.LoadBalancer) {
			n.routes = append(n.routes, routeTo("10.9.0.0/24", "10.6.0.13"))
		}, ""},
		"a pair is gone":                 {func(n *network, _ *model.LoadBalancer) { n.ports[1] = portAt("10.6.0.12") }, admits},
		"a node's port is gone":          {func(n *network, _ *model.LoadBalancer) { n.ports = n.ports[:1] }, admits},
		"it was barred before":           {func(n *network, lb *model.LoadBalancer) { n.ports, lb.Barred = n.ports[:1], []string{"10.6.0.12"} }, ""},
		"it is not barred any more":      {func(_ *network, lb *model.LoadBalancer) { lb.Barred = []string{"10.6.0.12"} }, ""},
		"the floating IP is gone":        {func(n *network, _ *model.LoadBalancer) { n.floating = n.floating[:1] }, floating},
		"the floating IP is another one": {func(n *network, _ *model.LoadBalancer) { n.floating[1].ID = "fip-b" }, floating},
		"it has none":                    {func(n *network, lb *model.LoadBalancer) { n.floating, lb.FloatingIP = n.floating[:1], nil }, ""},
		"it gets one":                    {func(_ *network, lb *model.LoadBalancer) { lb.FloatingIP = nil }, floating},
		"no router leads there any more": {func(_ *network, lb *model.LoadBalancer) { lb.VIP.SubnetID = "lost" }, routes},
	} {
		n, lb := applied()
		test.change(n, lb)
		got, err := portsOf(n).Changed(t.Context(), ownership.ClusterTag("here"), map[types.UID]*state.Routed{"web": {LoadBalancer: lb}})
		want := map[types.UID]string{}
		if test.want != "" {
			want["web"] = test.want
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %s, error %v", name, diff, err)
		}
	}
}

func TestChanged_ReadsEverythingOnceForAllServices(t *testing.T) {
	t.Parallel()
	n, lb := applied()
	other := &model.LoadBalancer{VIP: model.VIP{PortID: "z", SubnetID: "vips", Address: "10.9.0.9"}, NextHops: []string{"10.6.0.12"}, FloatingIP: &model.FloatingIP{ID: "fip-z"}}
	known := map[types.UID]*state.Routed{"web": {LoadBalancer: lb}, "other": {LoadBalancer: other}}
	got, err := portsOf(n).Changed(t.Context(), "tag", known)
	if diff := cmp.Diff(map[types.UID]string{"other": "the routes to the VIP were changed"}, got); diff != "" || err != nil {
		t.Errorf("%s, error %v", diff, err)
	}
	n.assertSent(t, "two Services", "list tag", "floating", "ports 10.6.0.11 10.6.0.12", "router r1")
}

func TestChanged_FailsUnlessEverythingIsRead(t *testing.T) {
	t.Parallel()
	for _, fails := range []string{"list", "floating", "ports", "router", "broken"} {
		n, lb := applied()
		n.fails = map[string]error{fails: errFailed}
		if fails == "broken" {
			lb.VIP.SubnetID = "broken"
		}
		got, err := portsOf(n).Changed(t.Context(), "tag", map[types.UID]*state.Routed{"web": {LoadBalancer: lb}})
		if got != nil || !errors.Is(err, errFailed) {
			t.Errorf("%s: %v, error %v", fails, got, err)
		}
	}
}

// forwards returns the forwarding of a port to port 30080 at an address.
func forwards(protocol string, port int, address string) model.Forwarding {
	return model.Forwarding{ID: "f", Key: model.ListenerKey{Transport: model.Protocol(protocol), Port: port}, PortID: "node", Address: address, NodePort: 30080}
}

func TestForwardingsChanged_ComparesThoseOfService(t *testing.T) {
	t.Parallel()
	listed := func(port int, address string) neutron.Forwarding {
		return neutron.Forwarding{ID: "g", Protocol: "tcp", ExternalPort: port, InternalPort: 30080, InternalIPAddress: address, InternalPortID: "node"}
	}
	const gone, changed = "the floating IP has no port forwardings any more", "the port forwardings were changed"
	for name, test := range map[string]struct {
		listed  []neutron.Forwarding
		applied []model.Forwarding
		want    string
	}{
		"as applied":             {[]neutron.Forwarding{listed(80, "10.6.0.11")}, []model.Forwarding{forwards("TCP", 80, "10.6.0.11")}, ""},
		"one of another owner":   {[]neutron.Forwarding{listed(81, "10.6.0.12"), listed(80, "10.6.0.11")}, []model.Forwarding{forwards("TCP", 80, "10.6.0.11")}, ""},
		"one is gone":            {[]neutron.Forwarding{listed(80, "10.6.0.11")}, []model.Forwarding{forwards("TCP", 80, "10.6.0.11"), forwards("TCP", 81, "10.6.0.11")}, changed},
		"another target":         {[]neutron.Forwarding{listed(80, "10.6.0.12")}, []model.Forwarding{forwards("TCP", 80, "10.6.0.11")}, changed},
		"all are gone":           {nil, []model.Forwarding{forwards("TCP", 80, "10.6.0.11")}, gone},
		"none, and none applied": {nil, nil, ""},
	} {
		n := &network{forwarded: []neutron.ForwardedIP{{ID: "fip-z", Forwardings: []neutron.Forwarding{listed(80, "10.6.0.99")}}}}
		if test.listed != nil {
			n.forwarded = append(n.forwarded, neutron.ForwardedIP{ID: "fip", Forwardings: test.listed})
		}
		known := map[types.UID]*state.Routed{"web": {LoadBalancer: &model.LoadBalancer{FloatingIP: &model.FloatingIP{ID: "fip"}, Forwardings: test.applied}}}
		for range 2 { // their order does not matter
			got, err := forwardingsOf(n).Changed(t.Context(), known)
			if err != nil || got["web"] != test.want || len(got) > 1 || (len(got) == 1) != (test.want != "") {
				t.Errorf("%s: %v, error %v", name, got, err)
			}
			slices.Reverse(n.forwarded)
		}
	}
	n := &network{fails: map[string]error{"forwarded": errFailed}}
	if got, err := forwardingsOf(n).Changed(t.Context(), nil); got != nil || !errors.Is(err, errFailed) {
		t.Errorf("the list fails: %v, error %v", got, err)
	}
}

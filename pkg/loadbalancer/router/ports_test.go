package router_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// shown returns the port, the address and the next hops of each load balancer.
func shown(all []model.LoadBalancer) []string {
	var texts []string
	for _, lb := range all {
		texts = append(texts, strings.TrimSpace(strings.Join(append([]string{lb.VIP.PortID, lb.VIP.Address}, lb.NextHops...), " ")))
	}
	return texts
}

func TestFind_ReturnsVIPsOfServiceWithNextHops(t *testing.T) {
	t.Parallel()
	another, elsewhere := serviceOf("here", "other"), serviceOf("elsewhere", "web")
	n := &network{
		vips: []neutron.VIPPort{
			vipOf(web(), "a", ""), vipOf(web(), "d", "vips", "10.9.0.4"), vipOf(another, "b", "vips", "10.9.0.2"),
			vipOf(elsewhere, "c", "vips", "10.9.0.3"), vipOf(web(), "b2", "vips", "10.9.0.5"), vipOf(web(), "e", "lost", "10.7.0.1"), vipOf(web(), "f", "others", "10.8.0.1"),
			vipOf(web(), "g", "vips", "10.9.0.7", "10.9.0.8"),
		},
		routes: []neutron.ExtraRoute{
			routeTo("10.9.0.4/32", "10.6.0.12"), routeTo("10.9.0.4/32", "10.6.0.11"), routeTo("10.9.0.0/24", "10.6.0.13"), routeTo("10.8.0.1/32", "10.6.0.14"),
		},
	}
	all, err := portsOf(n).Find(t.Context(), web())
	if err != nil {
		t.Fatal(err)
	}
	// Those with an address come first, then by ID. No router leads to e.
	want := []string{"b2 10.9.0.5", "d 10.9.0.4 10.6.0.11 10.6.0.12", "e 10.7.0.1", "f 10.8.0.1 10.6.0.14", "g 10.9.0.7", "a"}
	if diff := cmp.Diff(want, shown(all)); diff != "" {
		t.Error(diff)
	}
	n.assertSent(t, "each router is read once", "list "+web().ServiceTag(), "router r1", "router r2")
	first := model.LoadBalancer{
		ID: "b2", Name: web().Name(), Description: web().ProvenDescription(), Tags: web().Tags(), Provider: "router",
		VIP: model.VIP{NetworkID: "net", SubnetID: "vips", PortID: "b2", Address: "10.9.0.5"}, Status: model.Status{Provisioning: "ACTIVE"},
	}
	if diff := cmp.Diff(first, all[0]); diff != "" {
		t.Error(diff)
	}
}

func TestFind_FailsUnlessEverythingIsRead(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]*network{
		"no list":     {fails: map[string]error{"list": errFailed}},
		"no router":   {vips: []neutron.VIPPort{vipOf(web(), "a", "vips", "10.9.0.4")}, fails: map[string]error{"router": errFailed}},
		"no pool":     {vips: []neutron.VIPPort{vipOf(web(), "a", "broken", "10.9.0.4")}},
		"no address":  {vips: []neutron.VIPPort{vipOf(web(), "a", "vips", "10.9.0")}},
		"another one": {vips: []neutron.VIPPort{vipOf(web(), "a", "vips", "10.9.0.4"), vipOf(web(), "b", "broken", "10.9.0.5")}},
	} {
		if all, err := portsOf(n).Find(t.Context(), web()); err == nil || all != nil || name != "no address" && !errors.Is(err, errFailed) {
			t.Errorf("%s: %v, error %v", name, shown(all), err)
		}
	}
}

func TestPublished_PrefersPublishedThenFirstAddress(t *testing.T) {
	t.Parallel()
	at := func(addresses ...string) (all []model.LoadBalancer) {
		for _, address := range addresses {
			all = append(all, model.LoadBalancer{VIP: model.VIP{Address: address}})
		}
		return all
	}
	for name, test := range map[string]struct {
		all       []model.LoadBalancer
		published []string
		want      int
	}{
		"none":                        {nil, []string{"10.9.0.4"}, -1},
		"none with an address":        {at("", ""), []string{"10.9.0.4"}, -1},
		"nothing is published":        {at("", "10.9.0.4", "10.9.0.5"), nil, 1},
		"the second is published":     {at("10.9.0.4", "10.9.0.5"), []string{"203.0.113.1", "10.9.0.5"}, 1},
		"another address is":          {at("10.9.0.4", "10.9.0.5"), []string{"10.9.0.6"}, 0},
		"the first is published, too": {at("10.9.0.4", "10.9.0.5"), []string{"10.9.0.5", "10.9.0.4"}, 0},
	} {
		if got := router.Published(test.all, test.published); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func TestCreate_CompletesWhatWasInterrupted(t *testing.T) {
	t.Parallel()
	// without returns the port of an interrupted creation.
	without := func(id ownership.Identity, port, subnet, address string) neutron.VIPPort {
		vip := vipOf(id, port, subnet, address)
		vip.Tags = nil
		return vip
	}
	tags := strings.Join(web().Tags(), " ")
	for name, test := range map[string]struct {
		vips    []neutron.VIPPort
		address string // requested
		port    string // of the result
		sent    []string
	}{
		"none":                      {nil, "", "new", []string{"create " + web().Name() + " in vips"}},
		"none, an address":          {nil, "10.9.0.7", "new", []string{"create " + web().Name() + " in vips 10.9.0.7"}},
		"one":                       {[]neutron.VIPPort{without(web(), "a", "vips", "10.9.0.4")}, "", "a", []string{"tag a " + tags}},
		"one with the address":      {[]neutron.VIPPort{without(web(), "a", "vips", "10.9.0.4")}, "10.9.0.4", "a", []string{"tag a " + tags}},
		"one with another":          {[]neutron.VIPPort{without(web(), "a", "vips", "10.9.0.4")}, "10.9.0.7", "new", []string{"delete a", "create " + web().Name() + " in vips 10.9.0.7"}},
		"one in another subnet":     {[]neutron.VIPPort{without(web(), "a", "others", "10.9.0.4")}, "", "new", []string{"delete a", "create " + web().Name() + " in vips"}},
		"a wrong and a right one":   {[]neutron.VIPPort{without(web(), "a", "others", "10.8.0.4"), without(web(), "b", "vips", "10.9.0.4")}, "", "b", []string{"delete a", "tag b " + tags}},
		"two right ones":            {[]neutron.VIPPort{without(web(), "a", "vips", "10.9.0.4"), without(web(), "b", "vips", "10.9.0.5")}, "", "a", []string{"tag a " + tags}},
		"one of another cluster":    {[]neutron.VIPPort{without(serviceOf("elsewhere", "web"), "a", "others", "10.8.0.4")}, "", "new", []string{"create " + web().Name() + " in vips"}},
		"one that has tags already": {[]neutron.VIPPort{vipOf(web(), "a", "others", "10.8.0.4")}, "", "new", []string{"create " + web().Name() + " in vips"}},
	} {
		n := &network{vips: test.vips}
		want := model.LoadBalancer{
			Name: web().Name(), Description: web().ProvenDescription(), Tags: web().Tags(), VIP: model.VIP{NetworkID: "net", SubnetID: "vips", Address: test.address},
		}
		got, err := portsOf(n).Create(t.Context(), web(), want)
		if err != nil || got.VIP.PortID != test.port || got.ID != test.port || !slices.Equal(got.Tags, web().Tags()) || got.VIP.SubnetID != "vips" {
			t.Errorf("%s: %+v, error %v", name, got, err)
		}
		n.assertSent(t, name, append([]string{"described " + web().ProvenDescription()}, test.sent...)...)
	}
	for _, fails := range []string{"described", "delete", "tag", "create"} {
		vips := map[string][]neutron.VIPPort{
			"delete": {without(web(), "a", "others", "10.8.0.4")}, "tag": {without(web(), "a", "vips", "10.9.0.4")},
		}
		n := &network{vips: vips[fails], fails: map[string]error{fails: errFailed}}
		got, err := portsOf(n).Create(t.Context(), web(), model.LoadBalancer{VIP: model.VIP{SubnetID: "vips"}})
		if !errors.Is(err, errFailed) || got.ID != "" {
			t.Errorf("%s fails: %+v, error %v", fails, got, err)
		}
	}
}

func TestUntagged_ReturnsInterruptedCreationsOfService(t *testing.T) {
	t.Parallel()
	interrupted := vipOf(web(), "a", "vips", "10.9.0.4")
	interrupted.Tags = nil
	n := &network{vips: []neutron.VIPPort{interrupted, vipOf(web(), "b", "vips", "10.9.0.5")}}
	all, err := portsOf(n).Untagged(t.Context(), web())
	if want := []string{"a 10.9.0.4"}; err != nil || !slices.Equal(shown(all), want) {
		t.Errorf("%v, error %v, want %v", shown(all), err, want)
	}
}

func TestLead_AddsAndRemovesRoutesOfOneAddress(t *testing.T) {
	t.Parallel()
	n := &network{
		routes: []neutron.ExtraRoute{routeTo("10.9.0.4/32", "10.6.0.12"), routeTo("10.9.0.5/32", "10.6.0.12")},
		ports:  []neutron.RoutedPort{portAt("10.6.0.11")},
	}
	p, vip := portsOf(n), model.VIP{PortID: "a", SubnetID: "vips", Address: "10.9.0.4"}
	if err := p.Lead(t.Context(), vip, []string{"10.6.0.11"}); err != nil {
		t.Fatal(err)
	}
	var writes []string
	for _, request := range n.sent {
		if verb, _, _ := strings.Cut(request, " "); verb == "add" || verb == "remove" || verb == "pairs" {
			writes = append(writes, request)
		}
	}
	want := []string{"pairs port-10.6.0.11 [{10.9.0.0/24 mac}]", "add r1 [{10.9.0.4/32 10.6.0.11}]", "remove r1 [{10.9.0.4/32 10.6.0.12}]"}
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Error(diff)
	}
}

func TestLead_FailsForWrongAddressHopAndPool(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		vip  model.VIP
		hops []string
		want string
	}{
		"no address":   {model.VIP{PortID: "a", SubnetID: "vips"}, nil, "address of VIP port a"},
		"no hop":       {model.VIP{SubnetID: "vips", Address: "10.9.0.4"}, []string{"node-1"}, "next hop of VIP 10.9.0.4"},
		"no router":    {model.VIP{SubnetID: "lost", Address: "10.9.0.4"}, nil, "no router leads there"},
		"a broken one": {model.VIP{SubnetID: "broken", Address: "10.9.0.4"}, nil, "failed"},
	} {
		n := &network{}
		if err := portsOf(n).Lead(t.Context(), test.vip, test.hops); err == nil || !strings.Contains(err.Error(), test.want) || len(n.sent) > 0 {
			t.Errorf("%s: error %v, sent %v", name, err, n.sent)
		}
	}
}

func TestDelete_NeedsThePort(t *testing.T) {
	t.Parallel()
	n := &network{}
	if err := portsOf(n).Delete(t.Context(), ""); err == nil {
		t.Error("no error without a port")
	}
	n.assertSent(t, "without a port")
	if err := portsOf(n).Delete(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	n.assertSent(t, "with a port", "delete a")
}

func TestBarred_AreNextHopsWithoutPortThatAdmitsThePool(t *testing.T) {
	t.Parallel()
	open, unsupported := portAt("10.6.0.11"), portAt("10.6.0.11")
	open.PortSecurity, unsupported.AddressPairs = ptr.To(false), nil
	for name, test := range map[string]struct {
		ports  []neutron.RoutedPort
		subnet string
		hops   []string
		want   []string
	}{
		"no next hop":                    {nil, "vips", nil, nil},
		"no port":                        {nil, "vips", []string{"10.6.0.11"}, []string{"10.6.0.11"}},
		"a port without a pair":          {[]neutron.RoutedPort{portAt("10.6.0.11")}, "vips", []string{"10.6.0.11"}, []string{"10.6.0.11"}},
		"a pair of the pool":             {[]neutron.RoutedPort{portAt("10.6.0.11", "10.9.0.0/24")}, "vips", []string{"10.6.0.11"}, nil},
		"a wider pair":                   {[]neutron.RoutedPort{portAt("10.6.0.11", "10.8.0.0/14")}, "vips", []string{"10.6.0.11"}, nil},
		"a pair of another pool":         {[]neutron.RoutedPort{portAt("10.6.0.11", "10.8.0.0/24")}, "vips", []string{"10.6.0.11"}, []string{"10.6.0.11"}},
		"without port security":          {[]neutron.RoutedPort{open}, "vips", []string{"10.6.0.11"}, nil},
		"a Neutron without pairs":        {[]neutron.RoutedPort{unsupported}, "vips", []string{"10.6.0.11"}, nil},
		"a pair on another port":         {[]neutron.RoutedPort{portAt("10.6.0.12", "10.9.0.0/24")}, "vips", []string{"10.6.0.11", "10.6.0.12"}, []string{"10.6.0.11"}},
		"two ports, the second with one": {[]neutron.RoutedPort{portAt("10.6.0.11"), portAt("10.6.0.11", "10.9.0.0/24")}, "vips", []string{"10.6.0.11"}, nil},
		"another spelling":               {[]neutron.RoutedPort{portAt("2001:db8:0:0::b", "10.9.0.0/24")}, "vips", []string{"2001:db8::b"}, nil},
		"no address":                     {[]neutron.RoutedPort{portAt("", "10.9.0.0/24")}, "vips", []string{""}, []string{""}},
		"no router leads there":          {nil, "lost", []string{"10.6.0.11"}, nil},
	} {
		n := &network{ports: test.ports}
		lb := model.LoadBalancer{VIP: model.VIP{SubnetID: test.subnet}, NextHops: slices.Clone(test.hops)}
		got, err := portsOf(n).Barred(t.Context(), lb)
		if err != nil || !slices.Equal(got, test.want) || !slices.Equal(lb.NextHops, test.hops) {
			t.Errorf("%s: %v, error %v, want %v", name, got, err, test.want)
		}
	}
	for name, n := range map[string]*network{"vips": {fails: map[string]error{"ports": errFailed}}, "broken": {}} {
		lb := model.LoadBalancer{VIP: model.VIP{SubnetID: name}, NextHops: []string{"10.6.0.11"}}
		if got, err := portsOf(n).Barred(t.Context(), lb); got != nil || !errors.Is(err, errFailed) {
			t.Errorf("%s: %v, error %v", name, got, err)
		}
	}
}

// The router of a subnet may be another project's by now.
func TestFirst_ReadsServicesBesideRouterThatTheProjectDoesNotSee(t *testing.T) {
	t.Parallel()
	n := &network{
		vips:  []neutron.VIPPort{vipOf(web(), "a", "vips", "10.9.0.4"), vipOf(serviceOf("here", "other"), "b", "vips", "10.9.0.5")},
		fails: map[string]error{"router": noRouter()},
	}
	all, err := portsOf(n).First(t.Context(), ownership.ClusterTag("here"), time.Minute)
	if err != nil || len(all) != 2 || !slices.Equal(shown(all["web"]), []string{"a 10.9.0.4"}) {
		t.Errorf("%v, error %v", all, err)
	}
	n.assertSent(t, "one for both", "list "+ownership.ClusterTag("here"), "router r1")
}

// noRouter returns the error of Neutron for a router that does not exist, or is another project's.
func noRouter() error {
	return apierror.Wrap(gophercloud.ErrUnexpectedResponseCode{
		Actual: http.StatusNotFound, Body: []byte(`{"NeutronError": {"type": "RouterNotFound", "message": "Router r1 could not be found", "detail": ""}}`),
	}, "read router")
}

func TestFirst_ReadsServicesOfClusterOnceWithinAge(t *testing.T) {
	t.Parallel()
	unnamed := vipOf(web(), "c", "vips", "10.9.0.6")
	unnamed.Tags = []string{ownership.ClusterTag("here")}
	n := &network{
		vips: []neutron.VIPPort{
			vipOf(web(), "a", "vips", "10.9.0.4"), vipOf(serviceOf("here", "other"), "b", "vips", "10.9.0.5"), unnamed,
			vipOf(serviceOf("elsewhere", "web"), "d", "vips", "10.9.0.7"), vipOf(web(), "e", ""),
		},
		routes: []neutron.ExtraRoute{routeTo("10.9.0.5/32", "10.6.0.11")},
	}
	p := portsOf(n)
	clk := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	p.Clock = clk
	tag := ownership.ClusterTag("here")
	for _, step := range []struct {
		wait time.Duration
		sent []string
	}{
		{0, []string{"list " + tag, "router r1"}}, {time.Minute, nil}, {time.Nanosecond, []string{"list " + tag, "router r1"}},
	} {
		clk.Step(step.wait)
		all, err := p.First(t.Context(), tag, time.Minute)
		if err != nil || len(all) != 2 {
			t.Fatalf("%v, error %v", all, err)
		}
		if got, want := shown(all["web"]), []string{"a 10.9.0.4", "e"}; !slices.Equal(got, want) {
			t.Errorf("of the Service: %v, want %v", got, want)
		}
		if got, want := shown(all["other"]), []string{"b 10.9.0.5 10.6.0.11"}; !slices.Equal(got, want) {
			t.Errorf("of another: %v, want %v", got, want)
		}
		n.assertSent(t, step.wait.String(), step.sent...)
	}
	for name, n := range map[string]*network{
		"list": {fails: map[string]error{"list": errFailed}}, "pool": {vips: []neutron.VIPPort{vipOf(web(), "a", "broken", "10.9.0.4")}},
	} {
		if all, err := portsOf(n).All(t.Context(), tag); all != nil || !errors.Is(err, errFailed) {
			t.Errorf("%s fails: %v, error %v", name, all, err)
		}
	}
}

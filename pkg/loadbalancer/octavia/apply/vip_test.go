package apply_test

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
)

// vipNetwork is the part of Neutron for VIPs of provider router.
type vipNetwork struct {
	router.Neutron
	*ledger
}

func (v vipNetwork) VIPPortsDescribed(context.Context, string) ([]neutron.VIPPort, error) {
	return nil, nil
}

func (v vipNetwork) CreateVIPPort(_ context.Context, want neutron.VIPPort) (*neutron.VIPPort, error) {
	err := v.do("CreateVIPPort", want.FixedIPs[0].SubnetID, want.FixedIPs[0].IPAddress)
	want.ID = "made"
	return &want, err
}

// VIPPorts returns the port that was created without an answer, once the first look is over.
func (v vipNetwork) VIPPorts(context.Context, string) ([]neutron.VIPPort, error) {
	result, err := v.call("VIPPorts")
	port, is := result.(neutron.VIPPort)
	if !is {
		return nil, err
	}
	return []neutron.VIPPort{port}, nil
}

func (v vipNetwork) DeletePort(_ context.Context, id string) error { return v.do("DeletePort", id) }

// PortsWithAddresses returns a port that admits all packets, and one that admits none.
func (v vipNetwork) PortsWithAddresses(context.Context, []string) ([]neutron.RoutedPort, error) {
	at := func(address string) []neutron.FixedIP {
		return []neutron.FixedIP{{SubnetID: "nodes", IPAddress: address}}
	}
	return []neutron.RoutedPort{{ID: "a", FixedIPs: at("10.0.0.11")}, {ID: "b", FixedIPs: at("10.0.0.12"), AddressPairs: &[]neutron.AddressPair{}}}, v.do("PortsWithAddresses")
}

// vipTable is the router of the VIPs.
type vipTable struct {
	routes.Network
	vipNetwork
}

func (v vipTable) Router(_ context.Context, id string) (*neutron.Router, error) {
	return &neutron.Router{ID: id}, v.do("Router", id)
}

func (v vipTable) RouterPorts(context.Context, string) ([]neutron.RoutedPort, error) {
	return []neutron.RoutedPort{{ID: "interface", FixedIPs: []neutron.FixedIP{{SubnetID: "nodes", IPAddress: "10.0.0.1"}}}}, nil
}

func (v vipTable) PortsWithAddresses(ctx context.Context, addresses []string) ([]neutron.RoutedPort, error) {
	return v.vipNetwork.PortsWithAddresses(ctx, addresses)
}

func (v vipTable) AddRoutes(_ context.Context, id string, all []neutron.ExtraRoute) error {
	return v.do("AddRoutes", id, all)
}

// vipPools has one pool, of subnet vips.
type vipPools struct{}

func (vipPools) In(context.Context, string) (*lookup.Pool, error) {
	return &lookup.Pool{SubnetID: "vips", CIDR: netip.MustParsePrefix("10.9.0.0/24"), RouterID: "r"}, nil
}

func portsOf(l *ledger) *router.Ports {
	network := vipNetwork{ledger: l}
	return &router.Ports{Neutron: network, Pools: vipPools{}, Table: func(id string) *routes.Table {
		return routes.New(routes.Options{Network: vipTable{vipNetwork: network}, RouterID: id, Gather: time.Nanosecond})
	}}
}

// routedVIP is the state of a Service of provider router, with another VIP.
func routedVIP() model.Observed {
	at := func(id, address string) model.LoadBalancer {
		return model.LoadBalancer{ID: id, Provider: driver.Router, VIP: model.VIP{SubnetID: "vips", PortID: id, Address: address}}
	}
	lb := at("vip", "10.9.0.9")
	return model.Observed{LoadBalancer: &lb, Duplicates: []model.LoadBalancer{at("old", "10.9.0.8")}}
}

// The preferred address is what the Service has published before. If it is taken, any other serves.
func TestRun_CreatesAVIPWithThePreferredAddressIfItIsFree(t *testing.T) {
	t.Parallel()
	created := func(prefer string) plan.CreateVIP {
		return plan.CreateVIP{Prefer: prefer, LoadBalancer: &model.LoadBalancer{Name: us().Name(), Description: us().ProvenDescription(), Tags: us().Tags(), VIP: model.VIP{SubnetID: "vips"}}}
	}
	ours := neutron.VIPPort{ID: "found", Name: us().Name(), Description: us().ProvenDescription(), Tags: us().Tags()}
	lost := refusal(http.StatusGatewayTimeout, "")
	for name, test := range map[string]struct {
		prefer         string
		answers, looks []any
		sent           []string
		id             string
		status         int
	}{
		"any":                {"", nil, nil, []string{"CreateVIPPort vips "}, "made", 0},
		"preferred":          {"10.9.0.7", nil, nil, []string{"CreateVIPPort vips 10.9.0.7"}, "made", 0},
		"preferred is taken": {"10.9.0.7", []any{refusal(http.StatusConflict, "")}, nil, []string{"CreateVIPPort vips 10.9.0.7", "CreateVIPPort vips "}, "made", 0},
		"refused":            {"10.9.0.7", []any{refusal(http.StatusForbidden, "")}, nil, []string{"CreateVIPPort vips 10.9.0.7"}, "", http.StatusForbidden},
		"lost, and there":    {"", []any{lost}, []any{ours}, []string{"CreateVIPPort vips ", "VIPPorts"}, "found", 0},
		"there later":        {"", []any{lost}, []any{0, ours}, []string{"CreateVIPPort vips ", "VIPPorts", "VIPPorts"}, "found", 0},
		"never there":        {"", []any{lost}, nil, []string{"CreateVIPPort vips ", "VIPPorts", "VIPPorts", "VIPPorts"}, "", http.StatusGatewayTimeout},
		"look fails":         {"", []any{lost}, []any{refusal(http.StatusForbidden, "")}, []string{"CreateVIPPort vips ", "VIPPorts"}, "", http.StatusGatewayTimeout},
	} {
		l, applier := newLedger(t)
		applier.VIPs = portsOf(l)
		l.answer("CreateVIPPort", test.answers...)
		l.answer("VIPPorts", test.looks...)
		observed, err := l.apply(t, applier, model.Observed{}, created(test.prefer))
		l.assertSent(t, name, test.sent...)
		if apierror.StatusCode(err) != test.status || (err == nil) != (observed.LoadBalancer != nil) || err == nil && observed.LoadBalancer.ID != test.id {
			t.Errorf("%s: error %v, load balancer %+v", name, err, observed.LoadBalancer)
		}
	}
}

func TestRun_LeadsAndDeletesVIPs(t *testing.T) {
	t.Parallel()
	hops := []string{"10.0.0.11"}
	for name, test := range map[string]struct {
		step  plan.Step
		fails map[string]any
		sent  string // what a request contains
		err   string
		check func(model.Observed) bool
	}{
		"its own":          {plan.LeadVIP{To: hops}, nil, "10.9.0.9/32", "", func(o model.Observed) bool { return slices.Equal(o.LoadBalancer.NextHops, hops) }},
		"its own, by name": {plan.LeadVIP{Address: "10.9.0.9", To: hops}, nil, "10.9.0.9/32", "", func(o model.Observed) bool { return slices.Equal(o.LoadBalancer.NextHops, hops) }},
		"another": {plan.LeadVIP{Address: "10.9.0.8", To: hops}, nil, "10.9.0.8/32", "", func(o model.Observed) bool {
			return slices.Equal(o.Duplicates[0].NextHops, hops) && o.LoadBalancer.NextHops == nil
		}},
		"one that is gone":  {plan.LeadVIP{Address: "10.9.0.1", To: hops}, nil, "", "VIP 10.9.0.1: it is not there any more", func(o model.Observed) bool { return o.LoadBalancer.NextHops == nil }},
		"refused":           {plan.LeadVIP{To: hops}, map[string]any{"Router": refusal(http.StatusForbidden, "")}, "Router r", "403", func(o model.Observed) bool { return o.LoadBalancer.NextHops == nil }},
		"deletion":          {plan.DeleteVIP{PortID: "vip"}, nil, "DeletePort vip", "", func(o model.Observed) bool { return o.LoadBalancer == nil }},
		"deletion, another": {plan.DeleteVIP{PortID: "old"}, nil, "DeletePort old", "", func(o model.Observed) bool { return len(o.Duplicates) == 0 && o.LoadBalancer != nil }},
		"deletion refused":  {plan.DeleteVIP{PortID: "vip"}, map[string]any{"DeletePort": refusal(http.StatusForbidden, "")}, "DeletePort vip", "403", func(o model.Observed) bool { return o.LoadBalancer != nil }},
	} {
		l, applier := newLedger(t)
		applier.VIPs = portsOf(l)
		for method, answer := range test.fails {
			l.answer(method, answer)
		}
		observed, err := l.apply(t, applier, routedVIP(), test.step)
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v, want %q", name, err, test.err)
		}
		if !test.check(observed) {
			t.Errorf("%s: the state has %+v, and besides %+v", name, observed.LoadBalancer, observed.Duplicates)
		}
		if sent := strings.Join(l.sent, "\n"); !strings.Contains(sent, test.sent) || test.sent == "" && sent != "" {
			t.Errorf("%s: sent %s, want %q", name, sent, test.sent)
		}
	}
}

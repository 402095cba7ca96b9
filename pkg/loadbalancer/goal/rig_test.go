package goal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/async"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/events"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/apply"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/reading"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/watcher"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// rig is an Engine in an OpenStack with these objects. The network vip-net has the subnet vips, 10.77.0.0/24, behind the
// router r1, which is the gateway of the subnet nodes, 10.6.0.0/24. Of the external network public it has no subnet.
type rig struct {
	*Engine
	conf   *config.Config
	store  *state.Store
	record string // of each Service
	// services has the Services of the cluster, endpoints theirs; nil: they are not watched.
	services  Services
	endpoints Endpoints
	requests  requests
	recorder  *record.FakeRecorder

	vips     []neutron.VIPPort
	floating []floatingips.FloatingIP
	// forwarded are the floating IPs with port forwardings as lists have them, forwardings those of each.
	forwarded   []neutron.ForwardedIP
	forwardings map[string][]neutron.Forwarding
	unforwards  bool // Neutron has no port forwardings
	ports       []neutron.Port
	barred      bool // the ports of nodes admit no packets for VIPs
	routes      []neutron.ExtraRoute
	balancers   []octavia.LoadBalancer
	listeners   []octavia.Listener
	tree        octavia.StatusTree
	version     model.Version
	externals   []string // external networks

	// planned are the requests to plan security groups, task is the answer. groupsLeft is set if some exist.
	planned    []securitygroup.Request
	task       *securitygroup.Task
	groupsLeft bool
	applied    int // plans
}

// newRig returns a rig after changes. The cluster has the provider router.
func newRig(t *testing.T, changes ...func(*rig)) *rig {
	t.Helper()
	r := &rig{
		conf: fixture.Config(func(c *config.LoadBalancer) {
			c.RouterVIPNetworkID, c.RouterNextHops, c.RouterMaxRoutes = "vip-net", 1, 5
		}),
		store: state.New(testingclock.NewFakePassiveClock(noon), nil), recorder: record.NewFakeRecorder(100), forwardings: map[string][]neutron.Forwarding{},
		ports: []neutron.Port{nodePort("10.6.0.11"), nodePort("10.6.0.12")}, version: model.Version{Major: 2, Minor: 30}, task: &securitygroup.Task{},
	}
	for _, change := range changes {
		change(r)
	}
	parser, err := settings.NewParser(r.conf)
	if err != nil {
		t.Fatal(err)
	}
	clk, version := testingclock.NewFakeClock(noon), func(context.Context) (model.Version, error) { return answer(r.version, r.requests.send("version")) }
	facts := lookup.New(rigNeutron{rig: r}, rigLookup{}, version, clk, time.Hour)
	observer := &observe.Observer{Octavia: rigOctavia{rig: r}, Neutron: rigNeutron{rig: r}, Version: version}
	applier := rigApplier{rig: r}
	watch := watcher.New(rigOctavia{rig: r}, clock.RealClock{}) // a first look is due at once
	t.Cleanup(watch.Close)
	r.Engine = New(Dependencies{
		Config: r.conf, Cluster: Cluster{Name: "rig", ID: "cluster"}, Settings: parser, Members: new(members.Selector), Services: r.services, Endpoints: r.endpoints,
		Cloud: Cloud{
			Reader: reading.Reader{
				Octavia: rigOctavia{rig: r}, Observer: observer, Watcher: watch, Settler: applier, Drivers: driver.NewRegistry(driver.Settings{DefaultProvider: "amphora"}),
				Locks: new(async.Locks), Clock: clk,
			},
			Lookup: facts, Applier: applier, Project: project.New(rigOctavia{rig: r}, rigNeutron{rig: r}, clk),
			VIPs: &router.Ports{Neutron: rigNeutron{rig: r}, Pools: facts.Pools, Clock: clk, Table: func(id string) *routes.Table {
				return routes.New(routes.Options{Network: rigTable{rig: r}, RouterID: id})
			}},
			Forwardings: &router.Forwardings{Neutron: rigNeutron{rig: r}, Clock: clk},
		},
		Groups: rigGroups{rig: r}, Memory: Memory{Store: r.store, Records: oneRecord{text: r.record}}, Events: events.New(r.recorder, sendsAll{}),
	})
	return r
}

// emitted returns the events since the last call.
func (r *rig) emitted() string {
	var all []string
	for len(r.recorder.Events) > 0 {
		all = append(all, <-r.recorder.Events)
	}
	return strings.Join(all, "\n")
}

// requests are the requests of a rig, each with its number if the same was sent before. It fails those of fails, with or
// without their parameters.
type requests struct {
	mu    sync.Mutex
	sent  []string
	fails map[string]error
}

func (r *requests) send(words ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := strings.TrimSpace(strings.Join(words, " "))
	text := one
	for n := 2; slices.Contains(r.sent, text); n++ {
		text = fmt.Sprintf("%s #%d", one, n)
	}
	r.sent = append(r.sent, text)
	if err := r.fails[words[0]]; err != nil {
		return err
	}
	return r.fails[text]
}

// prepare acts without failures, and forgets the requests.
func (r *rig) prepare(act func()) {
	fails := r.requests.fails
	r.requests.fails = nil
	act()
	r.requests.sent, r.requests.fails = nil, fails
}

// has reports whether a request was sent.
func (r *requests) has(word string) bool {
	return slices.ContainsFunc(r.sent, func(text string) bool { return text == word || strings.HasPrefix(text, word+" ") })
}

// failingAt makes the requests of a rig fail that begin with a word.
func failingAt(word string, err error) func(*rig) {
	return func(r *rig) { r.requests.fails = map[string]error{word: err} }
}

// assertErrors acts on a new rig for each request that the act sends, which fails there. The act returns the error.
// All that it returns besides is the zero value, or of no use.
func assertErrors(t *testing.T, what string, act func(r *rig) error, changes ...func(*rig)) {
	t.Helper()
	whole := newRig(t, changes...)
	if err := act(whole); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if len(whole.requests.sent) == 0 {
		t.Errorf("%s: no request can fail", what)
	}
	for _, request := range whole.requests.sent {
		r := newRig(t, append(slices.Clone(changes), failingAt(request, errFailed))...)
		if err := act(r); !errors.Is(err, errFailed) {
			t.Errorf("%s: %s has failed, and the error is %v", what, request, err)
		}
	}
}

// answer returns nothing with an error, as a client does.
func answer[T any](value T, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return value, nil
}

type rigNeutron struct {
	lookup.Neutron
	rig *rig
}

func subnets() []neutron.Subnet {
	return []neutron.Subnet{
		{ID: "vips", NetworkID: "vip-net", IPVersion: 4, CIDR: "10.77.0.0/24", GatewayIP: "10.77.0.1"},
		{ID: "nodes", NetworkID: "node-net", IPVersion: 4, CIDR: "10.6.0.0/24", GatewayIP: "10.6.0.1"},
		{ID: "old-vips", NetworkID: "old-net", IPVersion: 4, CIDR: "10.78.0.0/24", GatewayIP: "10.78.0.1"},
		{ID: "subnet", NetworkID: "node-net", IPVersion: 4, CIDR: "10.5.0.0/24", GatewayIP: "10.5.0.1"},
	}
}

func (n rigNeutron) Network(_ context.Context, id string) (*neutron.Network, error) {
	return answer(&neutron.Network{ID: id, External: id == "public"}, n.rig.requests.send("network", id))
}

func (n rigNeutron) ExternalNetworks(context.Context) ([]neutron.Network, error) {
	var all []neutron.Network
	for _, id := range n.rig.externals {
		all = append(all, neutron.Network{ID: id, External: true, Subnets: []string{"subnet-of-" + id}})
	}
	return answer(all, n.rig.requests.send("externals"))
}

// Routers returns r1, which has a gateway on the external network other.
func (n rigNeutron) Routers(_ context.Context, ids []string) ([]neutron.Router, error) {
	all := []neutron.Router{{ID: "r1", Gateway: &neutron.RouterGateway{NetworkID: "other"}}}
	return answer(slices.DeleteFunc(all, func(r neutron.Router) bool { return !slices.Contains(ids, r.ID) }), n.rig.requests.send("routers"))
}

func (n rigNeutron) Subnets(_ context.Context, networkID string) ([]neutron.Subnet, error) {
	return answer(slices.DeleteFunc(subnets(), func(s neutron.Subnet) bool { return s.NetworkID != networkID }), n.rig.requests.send("subnets", networkID))
}

func (n rigNeutron) Subnet(_ context.Context, id string) (*neutron.Subnet, error) {
	all := slices.DeleteFunc(subnets(), func(s neutron.Subnet) bool { return s.ID != id })
	if len(all) == 0 {
		all = make([]neutron.Subnet, 1)
	}
	return answer(&all[0], n.rig.requests.send("subnet", id))
}

// RouterInterfaces returns those of r1 for the subnets of VIPs.
func (n rigNeutron) RouterInterfaces(_ context.Context, _, subnetID string) ([]neutron.Port, error) {
	gateways := []neutron.FixedIP{{SubnetID: "vips", IPAddress: "10.77.0.1"}, {SubnetID: "old-vips", IPAddress: "10.78.0.1"}}
	gateways = slices.DeleteFunc(gateways, func(ip neutron.FixedIP) bool { return ip.SubnetID != subnetID })
	return answer([]neutron.Port{{ID: "interface", DeviceID: "r1", FixedIPs: gateways}}, n.rig.requests.send("interfaces", subnetID))
}

func (n rigNeutron) RouterPorts(_ context.Context, id string) ([]neutron.RoutedPort, error) {
	return answer([]neutron.RoutedPort{{ID: "interface", FixedIPs: []neutron.FixedIP{{SubnetID: "nodes", IPAddress: "10.6.0.1"}}}}, n.rig.requests.send("router-ports", id))
}

// serverAt returns the server of a node.
func serverAt(address string) string {
	return "00000000-0000-4000-8000-0000000000" + address[len(address)-2:]
}

// nodePort returns the port of a node.
func nodePort(address string) neutron.Port {
	return neutron.Port{ID: "port-" + address, NetworkID: "node-net", DeviceID: serverAt(address), FixedIPs: []neutron.FixedIP{{SubnetID: "nodes", IPAddress: address}}}
}

func (n rigNeutron) PortsAtAddresses(_ context.Context, addresses []string) ([]neutron.Port, error) {
	return answer(n.rig.ports, n.rig.requests.send("ports-at", strings.Join(addresses, " ")))
}

func (n rigNeutron) PortsOfDevices(_ context.Context, servers []string) ([]neutron.Port, error) {
	return answer(slices.DeleteFunc(slices.Clone(n.rig.ports), func(port neutron.Port) bool { return !slices.Contains(servers, port.DeviceID) }), n.rig.requests.send("ports-of", strings.Join(servers, " ")))
}

func (n rigNeutron) PortsWithAddresses(_ context.Context, addresses []string) ([]neutron.RoutedPort, error) {
	var all []neutron.RoutedPort
	for _, port := range n.rig.ports {
		pairs := []neutron.AddressPair{{IPAddress: "10.77.0.0/24", MACAddress: "mac"}, {IPAddress: "10.78.0.0/24", MACAddress: "mac"}}
		if n.rig.barred {
			pairs = nil
		}
		all = append(all, neutron.RoutedPort{ID: port.ID, MACAddress: "mac", FixedIPs: port.FixedIPs, AddressPairs: &pairs})
	}
	return answer(all, n.rig.requests.send("routed", strings.Join(addresses, " ")))
}

func (n rigNeutron) VIPPorts(_ context.Context, tag string) ([]neutron.VIPPort, error) {
	return answer(slices.DeleteFunc(slices.Clone(n.rig.vips), func(port neutron.VIPPort) bool { return !slices.Contains(port.Tags, tag) }), n.rig.requests.send("vips", tag))
}

func (n rigNeutron) VIPPortsDescribed(_ context.Context, description string) ([]neutron.VIPPort, error) {
	return answer(slices.DeleteFunc(slices.Clone(n.rig.vips), func(port neutron.VIPPort) bool { return port.Description != description }), n.rig.requests.send("vips-described"))
}

func (n rigNeutron) FloatingIPs(_ context.Context, filter neutron.FloatingIPFilter) ([]floatingips.FloatingIP, error) {
	return answer(slices.DeleteFunc(slices.Clone(n.rig.floating), func(fip floatingips.FloatingIP) bool {
		return filter.PortID != "" && fip.PortID != filter.PortID || filter.Address != "" && fip.FloatingIP != filter.Address ||
			filter.Description != "" && fip.Description != filter.Description || len(filter.IDs) > 0 && !slices.Contains(filter.IDs, fip.ID) ||
			len(filter.PortIDs) > 0 && !slices.Contains(filter.PortIDs, fip.PortID)
	}), n.rig.requests.send("fips", strings.TrimSpace(fmt.Sprint(filter))))
}

func (n rigNeutron) FloatingIPsOn(_ context.Context, portIDs []string) ([]floatingips.FloatingIP, error) {
	return answer(slices.DeleteFunc(slices.Clone(n.rig.floating), func(fip floatingips.FloatingIP) bool { return !slices.Contains(portIDs, fip.PortID) }), n.rig.requests.send("fips-on"))
}

func (n rigNeutron) ForwardedIPs(context.Context) ([]neutron.ForwardedIP, error) {
	return answer(slices.Clone(n.rig.forwarded), n.rig.requests.send("forwarded"))
}

func (n rigNeutron) HasForwardings(context.Context) (bool, error) {
	return answer(!n.rig.unforwards, n.rig.requests.send("has-forwardings"))
}

func (n rigNeutron) Forwardings(_ context.Context, id string) ([]neutron.Forwarding, error) {
	return answer(slices.Clone(n.rig.forwardings[id]), n.rig.requests.send("forwardings", id))
}

// Writes are those of plans, which no goal sends.
func (rigNeutron) CreateVIPPort(context.Context, neutron.VIPPort) (*neutron.VIPPort, error) {
	panic("a goal writes")
}
func (rigNeutron) TagPort(context.Context, string, []string) error { panic("a goal writes") }
func (rigNeutron) DeletePort(context.Context, string) error        { panic("a goal writes") }
func (rigNeutron) CreateForwarding(context.Context, string, neutron.Forwarding) (string, error) {
	panic("a goal writes")
}
func (rigNeutron) RetargetForwarding(context.Context, string, neutron.Forwarding) error {
	panic("a goal writes")
}
func (rigNeutron) DeleteForwarding(context.Context, string, string) error { panic("a goal writes") }

// rigTable is the router r1.
type rigTable struct {
	routes.Network
	rig *rig
}

func (n rigTable) Router(_ context.Context, id string) (*neutron.Router, error) {
	return answer(&neutron.Router{ID: id, Routes: slices.Clone(n.rig.routes)}, n.rig.requests.send("router", id))
}

// rigLookup is an Octavia that no lookup reads.
type rigLookup struct{ lookup.Octavia }

type rigOctavia struct {
	project.Octavia
	rig *rig
}

func (o rigOctavia) LoadBalancers(_ context.Context, filter octavia.LoadBalancerFilter) ([]octavia.LoadBalancer, error) {
	return answer(slices.DeleteFunc(slices.Clone(o.rig.balancers), func(lb octavia.LoadBalancer) bool {
		tagged := func(tag string) bool { return slices.Contains(lb.Tags, tag) }
		return filter.ID != "" && lb.ID != filter.ID || filter.VIPPortID != "" && lb.VIPPortID != filter.VIPPortID || filter.VIPAddress != "" && lb.VIPAddress != filter.VIPAddress ||
			filter.Description != "" && lb.Description != filter.Description || slices.ContainsFunc(filter.Tags, func(tag string) bool { return !tagged(tag) }) ||
			len(filter.AnyTag) > 0 && !slices.ContainsFunc(filter.AnyTag, tagged)
	}), o.rig.requests.send("lbs", strings.TrimSpace(fmt.Sprint(filter.ID, filter.VIPPortID, filter.VIPAddress, filter.Tags, filter.AnyTag))))
}

func (o rigOctavia) LoadBalancer(_ context.Context, id string) (*octavia.LoadBalancer, error) {
	err := o.rig.requests.send("lb", id)
	for _, lb := range o.rig.balancers {
		if lb.ID == id {
			return &lb, err
		}
	}
	if err == nil {
		err = byOctavia(404, "load balancer "+id+" not found")
	}
	return nil, err
}

func (o rigOctavia) Listeners(_ context.Context, id string) ([]octavia.Listener, error) {
	on := func(l octavia.Listener) bool {
		return slices.ContainsFunc(l.LoadBalancers, func(of octavia.ObjectID) bool { return of.ID == id })
	}
	return answer(slices.DeleteFunc(slices.Clone(o.rig.listeners), func(l octavia.Listener) bool { return !on(l) }), o.rig.requests.send("listeners", id))
}

func (o rigOctavia) ListenersTagged(_ context.Context, tags ...string) ([]octavia.Listener, error) {
	return answer(slices.DeleteFunc(slices.Clone(o.rig.listeners), func(l octavia.Listener) bool { return !slices.Contains(l.Tags, tags[0]) }), o.rig.requests.send("listeners-tagged"))
}

func (o rigOctavia) AllListeners(context.Context) ([]octavia.Listener, error) {
	return answer(o.rig.listeners, o.rig.requests.send("all-listeners"))
}

func (o rigOctavia) AllMonitors(context.Context) ([]octavia.HealthMonitor, error) {
	return answer[[]octavia.HealthMonitor](nil, o.rig.requests.send("all-monitors"))
}

func (o rigOctavia) Pools(_ context.Context, id string) ([]octavia.Pool, error) {
	return answer[[]octavia.Pool](nil, o.rig.requests.send("pools", id))
}

func (o rigOctavia) StatusTree(_ context.Context, id string) (*octavia.StatusTree, error) {
	return answer(&o.rig.tree, o.rig.requests.send("tree", id))
}

func (o rigOctavia) LoadBalancerState(_ context.Context, id string) (octavia.LoadBalancerState, error) {
	for _, lb := range o.rig.balancers {
		if lb.ID == id {
			return answer(octavia.LoadBalancerState{ID: id, ProvisioningStatus: lb.ProvisioningStatus, UpdatedAt: lb.UpdatedAt.Time}, o.rig.requests.send("state", id))
		}
	}
	return octavia.LoadBalancerState{}, byOctavia(404, "load balancer "+id+" not found")
}

func (o rigOctavia) LoadBalancerStates(context.Context, string) ([]octavia.LoadBalancerState, error) {
	panic("a list of states for one")
}

// rigApplier counts the plans that it applies.
type rigApplier struct{ rig *rig }

func (a rigApplier) Continue(context.Context, *apply.Run) (model.Observed, error) {
	a.rig.applied++
	return model.Observed{}, a.rig.requests.send("apply")
}

func (rigApplier) Settle(context.Context, *apply.Settling) (*model.LoadBalancer, error) {
	panic("no load balancer is PENDING")
}

// rigGroups are the security groups of nodes.
type rigGroups struct {
	NodeGroups
	rig *rig
}

func (g rigGroups) Plan(_ context.Context, request securitygroup.Request) (*securitygroup.Task, error) {
	g.rig.planned = append(g.rig.planned, request)
	return answer(g.rig.task, g.rig.requests.send("groups-plan"))
}

func (g rigGroups) Close(context.Context, *securitygroup.Task) error {
	return g.rig.requests.send("groups-close")
}

func (g rigGroups) Remove(context.Context, ownership.Identity) error {
	return g.rig.requests.send("groups-remove")
}

func (g rigGroups) Exists(context.Context, ownership.Identity) (bool, error) {
	return answer(g.rig.groupsLeft, g.rig.requests.send("groups-exist"))
}

// knowing gives a rig this knowledge of the Service.
func knowing(entry state.Entry) func(*rig) {
	return func(r *rig) { r.store.Update("service-uid", func(e *state.Entry) { *e = entry }) }
}

// rigIdentity is that of the Service of fixtures.
func rigIdentity() ownership.Identity {
	return ownership.Identity{ClusterName: "rig", ClusterID: "cluster", ServiceUID: "service-uid", Namespace: "default", Service: "web"}
}

// by returns a Service with a provider and published addresses, after changes. It is newer than the process.
func by(provider string, changes ...func(*v1.Service)) *v1.Service {
	return fixture.Service(append([]func(*v1.Service){func(svc *v1.Service) {
		svc.CreationTimestamp.Time = noon.Add(time.Hour)
		if provider != "" {
			svc.Annotations[annotation.Provider] = provider
		}
	}}, changes...)...)
}

// at publishes addresses.
func at(addresses ...string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Status.LoadBalancer = published(addresses...).Status }
}

// old makes a Service older than the process.
func old(svc *v1.Service) { svc.CreationTimestamp.Time = noon.Add(-time.Hour) }

// vipAt is a VIP of the Service, to which a route leads from 10.6.0.11.
func vipAt(address string, changes ...func(*neutron.VIPPort)) func(*rig) {
	return func(r *rig) {
		id := rigIdentity()
		port := neutron.VIPPort{
			ID: "port-" + address, Name: id.Name(), Description: id.ProvenDescription(), Tags: id.Tags(), NetworkID: "vip-net",
			FixedIPs: []neutron.FixedIP{{SubnetID: "vips", IPAddress: address}},
		}
		for _, change := range changes {
			change(&port)
		}
		r.vips = append(r.vips, port)
		r.routes = append(r.routes, neutron.ExtraRoute{Destination: address + "/32", NextHop: "10.6.0.11"})
	}
}

// forwardedAt is a floating IP with a port of the Service that is forwarded to a node.
func forwardedAt(id, address, node string) func(*rig) {
	return func(r *rig) {
		one := neutron.Forwarding{
			ID: "forwarding-" + id, Protocol: "tcp", ExternalPort: 80, InternalPort: 30080, InternalPortID: "port-" + node, InternalIPAddress: node,
			Description: rigIdentity().ProvenDescription(),
		}
		r.forwardings[id] = append(r.forwardings[id], one)
		one.Description = ""
		fip := floatingips.FloatingIP{ID: id, FloatingIP: address, FloatingNetworkID: "public", RouterID: "r1", Description: rigIdentity().FloatingIPs().Description()}
		r.forwarded = append(r.forwarded, neutron.ForwardedIP{ID: id, Address: address, NetworkID: "public", Description: fip.Description, Forwardings: []neutron.Forwarding{one}})
		r.floating = append(r.floating, fip)
	}
}

// floatingAt is a floating IP of the Service on a port, "" for none.
func floatingAt(id, address, port string, changes ...func(*floatingips.FloatingIP)) func(*rig) {
	return func(r *rig) {
		fip := floatingips.FloatingIP{ID: id, FloatingIP: address, FloatingNetworkID: "public", PortID: port, Description: rigIdentity().FloatingIPs().Description()}
		for _, change := range changes {
			change(&fip)
		}
		r.floating = append(r.floating, fip)
	}
}

// balancer is a load balancer of the Service in Octavia.
func balancer(id string, changes ...func(*octavia.LoadBalancer)) func(*rig) {
	return func(r *rig) {
		lb := octavia.LoadBalancer{
			ID: id, Name: rigIdentity().Name(), Tags: rigIdentity().Tags(), Provider: "amphora", ProvisioningStatus: model.StatusActive, OperatingStatus: "ONLINE", AdminStateUp: true,
			VIPAddress: "10.5.0.9", VIPPortID: "vip-of-" + id, VIPSubnetID: "subnet", UpdatedAt: octavia.Timestamp{Time: noon},
		}
		for _, change := range changes {
			change(&lb)
		}
		r.balancers = append(r.balancers, lb)
	}
}

// subjectOf returns a Service with two nodes.
func subjectOf(svc *v1.Service) Subject {
	var nodes []*v1.Node
	for _, host := range []string{"11", "12"} {
		node := fixture.Node("node-"+host, "10.6.0."+host)
		node.Spec.ProviderID = "openstack:///" + serverAt("10.6.0."+host)
		nodes = append(nodes, node)
	}
	return Subject{Service: svc, Nodes: nodes}
}

const serviceUID = types.UID("service-uid")

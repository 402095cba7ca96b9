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

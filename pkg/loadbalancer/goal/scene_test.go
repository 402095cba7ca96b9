package goal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/securitygroup"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/barbican"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// nodeGroups are the security groups of nodes of a memoryCloud.
type nodeGroups struct{ *memoryCloud }

func (g nodeGroups) Plan(_ context.Context, r securitygroup.Request) (*securitygroup.Task, error) {
	g.asked = r
	return &securitygroup.Task{Plan: g.task}, g.send("plan groups")
}

func (g nodeGroups) Open(context.Context, *securitygroup.Task) error  { return g.send("open groups") }
func (g nodeGroups) Close(context.Context, *securitygroup.Task) error { return g.send("close groups") }
func (g nodeGroups) Remove(context.Context, ownership.Identity) error { return g.send("remove groups") }

func (g nodeGroups) Exists(context.Context, ownership.Identity) (bool, error) {
	return false, g.send("find groups")
}

// failingApplier applies plans to the model, unless it shall fail. It chooses the addresses of new objects.
type failingApplier struct {
	*apply.Rehearsal
	cloud *memoryCloud
}

func (a failingApplier) Continue(ctx context.Context, run *apply.Run) (model.Observed, error) {
	if err := a.cloud.send("apply"); err != nil {
		return model.Observed{}, err
	}
	observed, err := a.Rehearsal.Continue(ctx, run)
	if lb := observed.LoadBalancer; lb != nil && lb.VIP.Address == "" {
		lb.VIP.Address, lb.VIP.SubnetID = "10.0.0.99", cmp.Or(lb.VIP.SubnetID, "subnet")
	}
	if lb := observed.LoadBalancer; lb != nil && lb.FloatingIP != nil && lb.FloatingIP.Address == "" {
		lb.FloatingIP.Address = "203.0.113.99"
	}
	return observed, err
}

// warnings is a memory of events that has the last text on each subject.
type warnings map[string]string

func (w warnings) Warn(_ types.UID, subject, text string) bool {
	w[subject] = text
	return text != ""
}

func (warnings) Announce(types.UID, string, string) bool  { return true }
func (warnings) Place(events.Object) (id, address string) { return "", "" }

// scene is an engine with a Service in a cloud of one network, in which two nodes are. Plans are applied to the model only.
type scene struct {
	*memoryCloud
	t        *testing.T
	ctx      context.Context
	engine   *Engine
	svc      *v1.Service
	services []*v1.Service
	nodes    []*v1.Node
	// endpoints are those of the Service.
	endpoints members.Endpoints
	records   *oneRecord
	store     *state.Store
	clock     *testingclock.FakeClock
	emitted   *record.FakeRecorder
	applied   []plan.Plan
	lock      async.Guard
}

// newScene returns a scene with fixture.Service after some changes.
func newScene(t *testing.T, conf *config.Config, changes ...func(*v1.Service)) *scene {
	t.Helper()
	cloud := &memoryCloud{
		api: model.Version{Major: 2, Minor: 30}, failAt: -1, fails: map[string]error{}, providers: []string{"amphora", "ovn"},
		listeners: map[string][]octavia.Listener{}, pools: map[string][]octavia.Pool{}, members: map[string][]octavia.Member{},
		networks: []neutron.Network{{ID: "network", Subnets: []string{"subnet", "subnet6"}}, {ID: "public", External: true}},
		subnets:  []neutron.Subnet{{ID: "subnet", NetworkID: "network", IPVersion: 4, CIDR: "10.0.0.0/24", GatewayIP: "10.0.0.254"}, {ID: "subnet6", NetworkID: "network", IPVersion: 6, CIDR: "fd00::/64"}},
	}
	parser, err := settings.NewParser(conf)
	if err != nil {
		t.Fatal(err)
	}
	clk, version := testingclock.NewFakeClock(noon), cloud.version
	s := &scene{memoryCloud: cloud, t: t, ctx: t.Context(), svc: fixture.Service(changes...), records: &oneRecord{}, store: state.New(clk, nil), clock: clk, emitted: record.NewFakeRecorder(100)}
	s.services = []*v1.Service{s.svc}
	for i, name := range []string{"node-1", "node-2"} {
		server := fmt.Sprintf("%d0000000-6b5a-4c3d-8e1f-a0b1c2d3e4f5", i+1)
		node := fixture.Node(name, fmt.Sprintf("10.0.0.%d", i+1), fmt.Sprintf("fd00::%d", i+1))
		node.Spec.ProviderID = "openstack:///" + server
		s.nodes = append(s.nodes, node)
		cloud.ports = append(cloud.ports, neutron.Port{ID: "port of " + name, NetworkID: "network", DeviceID: server, FixedIPs: []neutron.FixedIP{
			{SubnetID: "subnet", IPAddress: node.Status.Addresses[0].Address}, {SubnetID: "subnet6", IPAddress: node.Status.Addresses[1].Address},
		}})
	}
	cloud.ports = append(cloud.ports, neutron.Port{ID: "free port", NetworkID: "network", FixedIPs: []neutron.FixedIP{{SubnetID: "subnet", IPAddress: "10.0.0.90"}}})
	drivers := driver.NewRegistry(driver.Settings{})
	observer := &observe.Observer{Octavia: cloud, Neutron: cloud, Version: version}
	watch := watcher.New(cloud, clock.RealClock{})
	t.Cleanup(watch.Close)
	applier := failingApplier{&apply.Rehearsal{Applier: apply.New(apply.Applier{Observer: observer, Watcher: watch, Clock: clk, Drivers: drivers})}, cloud}
	applier.Note = func(steps []plan.Step, _ []int, _ model.Observed) {
		s.applied = append(s.applied, plan.Plan{Steps: steps})
	}
	s.engine = New(Dependencies{
		Config: conf, Cluster: Cluster{Name: "rig", ID: "cluster"}, Settings: parser, Groups: nodeGroups{cloud}, Sharing: sharing.Policy{Config: conf.LoadBalancer},
		Failovers: NewFailovers(clk), Members: new(members.Selector), Memory: Memory{Store: s.store, Records: s.records}, Events: events.New(s.emitted, warnings{}),
		Cloud: Cloud{
			Reader: reading.Reader{Octavia: cloud, Observer: observer, Watcher: watch, Settler: applier, Drivers: drivers, Locks: new(async.Locks), Clock: clk},
			Lookup: lookup.New(cloud, cloud, version, clk, time.Hour), Barbican: barbican.New(cloud), Applier: applier, Project: project.New(cloud, cloud, clk),
		},
		Services: func(context.Context, string) ([]*v1.Service, error) { return s.services, s.send("Services") },
		Endpoints: func(*v1.Service) (members.Endpoints, settings.Watch, bool) {
			return s.endpoints, settings.Watched, false
		},
	})
	t.Cleanup(s.lock.Release)
	return s
}

// id is the identity of the Service.
func (s *scene) id() ownership.Identity {
	return s.engine.Cluster.Identity(settings.OwnerOf(s.svc), driver.VersionTags)
}

// add adds a load balancer of an identity to the cloud, with changes.
func (s *scene) add(id string, of ownership.Identity, changes ...func(*octavia.LoadBalancer)) {
	lb := octavia.LoadBalancer{
		ID: id, Name: of.Name(), Description: of.Description(), Tags: of.Tags(), Provider: "amphora", AdminStateUp: true, ProvisioningStatus: "ACTIVE", OperatingStatus: "ONLINE",
		VIPNetworkID: "network", VIPSubnetID: "subnet", VIPPortID: "port of " + id, VIPAddress: fmt.Sprintf("10.0.0.%d", 100+len(s.balancers)),
		UpdatedAt: octavia.Timestamp{Time: noon.Add(-time.Hour)},
	}
	for _, change := range changes {
		change(&lb)
	}
	s.balancers = append(s.balancers, lb)
}

// listen adds a listener of an identity for TCP port 80 to a load balancer, with its pool and a member for each node.
func (s *scene) listen(on string, of ownership.Identity) {
	listener, pool := octavia.ObjectID{ID: "listener of " + of.Service}, octavia.ObjectID{ID: "pool of " + of.Service}
	s.listeners[on] = append(s.listeners[on], octavia.Listener{
		ID: listener.ID, Name: of.ListenerName(0), Tags: of.Tags(), Protocol: "TCP", Port: 80, AdminStateUp: true, ProvisioningStatus: "ACTIVE", DefaultPoolID: pool.ID,
	})
	var ids []octavia.ObjectID
	for _, node := range s.nodes {
		ids = append(ids, octavia.ObjectID{ID: "member " + node.Name})
		s.members[pool.ID] = append(s.members[pool.ID], octavia.Member{
			ID: "member " + node.Name, Name: node.Name, Address: node.Status.Addresses[0].Address, Port: 30080, SubnetID: "subnet", AdminStateUp: new(true), Weight: new(1), ProvisioningStatus: "ACTIVE",
		})
	}
	s.pools[on] = append(s.pools[on], octavia.Pool{
		ID: pool.ID, Name: of.PoolName(0), Tags: of.Tags(), Protocol: "TCP", Algorithm: "ROUND_ROBIN", AdminStateUp: true, ProvisioningStatus: "ACTIVE", Members: ids, Listeners: []octavia.ObjectID{listener},
	})
	at := slices.IndexFunc(s.balancers, func(lb octavia.LoadBalancer) bool { return lb.ID == on })
	s.balancers[at].Listeners, s.balancers[at].Pools = append(s.balancers[at].Listeners, octavia.Listener{ID: listener.ID}), append(s.balancers[at].Pools, octavia.Pool{ID: pool.ID})
}

// subject is the Service with its nodes.
func (s *scene) subject() Subject { return Subject{Service: s.svc, Nodes: s.nodes} }

// ask returns the goal that the Service gets its desired state.
func (s *scene) ask() *Asked {
	s.t.Helper()
	asked, err := s.engine.NewAsked(s.ctx, s.subject(), false)
	if err != nil {
		s.t.Fatal(err)
	}
	return asked
}

// keep returns the goal that the Service keeps its load balancer.
func (s *scene) keep(limits Limits) *Kept {
	s.t.Helper()
	kept, err := s.engine.NewKept(s.ctx, s.subject(), limits)
	if err != nil {
		s.t.Fatal(err)
	}
	return kept
}

// compare observes and plans, as a round does.
func (s *scene) compare(g Goal) (r Round, todo plan.Plan, err error) {
	known, err := g.Recall(s.ctx, &s.lock)
	if r = Begin(known); err != nil {
		return r, todo, err
	}
	if r.Have.Observed == nil {
		if r.Have, err = g.Observe(s.ctx, &s.lock); err != nil {
			return r, todo, err
		}
	}
	r.Before = state.VersionOf(r.Have.LoadBalancer)
	if r.Want, err = g.Desire(s.ctx, r); err != nil {
		return r, todo, err
	}
	todo, err = g.Plan(s.ctx, r)
	return r, todo, err
}

// round is a round of one plan towards a goal.
func (s *scene) round(g Goal) (*v1.LoadBalancerStatus, error) {
	r, todo, err := s.compare(g)
	if err != nil {
		return nil, err
	}
	if r.Groups, r.Report, err = g.Begin(s.ctx, r, todo); err != nil {
		return nil, err
	}
	todo, reported := r.Report.Split(todo)
	if err := g.Prepare(s.ctx, r, todo); err != nil {
		return nil, err
	}
	g.Announce(r, todo, reported)
	if !todo.Empty() {
		if err := s.engine.Groups.Open(s.ctx, r.Groups.Task); err != nil {
			return nil, err
		}
		s.engine.Changes.Begin(g.Inputs(), &r, todo)
		run := apply.NewRun(apply.Request{ID: g.Owner(r), Observed: *r.Have.Observed, Plan: todo})
		observed, err := s.engine.Cloud.Applier.Continue(s.ctx, run)
		s.engine.Changes.End(g.Inputs(), observed, err)
		if r.Have.Observed = &observed; err != nil {
			return nil, err
		}
	}
	return g.Commit(s.ctx, r, reported, &s.lock)
}

// serve publishes addresses in the status of the Service.
func (s *scene) serve(addresses ...string) {
	s.svc.Status.LoadBalancer = published(addresses...).Status
}

// other returns the identity of another Service of the same namespace.
func (s *scene) other(name string) ownership.Identity {
	return s.engine.Cluster.Identity(model.Owner{Namespace: s.svc.Namespace, Name: name, UID: types.UID(name)}, driver.VersionTags)
}

// events returns the events since the last call, one a line.
func (s *scene) events() string {
	var all []string
	for len(s.emitted.Events) > 0 {
		all = append(all, <-s.emitted.Events)
	}
	return strings.Join(all, "\n")
}

// steps returns the steps that were applied, one a line.
func (s *scene) steps() string {
	var all []string
	for _, todo := range s.applied {
		for _, step := range todo.Steps {
			all = append(all, step.String())
		}
	}
	return strings.Join(all, "\n")
}

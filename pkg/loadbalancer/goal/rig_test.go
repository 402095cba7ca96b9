package goal

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
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
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/sharing"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/barbican"
	"github.com/openstack-ccm/openstack-ccm/pkg/routes"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// rig is an engine on an OpenStack in memory, with a Service and two nodes. Plans are applied to the model only. All
// providers are configured, and the default is amphora.
type rig struct {
	*Engine
	*cloud
	t    *testing.T
	ctx  context.Context
	conf *config.Config
	// svc is the Service, others are the other Services of the cluster.
	svc    *v1.Service
	others []*v1.Service
	nodes  []*v1.Node
	// endpoints are those of the Service. They are not watched unless watch is set.
	endpoints members.Endpoints
	watch     settings.Watch
	records   *oneRecord
	store     *state.Store
	clock     *testingclock.FakeClock
	recorder  *record.FakeRecorder
	applied   []plan.Plan
	lock      async.Guard
}

// newRig returns a rig. The changes are made before the engine, which reads the configuration.
func newRig(t *testing.T, changes ...func(*rig)) *rig {
	t.Helper()
	clk := testingclock.NewFakeClock(noon)
	r := &rig{cloud: newCloud(), clock: clk, t: t, ctx: t.Context(), svc: by(""), records: &oneRecord{}, store: state.New(clk, nil), recorder: record.NewFakeRecorder(100)}
	r.conf = fixture.Config(func(c *config.LoadBalancer) {
		c.RouterVIPNetworkID, c.RouterNextHops, c.RouterMaxRoutes = "vip-net", 1, 5
	})
	for _, port := range r.ports[:2] {
		node := fixture.Node("node-"+port.FixedIPs[0].IPAddress[len("10.0.0."):], port.FixedIPs[0].IPAddress, port.FixedIPs[1].IPAddress)
		node.Spec.ProviderID = "openstack:///" + port.DeviceID
		r.nodes = append(r.nodes, node)
	}
	r.add(changes...)
	parser, err := settings.NewParser(r.conf)
	if err != nil {
		t.Fatal(err)
	}
	client, drivers := cloudAPI{cloud: r.cloud}, driver.NewRegistry(driver.Settings{DefaultProvider: "amphora"})
	facts := lookup.New(client, client, client.octaviaVersion, clk, time.Hour)
	observer := &observe.Observer{Octavia: client, Neutron: client, Version: client.octaviaVersion}
	watch := watcher.New(client, clock.RealClock{}) // a first look is due at once
	t.Cleanup(watch.Close)
	applier := applier{&apply.Rehearsal{Applier: apply.New(apply.Applier{Observer: observer, Watcher: watch, Clock: clk, Drivers: drivers})}, r.cloud}
	applier.Note = func(steps []plan.Step, _ []int, _ model.Observed) {
		r.applied = append(r.applied, plan.Plan{Steps: steps})
	}
	r.Engine = New(Dependencies{
		Config: r.conf, Cluster: Cluster{Name: "rig", ID: "cluster"}, Settings: parser, Groups: nodeGroups{r.cloud}, Sharing: sharing.Policy{Config: r.conf.LoadBalancer},
		Failovers: NewFailovers(clk), Members: new(members.Selector), Memory: Memory{Store: r.store, Records: r.records}, Events: events.New(r.recorder, warnings{}),
		Cloud: Cloud{
			Reader: reading.Reader{Octavia: client, Observer: observer, Watcher: watch, Settler: applier, Drivers: drivers, Locks: new(async.Locks), Clock: clk},
			Lookup: facts, Barbican: barbican.New(client), Applier: applier, Project: project.New(client, client, clk),
			VIPs: &router.Ports{Neutron: client, Pools: facts.Pools, Clock: clk, Table: func(id string) *routes.Table {
				return routes.New(routes.Options{Network: client, RouterID: id})
			}},
			Forwardings: &router.Forwardings{Neutron: client, Clock: clk},
		},
		Services: func(context.Context, string) ([]*v1.Service, error) {
			return answer(append([]*v1.Service{r.svc}, r.others...), r.send("services"))
		},
		Endpoints: func(*v1.Service) (members.Endpoints, settings.Watch, bool) { return r.endpoints, r.watch, false },
	})
	t.Cleanup(r.lock.Release)
	return r
}

// add makes changes.
func (r *rig) add(changes ...func(*rig)) {
	for _, change := range changes {
		change(r)
	}
}

// of replaces the Service, and returns the rig.
func (r *rig) of(svc *v1.Service) *rig {
	r.svc = svc
	return r
}

// subject returns the Service with the nodes.
func (r *rig) subject() Subject { return Subject{Service: r.svc, Nodes: r.nodes} }

// must ends the test with the error of a goal.
func must[G any](r *rig) func(G, error) G {
	return func(goal G, err error) G {
		r.t.Helper()
		if err != nil {
			r.t.Fatal(err)
		}
		return goal
	}
}

// ask returns the goal that the Service gets its desired load balancer in Octavia.
func (r *rig) ask() *Asked { return must[*Asked](r)(r.NewAsked(r.ctx, r.subject(), false)) }

// keep returns the goal that the Service, which is refused, keeps its load balancer in Octavia.
func (r *rig) keep(limits Limits) *Kept { return must[*Kept](r)(r.NewKept(r.ctx, r.subject(), limits)) }

// route returns the goal of a Service of the provider router or port-forwarding.
func (r *rig) route() Goal { return must[Goal](r)(r.NewRouted(r.ctx, r.subject(), false)) }

// keepRouted returns the goal that the Service, which is refused, stays with the provider router or port-forwarding.
func (r *rig) keepRouted(provider string) Goal {
	return must[Goal](r)(r.NewRoutedKept(r.ctx, r.subject(), provider, Limits{}))
}

// leave returns the goal of a deletion in Octavia.
func (r *rig) leave(previous ...string) *Gone {
	return must[*Gone](r)(r.NewGone(r.ctx, Subject{Service: r.svc}, nil, previous))
}

// inputs returns the inputs of a round of the Service in Octavia, without the requests and events for them.
func (r *rig) inputs() (in Inputs) {
	r.prepare(func() { in = must[*Asked](r)(r.NewAsked(r.ctx, r.subject(), true)).in })
	return in
}

// prepare acts without failures, and forgets the requests.
func (r *rig) prepare(act func()) {
	fails := r.fails
	r.fails = nil
	act()
	r.sent, r.fails = nil, fails
}

// planned observes the cloud and plans, as a round without memory does.
func planned(t *testing.T, g Goal) (r Round, todo plan.Plan, err error) {
	t.Helper()
	if r.Have, err = g.Observe(t.Context(), new(async.Guard)); err != nil {
		return r, plan.Plan{}, err
	}
	todo, err = compare(t.Context(), g, &r)
	return r, todo, err
}

// compare plans for an observation.
func compare(ctx context.Context, g Goal, r *Round) (todo plan.Plan, err error) {
	if r.Want, err = g.Desire(ctx, *r); err != nil {
		return todo, err
	}
	return g.Plan(ctx, *r)
}

// round is a round of one plan towards a goal.
func (r *rig) round(g Goal) (*v1.LoadBalancerStatus, error) {
	known, err := g.Recall(r.ctx, &r.lock)
	if err != nil {
		return nil, err
	}
	round := Begin(known)
	if round.Have.Observed == nil {
		if round.Have, err = g.Observe(r.ctx, &r.lock); err != nil {
			return nil, err
		}
	}
	round.Before = state.VersionOf(round.Have.LoadBalancer)
	todo, err := compare(r.ctx, g, &round)
	if err != nil {
		return nil, err
	}
	if round.Groups, round.Report, err = g.Begin(r.ctx, round, todo); err != nil {
		return nil, err
	}
	todo, reported := round.Report.Split(todo)
	if err := g.Prepare(r.ctx, round, todo); err != nil {
		return nil, err
	}
	g.Announce(round, todo, reported)
	if !todo.Empty() {
		if err := r.Groups.Open(r.ctx, round.Groups.Task); err != nil {
			return nil, err
		}
		r.Changes.Begin(g.Inputs(), &round, todo)
		run := apply.NewRun(apply.Request{ID: g.Owner(round), Observed: *round.Have.Observed, Plan: todo})
		observed, err := r.Cloud.Applier.Continue(r.ctx, run)
		r.Changes.End(g.Inputs(), observed, err)
		if round.Have.Observed = &observed; err != nil {
			return nil, err
		}
	}
	return g.Commit(r.ctx, round, reported, &r.lock)
}

// failures yields each of these requests with a new rig on which it fails.
func failures(t *testing.T, requests []string, changes ...func(*rig)) iter.Seq2[string, *rig] {
	return func(yield func(string, *rig) bool) {
		for _, request := range requests {
			if !yield(request, newRig(t, append(slices.Clone(changes), failingAt(request, errFailed))...)) {
				return
			}
		}
	}
}

// assertErrors acts on a new rig for each request that the act sends, which fails there. The act returns the error.
// Other results beside an error must be the zero value.
func assertErrors(t *testing.T, what string, act func(r *rig) error, changes ...func(*rig)) {
	t.Helper()
	whole := newRig(t, changes...)
	if err := act(whole); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if len(whole.sent) == 0 {
		t.Errorf("%s: no request can fail", what)
	}
	for request, r := range failures(t, whole.sent, changes...) {
		if err := act(r); !errors.Is(err, errFailed) {
			t.Errorf("%s: %s has failed, and the error is %v", what, request, err)
		}
	}
}

// events returns the events since the last call, one a line.
func (r *rig) events() string {
	var all []string
	for len(r.recorder.Events) > 0 {
		all = append(all, <-r.recorder.Events)
	}
	return strings.Join(all, "\n")
}

// steps returns the steps that were applied, one a line.
func (r *rig) steps() string {
	var all []string
	for _, todo := range r.applied {
		all = append(all, strings.TrimSpace(todo.String()))
	}
	return strings.Join(all, "\n")
}

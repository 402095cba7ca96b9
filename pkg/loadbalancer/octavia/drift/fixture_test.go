package drift_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/drift"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/project"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

const (
	uid      = types.UID("uid")
	interval = 5 * time.Minute
)

func web() types.NamespacedName { return types.NamespacedName{Namespace: "default", Name: "web"} }

func identity() ownership.Identity {
	return ownership.Identity{ClusterName: "kubernetes", ClusterID: "cluster", ServiceUID: string(uid), Namespace: "default", Service: "web"}
}

// fakeCloud has one load balancer, with a listener, a pool and two members. It records reads.
type fakeCloud struct {
	// seen is the load balancer in snapshots; others are further ones.
	seen        project.LoadBalancer
	others      []project.LoadBalancer
	floatingIPs []project.FloatingIP
	parts       observe.Parts
	// alone are the parts of the load balancers of further Services, by the UID of the Service,
	// together those that are found by tags.
	alone, together map[string]observe.Parts
	togetherErr     error
	tree            octavia.StatusTree
	// groups are the changes of other clients to security groups.
	groups map[string]string
	// lookErr, readErr and groupsErr are returned by snapshots, reads and the security groups.
	reread                      []string // Services whose groups are read again
	lookErr, readErr, groupsErr error
	// drained are the members that MembersChanged finds out of service; membersChanged is its
	// result.
	drained        []string
	membersChanged bool
	// reading, if set, is called by reads of settings.
	reading func()
	// routed are Services of provider router with drift, marks those of which drift is recorded, or not. marked are
	// the calls of Mark.
	routed []types.NamespacedName
	marks  map[types.UID]bool
	marked []string

	// mu is held by the test while it reads and changes: timers of a bubble wake goroutines without
	// a happens-before edge for the race detector.
	mu    sync.Mutex
	looks []time.Time
	ages  []time.Duration
	reads []string
	// recorded are the records for the next process.
	recorded []string
}

func (c *fakeCloud) Set(_ types.UID, text string) {
	c.after()
	c.recorded = append(c.recorded, text)
}

// after adds a happens-before edge to the actions of the test.
func (c *fakeCloud) after() {
	c.mu.Lock()
	defer c.mu.Unlock()
}

func newCloud() *fakeCloud {
	id := identity()
	active := func(id, operating string) octavia.NodeStatus {
		return octavia.NodeStatus{ID: id, ProvisioningStatus: model.StatusActive, OperatingStatus: operating}
	}
	return &fakeCloud{
		seen: project.LoadBalancer{ID: "lb", Name: id.Name(), Status: model.StatusActive, Operating: "ONLINE", Tags: id.Tags(), UpdatedAt: time.Now()},
		parts: observe.Parts{
			LoadBalancer: octavia.LoadBalancer{
				ID: "lb", Name: id.Name(), Tags: id.Tags(), Provider: "amphora", AdminStateUp: true, ProvisioningStatus: model.StatusActive,
			},
			Listeners: []octavia.Listener{{
				ID: "listener", Name: id.ListenerName(0), Tags: id.Tags(), Protocol: "TCP", Port: 80, DefaultPoolID: "pool",
				AdminStateUp: true, ProvisioningStatus: model.StatusActive,
			}},
			Pools: []octavia.Pool{{
				ID: "pool", Name: id.PoolName(0), Tags: id.Tags(), Protocol: "TCP", Algorithm: "ROUND_ROBIN", AdminStateUp: true,
				ProvisioningStatus: model.StatusActive, Members: []octavia.ObjectID{{ID: "a"}, {ID: "b"}},
			}},
		},
		tree: octavia.StatusTree{NodeStatus: active("lb", "ONLINE"), Listeners: []octavia.ListenerStatus{{
			NodeStatus: active("listener", "ONLINE"), Pools: []octavia.PoolStatus{{NodeStatus: active("pool", "ONLINE"), Members: []octavia.MemberStatus{
				{NodeStatus: active("a", "ONLINE"), Address: "10.0.0.1", Port: 30080},
				{NodeStatus: active("b", "ONLINE"), Address: "10.0.0.2", Port: 30080},
			}}},
		}}},
	}
}

// contents is the applied load balancer.
func (c *fakeCloud) contents() *model.LoadBalancer {
	lb := c.parts.Model(identity())
	for i, id := range []string{"a", "b"} {
		lb.Listeners[0].Pool.Members = lb.Listeners[0].Pool.Members.With(model.MembersOf(model.Member{
			ID: id, Address: []string{"10.0.0.1", "10.0.0.2"}[i], Port: 30080, Status: model.Status{Provisioning: model.StatusActive},
		}))
	}
	return lb
}

func (c *fakeCloud) record(read string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads = append(c.reads, read)
	return c.readErr
}

func (c *fakeCloud) Snapshot(_ context.Context, age time.Duration) (*project.Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks, c.ages = append(c.looks, time.Now()), append(c.ages, age)
	if c.lookErr != nil {
		return nil, c.lookErr
	}
	all := slices.Clone(c.others)
	if c.seen.ID != "" {
		all = append(all, c.seen)
	}
	return project.Of(time.Now(), all, c.floatingIPs), nil
}

func (c *fakeCloud) StatusTree(context.Context, string) (*octavia.StatusTree, error) {
	return &c.tree, c.record("status tree")
}

func (c *fakeCloud) Settings(_ context.Context, id ownership.Identity, _ octavia.LoadBalancer) (observe.Parts, error) {
	c.after()
	if c.reading != nil {
		c.reading()
	}
	if parts, ok := c.alone[id.ServiceUID]; ok {
		return parts, c.record("settings")
	}
	return c.parts, c.record("settings")
}

func (c *fakeCloud) SettingsOf(_ context.Context, services []ownership.Identity) (map[string]observe.Parts, error) {
	c.after()
	read := map[string]observe.Parts{}
	for _, id := range services {
		if parts, ok := c.together[id.ServiceUID]; ok {
			read[parts.LoadBalancer.ID] = parts
		}
	}
	return read, cmp.Or(c.record(fmt.Sprintf("settings of %d", len(services))), c.togetherErr)
}

func (c *fakeCloud) MembersChanged(_ context.Context, lb *model.LoadBalancer, _ model.Depth, _ bool) (bool, error) {
	c.after()
	lb.Listeners[0].Pool.Members = lb.Listeners[0].Pool.Members.Map(func(_ int, m model.Member) model.Member {
		m.Drained = slices.Contains(c.drained, m.ID)
		return m
	})
	return c.membersChanged, c.record("members")
}

func (c *fakeCloud) Drifted(context.Context) (map[string]string, error) {
	c.after()
	return c.groups, c.groupsErr
}

func (c *fakeCloud) Reread(uid string) { c.reread = append(c.reread, uid) }

// fixture is a Detector that watches a fakeCloud, in a bubble of testing/synctest.
type fixture struct {
	t        *testing.T
	cloud    *fakeCloud
	store    *state.Store
	detector *drift.Detector
	// busy are the Services and load balancers that this process is changing.
	busy    map[string]bool
	drifted []types.NamespacedName
	// brought is set while the annotations of the Service are about to be written with its
	// conditions.
	brought atomic.Bool
	// seen are the Services without drift, at each look.
	seen []types.UID
}

// Detect implements drift.Routed.
func (c *fakeCloud) Detect(_ context.Context, drifted func(types.NamespacedName)) {
	c.after()
	for _, service := range c.routed {
		drifted(service)
	}
}

// Mark implements drift.Routed, for the Services in marks.
func (c *fakeCloud) Mark(uid types.UID, reason string) (service types.NamespacedName, is, marked bool) {
	c.after()
	marked, is = c.marks[uid]
	c.marked = append(c.marked, string(uid)+": "+reason)
	return types.NamespacedName{Namespace: "routed", Name: string(uid)}, is, marked
}

// run calls a test with a Detector in a bubble. The cloud has the applied state, which was
// confirmed five minutes ago.
func run(t *testing.T, interval time.Duration, test func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{t: t, cloud: newCloud(), busy: map[string]bool{}, store: state.New(clock.RealClock{}, nil)}
		f.detector = drift.New(drift.Options{
			ClusterID: "cluster", Interval: interval, Store: f.store, Clock: clock.RealClock{},
			Project: f.cloud, Octavia: f.cloud, Observer: f.cloud, SecurityGroups: f.cloud, Routed: f.cloud, Records: f.cloud,
			Busy: func(uid types.UID, loadBalancerID string) bool {
				f.cloud.after()
				return f.busy[string(uid)] || f.busy[loadBalancerID]
			},
			Seen: func(uid types.UID, applied *state.Applied) {
				f.cloud.after()
				if applied != f.store.Get(uid).Applied {
					t.Errorf("seen is an earlier state of %s", uid)
				}
				f.seen = append(f.seen, uid)
			},
			Brought: func(service types.NamespacedName, of types.UID) bool {
				return service == web() && of == uid && f.brought.Load()
			},
		})
		applied := &state.Applied{
			Service: web(), Identity: identity(), Address: "192.0.2.1",
			Digests:      state.Digests{Full: "digest", Nodeless: "nodeless"},
			LoadBalancer: state.LoadBalancer{ID: "lb", Provider: "amphora"},
			Contents:     f.cloud.contents(),
			Knowledge:    model.Knowledge{Confirmed: true},
			Seen:         state.Seen{UpdatedAt: f.cloud.seen.UpdatedAt, OperatingStatus: "ONLINE", Since: time.Now()},
			Persisted:    state.Persisted{Record: true, Address: true},
		}
		f.store.Update(uid, func(e *state.Entry) { e.SetApplied(applied) })
		time.Sleep(5 * time.Minute)
		f.cloud.mu.Lock()
		defer f.cloud.mu.Unlock()
		test(f)
	})
}

// background runs work until the end of the test.
func (f *fixture) background(work func(context.Context)) {
	ctx, cancel := context.WithCancel(f.t.Context())
	var running sync.WaitGroup
	f.cloud.mu.Unlock()
	running.Go(func() { work(ctx) })
	f.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	synctest.Wait()
	f.cloud.mu.Lock()
}

// watch runs Watch until the end of the test, and returns after its first snapshot.
func (f *fixture) watch() {
	f.background(func(ctx context.Context) {
		f.detector.Watch(ctx, func(service types.NamespacedName) {
			f.cloud.after()
			f.drifted = append(f.drifted, service)
		})
	})
}

// advance advances the time, and waits until all due work is done.
func (f *fixture) advance(d time.Duration) {
	f.cloud.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
	f.cloud.mu.Lock()
}

func (f *fixture) applied() *state.Applied { return f.store.Get(uid).Applied }

// change replaces the applied state.
func (f *fixture) change(change func(*state.Applied)) {
	changed := *f.applied()
	change(&changed)
	f.store.Update(uid, func(e *state.Entry) { e.SetApplied(&changed) })
}

// assertDrift compares the drift of the Service, "" for none.
func (f *fixture) assertDrift(want string) {
	f.t.Helper()
	if got := f.store.Get(uid).Drift.Reason; got != want {
		f.t.Errorf("drift %q, want %q", got, want)
	}
	if reported := slices.Equal(f.drifted, []types.NamespacedName{web()}); reported != (want != "") || len(f.drifted) > 1 {
		f.t.Errorf("reported are %v", f.drifted)
	}
}

func (f *fixture) assertReads(want ...string) {
	f.t.Helper()
	if !slices.Equal(f.cloud.reads, want) {
		f.t.Errorf("read %q, want %q", f.cloud.reads, want)
	}
}

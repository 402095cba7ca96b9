package garbage_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/ownership"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/auth"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// who is the Service NAME of the living cluster that serviceOf returns.
func who(name string, uid int) ownership.Identity {
	id := of(livingID, "mine", name)
	id.ServiceUID = string(serviceOf(name, uid).UID)
	return id
}

// groupOf is the security group of a Service.
func groupOf(id string, of ownership.Identity) change {
	made := of.SecurityGroup()
	return group(id, made.Name, made.Description, made.Tags...)
}

// vipOf is the VIP of a Service of provider router.
func vipOf(id, address string, of ownership.Identity) change {
	return func(c *cloud) {
		c.VIPs = append(c.VIPs, neutron.VIPPort{ID: id, Name: of.Name(), Description: of.ProvenDescription(), Tags: of.Tags(), FixedIPs: []neutron.FixedIP{{SubnetID: "vips", IPAddress: address}}})
	}
}

// timers is a clock on which every wait of a removal ends at once.
type timers struct{ *leaps }

// NewTicker implements clock.WithTicker. Nothing uses it.
func (timers) NewTicker(time.Duration) clock.Ticker { return nil }

// watch is a Collector of a cluster in a store.
type watch struct {
	*store
	options   garbage.CollectorOptions
	collector *garbage.Collector
	services  []*v1.Service

	events  []string
	counts  map[string]int
	removed []string
}

// newWatch returns a Collector of a cluster with the Service api.
func newWatch(policy string, changes ...change) *watch {
	w := &watch{store: newStore(changes...), services: []*v1.Service{serviceOf("api", 2)}, counts: map[string]int{}}
	w.options = garbage.CollectorOptions{
		ClusterID: livingID, ClusterName: "mine", Policy: policy, Interval: time.Hour, VIPs: true, Project: w, Octavia: w, Neutron: w, Clock: timers{&leaps{}},
		Lock: func(context.Context, string) (func(), error) { return func() {}, nil },
		Cluster: garbage.Cluster{
			Services: func(_ context.Context, each func(*v1.Service)) error {
				err := w.call("Services")
				defer w.store.mu.Unlock()
				for _, service := range w.services {
					each(service)
				}
				return err
			},
			Event:   func(why reason.Reason, text string) { w.events = append(w.events, string(why)+": "+text) },
			Count:   func(kind string, proven bool, n int) { w.counts[fmt.Sprint(kind, " ", proven)] = n },
			Removed: func(kind string) { w.removed = append(w.removed, kind) },
		},
	}
	w.collector = garbage.NewCollector(w.options)
	return w
}

// look looks, and fails the test if that fails.
func (w *watch) look(t *testing.T) {
	t.Helper()
	if err := w.collector.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// assertEvents compares the beginnings of the events since the last time.
func (w *watch) assertEvents(t *testing.T, what string, want ...string) {
	t.Helper()
	ok := len(want) == len(w.events)
	for i := range min(len(want), len(w.events)) {
		ok = ok && strings.HasPrefix(w.events[i], want[i])
	}
	if !ok {
		t.Errorf("%s: events %q, want %q", what, w.events, want)
	}
	w.events = nil
}

// all is garbage of each kind: what Service web has left, also on the load balancer of Service api.
func all() []change {
	web, api := who("web", 1), who("api", 2)
	return []change{
		lb("a", web, partOf("listener", "k", web), partOf("pool", "q>k", web)), fip("f", "port of a", web.FloatingIPs().Description()), groupOf("g", web),
		lb("b", api, partOf("listener", "m", api), partOf("listener", "l", web), partOf("pool", "p>l", web)), fip("h", "port of b", api.FloatingIPs().Description()),
		vipOf("v", "10.9.0.9", web), vipOf("w", "10.9.0.8", api), groupOf("i", api),
	}
}

// removals are the deletions of all.
func removals() []string {
	return []string{"FloatingIP f", "LoadBalancer a", "Pool p", "Listener l", "Port v", "SecurityGroup g"}
}

// Operations that run leave no garbage for as long as an interval.
func TestCollector_RemovesWhatTwoLooksFind(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string][]string{garbage.PolicyDelete: removals(), "report": nil} {
		w := newWatch(policy, all()...)
		w.look(t)
		w.assertDeleted(t, policy+", first look")
		w.assertEvents(t, policy+", first look")
		w.look(t)
		if policy == garbage.PolicyDelete {
			w.assertOrder(t, "FloatingIP f", "LoadBalancer a")
			w.assertOrder(t, "Pool p", "Listener l")
		}
		w.assertDeleted(t, policy+", second look", want...)
		w.events = nil
		w.look(t)
		w.assertDeleted(t, policy+", third look")
		w.assertEvents(t, policy+", third look")
	}
}

// A load balancer with a new candidate waits for that: a floating IP would look like a kept one without it.
func TestCollector_WaitsForNewCandidatesOnALoadBalancer(t *testing.T) {
	t.Parallel()
	web := who("web", 1)
	for name, test := range map[string]struct {
		first, then change
		second      []string
		third       []string
	}{
		"floating IP on it":        {lb("a", web), fip("f", "port of a", web.FloatingIPs().Description()), nil, []string{"FloatingIP f", "LoadBalancer a"}},
		"floating IP on a VIP":     {vipOf("v", "10.9.0.9", web), fip("f", "v", web.FloatingIPs().Description()), nil, []string{"FloatingIP f", "Port v"}},
		"floating IP on nothing":   {lb("a", web), fip("f", "", web.FloatingIPs().Description()), []string{"LoadBalancer a"}, nil},
		"another load balancer":    {lb("a", web), lb("c", web), []string{"LoadBalancer a"}, []string{"LoadBalancer c"}},
		"a security group besides": {lb("a", web), groupOf("g", web), []string{"LoadBalancer a"}, []string{"SecurityGroup g"}},
	} {
		w := newWatch(garbage.PolicyDelete, test.first)
		w.look(t)
		test.then(&w.store.cloud)
		w.look(t)
		w.assertDeleted(t, name+", second look", test.second...)
		w.look(t)
		w.assertDeleted(t, name+", third look", test.third...)
	}
}

// What is no garbage for one look begins anew.
func TestCollector_ForgetsWhatALookDoesNotFind(t *testing.T) {
	t.Parallel()
	w := newWatch(garbage.PolicyDelete, lb("a", who("web", 1)))
	w.look(t)
	w.services = append(w.services, serviceOf("web", 1))
	w.look(t)
	w.services = w.services[:1]
	w.look(t)
	w.assertDeleted(t, "a look after it was in use")
	w.look(t)
	w.assertDeleted(t, "the next look", "LoadBalancer a")
}

// A look that cannot read everything has no effect, and a removal that fails is reported and tried again.
func TestCollector_RecoversFromEachFailedRequest(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		w := newWatch(garbage.PolicyDelete, all()...)
		w.look(t)
		w.count, w.broken = 0, n
		err := w.collector.Look(t.Context())
		if w.count < n {
			if n < 20 || err != nil {
				t.Errorf("%d requests, error %v", w.count, err)
			}
			return
		}
		reported := slices.ContainsFunc(w.events, func(text string) bool {
			return strings.HasPrefix(text, string(reason.GarbageNotRemoved)+": ") && strings.Contains(text, "broken")
		})
		switch {
		case err != nil && (apierror.StatusCode(err) != http.StatusBadRequest || len(w.deleted)+len(w.events) > 0):
			t.Errorf("request %d of %v: error %v, deleted %q, events %q", n, w.calls, err, w.deleted, w.events)
		case err == nil && !reported:
			t.Errorf("request %d of %v: deleted %q, events %q", n, w.calls, w.deleted, w.events)
		}
		w.broken = 0
		w.look(t)
		w.look(t)
		w.assertDeleted(t, fmt.Sprint("after request ", n), "FloatingIP f", "Listener l", "LoadBalancer a", "Pool p", "Port v", "SecurityGroup g")
	}
}

// The listener is how the next look finds the load balancer.
func TestCollector_RemovesAListenerAgainThatWasNotRemoved(t *testing.T) {
	t.Parallel()
	w := newWatch(garbage.PolicyDelete, all()[3])
	w.fails["DeleteListener"] = refusal(http.StatusForbidden, "")
	w.look(t)
	w.look(t)
	w.assertDeleted(t, "without the listener", "Pool p")
	delete(w.fails, "DeleteListener")
	w.look(t)
	w.assertDeleted(t, "the next look", "Listener l")
}

// A pool on the load balancer of another Service is orphaned later than its listener, because a listener of the other
// Service has used it. Without its own listener it would not be found again.
func TestCollector_KeepsTheListenerOfAPoolThatIsOrphanedLater(t *testing.T) {
	t.Parallel()
	web, api := who("web", 1), who("api", 2)
	w := newWatch(garbage.PolicyDelete, lb("b", api, partOf("listener", "m", api), partOf("listener", "l", web), partOf("pool", "p>m", web)))
	w.look(t)
	w.store.cloud.Inventory.Pools[0].Listeners = []octavia.ObjectID{{ID: "l"}}
	w.updated["b"] = time.Unix(1, 0)
	w.look(t)
	w.assertDeleted(t, "while the pool is a new candidate")
	w.look(t)
	w.assertDeleted(t, "the next look", "Pool p", "Listener l")
}

// Without its listener, a pool on the load balancer of another Service would not be found again.
func TestCollector_KeepsTheListenerOfAPoolThatCannotBeRemoved(t *testing.T) {
	t.Parallel()
	w := newWatch(garbage.PolicyDelete, all()[3])
	w.fails["DeletePool"] = refusal(http.StatusForbidden, "")
	w.look(t)
	w.look(t)
	w.assertDeleted(t, "while the pool is refused")
	if !slices.ContainsFunc(w.events, func(text string) bool {
		return strings.Contains(text, "it waits for pool p, which could not be removed")
	}) {
		t.Errorf("events %q", w.events)
	}
	delete(w.fails, "DeletePool")
	w.look(t)
	w.assertDeleted(t, "the next look", "Listener l", "Pool p")
}

func TestCollector_ReportsEachObjectOnceWithItsCounts(t *testing.T) {
	t.Parallel()
	w := newWatch("report", append(all(), legacyLB("c", "mine", "web"))...)
	w.look(t)
	w.look(t)
	w.assertEvents(t, "second look", string(reason.GarbageFound)+": Objects in OpenStack belong to no Service of this cluster and are kept", string(reason.GarbageSuspected)+": ")
	want := map[string]int{
		"load-balancer true": 1, "load-balancer false": 1, "listener true": 1, "listener false": 0, "pool true": 1, "pool false": 0, "vip true": 1, "vip false": 0,
		"floating-ip true": 1, "floating-ip false": 0, "security-group true": 1, "security-group false": 0,
	}
	if !maps.Equal(w.counts, want) {
		t.Errorf("counts %v, want %v", w.counts, want)
	}
	groupOf("j", who("web", 1))(&w.store.cloud)
	w.look(t)
	w.assertEvents(t, "a new object, first look")
	w.look(t)
	if len(w.events) != 1 || !strings.HasSuffix(w.events[0], `removes them): security-group j ("`+w.Inventory.SecurityGroups[2].Name+`")`) {
		t.Errorf("a new object: events %q", w.events)
	}
}

func TestCollector_ReportsResultsOfRemovals(t *testing.T) {
	t.Parallel()
	w := newWatch(garbage.PolicyDelete, all()...)
	w.fails["DeleteFloatingIP"] = errors.New("out of order")
	w.look(t)
	w.look(t)
	w.assertDeleted(t, "without the floating IP", "Pool p", "Listener l", "Port v", "SecurityGroup g")
	if len(w.events) != 3 || !strings.Contains(w.events[0], "and are removed now: ") || !strings.HasPrefix(w.events[1], string(reason.GarbageRemoved)+": ") || !strings.Contains(w.events[1], "pool p") ||
		!strings.HasPrefix(w.events[2], string(reason.GarbageNotRemoved)+": ") || !strings.Contains(w.events[2], "out of order") || !strings.Contains(w.events[2], "it waits for floating IP f") {
		t.Errorf("events %q", w.events)
	}
	if slices.Sort(w.removed); !slices.Equal(w.removed, []string{"listener", "pool", "security-group", "vip"}) {
		t.Errorf("removed %q", w.removed)
	}
	if w.counts["floating-ip true"] != 1 || w.counts["load-balancer true"] != 1 || w.counts["pool true"] != 0 {
		t.Errorf("counts %v", w.counts)
	}
}

// A list of pools is expensive: only load balancers with garbage need theirs, and only after a change.
func TestCollector_ReadsPoolsOnlyOfChangedLoadBalancersWithGarbage(t *testing.T) {
	t.Parallel()
	w := newWatch("report", append(all(), lb("c", who("api", 2)))...)
	for _, step := range []struct {
		what   string
		change func()
		reads  int
	}{
		{"first look", func() {}, 2},
		{"nothing new", func() {}, 0},
		{"one has changed", func() { w.updated["b"] = time.Unix(1, 0) }, 1},
		{"one without garbage has changed", func() { w.updated["c"] = time.Unix(1, 0) }, 0},
		{"one is gone meanwhile", func() {
			w.updated["a"] = time.Unix(2, 0)
			w.fails["PoolOwners"] = refusal(http.StatusNotFound, "")
		}, 1},
	} {
		step.change()
		clear(w.calls)
		w.look(t)
		if w.calls["PoolOwners"] != step.reads {
			t.Errorf("%s: %d reads, want %d", step.what, w.calls["PoolOwners"], step.reads)
		}
	}
	w.updated["a"], w.fails["PoolOwners"] = time.Unix(3, 0), refusal(http.StatusForbidden, "")
	if err := w.collector.Look(t.Context()); !apierror.IsForbidden(err) {
		t.Errorf("pools cannot be read: %v", err)
	}
}

// Port forwardings serve the Service that has published their address, even if another one created the floating IP.
func TestCollector_LeavesForwardedAddressesToTheirServices(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][]string{"f": nil, "g": {"FloatingIP f"}} {
		w := newWatch(garbage.PolicyDelete, fip("f", "", who("web", 1).FloatingIPs().Description()))
		w.Inventory.FloatingIPs[0].RouterID = "r"
		w.services[0].Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: address}}
		w.look(t)
		w.look(t)
		w.assertDeleted(t, "published is "+address, want...)
	}
}

// Objects in use are left alone, and not even reported.
func TestCollector_LeavesAloneWhatOthersUse(t *testing.T) {
	t.Parallel()
	web := who("web", 1)
	w := newWatch(garbage.PolicyDelete, vipOf("v", "10.9.0.9", web), fip("f", "their port", web.FloatingIPs().Description()), lb("a", web, partOf("listener", "m", who("api", 2))))
	w.Inventory.VIPs[0].DeviceOwner = "compute:nova"
	w.look(t)
	w.look(t)
	w.assertDeleted(t, "in use")
	w.assertEvents(t, "in use")
}

func TestCollector_WorksWithoutOctaviaIfThatIsOptional(t *testing.T) {
	t.Parallel()
	web := who("web", 1)
	for _, optional := range []bool{true, false} {
		w := newWatch(garbage.PolicyDelete, fip("f", "v", web.FloatingIPs().Description()), vipOf("v", "10.9.0.9", web), groupOf("g", web))
		w.options.OctaviaOptional, w.fails["Snapshot"] = optional, auth.ErrNoEndpoint{Service: "load-balancer"}
		w.collector = garbage.NewCollector(w.options)
		if err := w.collector.Look(t.Context()); (err == nil) != optional {
			t.Errorf("optional %t: %v", optional, err)
		}
		if optional {
			w.look(t)
			w.assertDeleted(t, "without Octavia", "FloatingIP f", "Port v", "SecurityGroup g")
			w.fails["FloatingIPs"] = refusal(http.StatusBadRequest, "")
			if err := w.collector.Look(t.Context()); apierror.StatusCode(err) != http.StatusBadRequest {
				t.Errorf("floating IPs cannot be read: %v", err)
			}
		}
	}
	w := newWatch(garbage.PolicyDelete, vipOf("v", "10.9.0.9", web))
	w.options.VIPs = false
	w.collector = garbage.NewCollector(w.options)
	w.look(t)
	w.look(t)
	w.assertDeleted(t, "without VIPs")
}

// An operator may want to stop a removal.
func TestCollector_RemovesAtMostAHundredObjectsAfterALook(t *testing.T) {
	t.Parallel()
	var changes []change
	for i := range 150 {
		changes = append(changes, groupOf(fmt.Sprint("g", i), who(fmt.Sprint("web", i), 10+i)))
	}
	w := newWatch(garbage.PolicyDelete, changes...)
	for i, want := range []int{0, 100, 50} {
		w.deleted = nil
		w.look(t)
		if len(w.deleted) != want {
			t.Errorf("look %d removes %d objects, want %d", i, len(w.deleted), want)
		}
	}
}

// A Service with a class, or of another type, belongs to others. One that is being deleted removes its own objects.
func TestCollector_TellsServicesThatUseALoadBalancer(t *testing.T) {
	t.Parallel()
	const found, suspected, used = "found", "suspected", "used"
	for name, test := range map[string]struct {
		uid    int
		change func(*v1.Service)
		want   string
	}{
		"its own": {1, func(*v1.Service) {}, used},
		"its own, being deleted": {1, func(s *v1.Service) {
			s.DeletionTimestamp, s.Spec.Type = &metav1.Time{Time: time.Unix(1, 0)}, v1.ServiceTypeClusterIP
		}, used},
		"of another type":             {1, func(s *v1.Service) { s.Spec.Type = v1.ServiceTypeClusterIP }, suspected},
		"with a class":                {1, func(s *v1.Service) { s.Spec.LoadBalancerClass = ptr.To("x") }, suspected},
		"recreated":                   {3, func(*v1.Service) {}, found},
		"recreated, names it":         {3, func(s *v1.Service) { s.Annotations[annotation.LoadBalancerID] = "a" }, used},
		"with its address":            {3, func(s *v1.Service) { s.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "10.0.0.9"}} }, used},
		"with that of its second VIP": {3, func(s *v1.Service) { s.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "fd00::9"}} }, used},
		"with another address":        {3, func(s *v1.Service) { s.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "10.0.0.8"}} }, found},
		"in another namespace":        {3, func(s *v1.Service) { s.Namespace, s.UID = "other", types.UID("u") }, found},
		"without any addresses":       {3, func(s *v1.Service) { s.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{Hostname: "h"}} }, found},
	} {
		w := newWatch("report", lb("a", who("web", 1)))
		w.Inventory.LoadBalancers[0].VIPAddress, w.Inventory.LoadBalancers[0].AdditionalVIPs = "10.0.0.9", []octavia.AdditionalVIP{{Address: "fd00::9"}}
		service := serviceOf("web", test.uid)
		test.change(service)
		w.services = append(w.services, service)
		w.look(t)
		w.look(t)
		got := map[bool]string{true: used}[w.counts["load-balancer true"]+w.counts["load-balancer false"] == 0]
		if w.counts["load-balancer true"] == 1 {
			got = found
		} else if w.counts["load-balancer false"] == 1 {
			got = suspected
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestCollector_RunsAtIntervalsUnlessItIsDisabled(t *testing.T) {
	t.Parallel()
	for name, disable := range map[string]func(*garbage.CollectorOptions){
		"policy":   func(o *garbage.CollectorOptions) { o.Policy = garbage.PolicyOff },
		"interval": func(o *garbage.CollectorOptions) { o.Interval = 0 },
		"identity": func(o *garbage.CollectorOptions) { o.ClusterID = "" },
	} {
		w := newWatch(garbage.PolicyDelete, all()...)
		disable(&w.options)
		garbage.NewCollector(w.options).Run(t.Context()) // which returns at once
		if w.count > 0 {
			t.Errorf("%s: %d requests", name, w.count)
		}
	}

	w := newWatch("report", all()...)
	clk := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	w.options.Clock = clk
	looks := make(chan struct{})
	w.happens = func(method string) {
		if method == "Snapshot" {
			looks <- struct{}{}
		}
	}
	w.fails["Snapshot"] = errors.New("not now") // which does not end it
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		garbage.NewCollector(w.options).Run(ctx)
		close(ended)
	}()
	for range 3 {
		await.Condition(t, "it waits for the next look", clk.HasWaiters)
		clk.Step(w.options.Interval * 89 / 100)
		select {
		case <-looks:
			t.Error("a look before its time")
		default:
		}
		clk.Step(w.options.Interval / 5)
		<-looks
	}
	cancel()
	<-ended
}

package resync

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// follower returns a Service with members that follow its endpoints.
func follower(name string) *v1.Service {
	s := newService(name)
	s.Annotations = map[string]string{"follows": "endpoints"}
	return s
}

// newSlice returns the slice of a Service with a ready endpoint on each node.
func newSlice(name, service string, nodes ...string) *discovery.EndpointSlice {
	s := &discovery.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{discovery.LabelServiceName: service}},
		AddressType: discovery.AddressTypeIPv4, Ports: []discovery.EndpointPort{{}},
	}
	for i := range nodes {
		s.Endpoints = append(s.Endpoints, discovery.Endpoint{Addresses: []string{fmt.Sprintf("10.1.0.%d", i)}, NodeName: &nodes[i]})
	}
	return s
}

// changeSlice creates a slice, or replaces the one of its name.
func (f *fixture) changeSlice(s *discovery.EndpointSlice) {
	f.t.Helper()
	client := f.client.DiscoveryV1().EndpointSlices(s.Namespace)
	_, err := client.Update(f.t.Context(), s, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(f.t.Context(), s, metav1.CreateOptions{})
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// endpointsOf returns the nodes that serve a Service, and the state of the watch.
func (f *fixture) endpointsOf(service string) string {
	endpoints, watch, pending := f.controller.Endpoints(&v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: service}})
	return fmt.Sprintf("%s watch %d pending %t", strings.Join(endpoints.Serving(), ","), watch, pending)
}

func (f *fixture) assertEndpoints(service, nodes string, watch settings.Watch) {
	f.t.Helper()
	if got, want := f.endpointsOf(service), fmt.Sprintf("%s watch %d pending false", nodes, watch); got != want {
		f.t.Errorf("the endpoints of %s are %s, want %s", service, got, want)
	}
}

// A Service with endpoints that get to other nodes is synced, once for changes in short succession, and
// not for pods that are replaced on the same nodes.
//
//proves:55
func TestEndpoints_SyncTheirServiceWhenNodesChange(t *testing.T) {
	t.Parallel()
	all := append(objects(follower("web"), newService("plain")), newSlice("web-1", "web", "a"), newSlice("plain-1", "plain", "a"))
	run(t, &fakeEngine{}, all, func(f *fixture) {
		f.assertEndpoints("web", "a", settings.Watched)
		f.advance(2 * quietPeriod)
		f.assertRepaired() // those that exist at the start are no changes
		f.changeSlice(newSlice("web-1", "web", "a", "a"))
		f.changeSlice(newSlice("plain-1", "plain", "b"))
		f.advance(batchPeriod)
		f.assertRepaired()
		f.changeSlice(newSlice("web-1", "web", "a", "b")) // the first change for a minute
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b")
		f.changeSlice(newSlice("web-2", "web", "c")) // comes soon after another change
		f.advance(promptBatchPeriod)
		f.changeSlice(newSlice("web-2", "web", "c", "d"))
		f.advance(batchPeriod)
		f.assertRepaired("web:a,b", "web:a,b")
		f.changeSlice(newSlice("web-2", "web", "d")) // traffic to c is lost
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b", "web:a,b", "web:a,b")
		f.assertEndpoints("web", "a,b,d", settings.Watched)
	})
}

// If the weights of nodes follow their endpoints, other proportions are a change: at once the first one for a minute.
//
//proves:54
func TestEndpoints_SyncTheirServiceWhenWeightsChange(t *testing.T) {
	t.Parallel()
	web := follower("web")
	web.Annotations["follows"] = "weights"
	run(t, &fakeEngine{}, append(objects(web), newSlice("web-1", "web", "a", "b")), func(f *fixture) {
		f.advance(2 * quietPeriod)
		f.changeSlice(newSlice("web-1", "web", "a", "a", "b"))
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b")
		f.changeSlice(newSlice("web-1", "web", "a", "a", "a", "b"))
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b")
		f.advance(batchPeriod)
		f.assertRepaired("web:a,b", "web:a,b")
		f.changeSlice(newSlice("web-1", "web", "a", "a", "a", "a", "a", "a", "b", "b")) // in the same proportion
		f.advance(batchPeriod)
		f.assertRepaired("web:a,b", "web:a,b")
	})
}

// If pods are the members, each other one is a change; one that terminates loses its traffic.
//
//proves:56
func TestEndpoints_SyncTheirServiceWhenPodsChange(t *testing.T) {
	t.Parallel()
	web, number := follower("web"), int32(8080)
	web.Annotations["follows"] = "pods"
	of := func(nodes ...string) *discovery.EndpointSlice {
		s := newSlice("web-1", "web", nodes...)
		s.Ports[0].Port = &number
		return s
	}
	run(t, &fakeEngine{}, append(objects(web), of("a")), func(f *fixture) {
		f.advance(2 * quietPeriod)
		f.changeSlice(of("a", "a")) // another pod on the node
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b")
		terminates, no := of("a", "a"), false
		terminates.Endpoints[1].Conditions = discovery.EndpointConditions{Ready: &no, Serving: ptr.To(true), Terminating: ptr.To(true)}
		f.changeSlice(terminates)
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b", "web:a,b")
		f.changeSlice(of("a")) // it has ended: a driver that cuts connections removes it now
		f.advance(promptBatchPeriod)
		f.assertRepaired("web:a,b", "web:a,b", "web:a,b")
	})
}

// During the first Ensure of a Service, its finalizer may reach the informer after a slice that this Ensure has
// not seen.
//
//proves:55
func TestEndpoints_SyncTheirServiceWhenTheyComeBeforeItsFinalizer(t *testing.T) {
	t.Parallel()
	web := follower("web")
	web.Finalizers = nil
	run(t, &fakeEngine{}, objects(web), func(f *fixture) {
		f.changeSlice(newSlice("web-1", "web", "a"))
		f.advance(promptBatchPeriod)
		f.assertRepaired()
		if _, err := f.client.CoreV1().Services("default").Update(f.t.Context(), follower("web"), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		f.advance(batchPeriod)
		f.assertRepaired("web:a,b")
	})
}

// A slice may be there before its Service, and be given to another one.
//
//proves:55
func TestEndpoints_FollowSlicesWhateverTheirOrder(t *testing.T) {
	t.Parallel()
	run(t, &fakeEngine{}, objects(follower("other")), func(f *fixture) {
		f.changeSlice(newSlice("web-1", "web", "b"))
		f.advance(batchPeriod)
		if _, err := f.client.CoreV1().Services("default").Create(f.t.Context(), follower("web"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		f.advance(batchPeriod)
		f.assertEndpoints("web", "b", settings.Watched)
		f.changeSlice(newSlice("web-1", "other", "b"))
		f.advance(batchPeriod)
		f.assertEndpoints("web", "", settings.Watched)
		f.assertEndpoints("other", "b", settings.Watched)
		f.assertRepaired("other:a,b", "web:a,b")
		if err := f.client.DiscoveryV1().EndpointSlices("default").Delete(f.t.Context(), "web-1", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		f.advance(batchPeriod)
		f.assertEndpoints("other", "", settings.Watched)
	})
}

// The conditions of an endpoint that are not set have the values of Kubernetes. Only the first address has
// a meaning.
func TestParseSlice_ReadsEndpoints(t *testing.T) {
	t.Parallel()
	yes, no, node, number := true, false, "a", int32(8080)
	s := newSlice("web-1", "web")
	s.Ports[0].Name, s.Ports[0].Port = &node, &number
	for _, c := range []discovery.EndpointConditions{{}, {Ready: &no}, {Ready: &no, Serving: &yes, Terminating: &yes}, {Ready: &yes, Terminating: &yes}} {
		s.Endpoints = append(s.Endpoints, discovery.Endpoint{Addresses: []string{"10.1.0.9", "10.1.0.10"}, Conditions: c, NodeName: &node})
	}
	s.Endpoints[0].TargetRef = &v1.ObjectReference{Kind: "Node", Name: "a"}
	s.Endpoints[1].TargetRef = &v1.ObjectReference{Kind: "Pod", Name: "web-pod", UID: "uid"}
	s.Endpoints[3].Addresses = []string{"web.example.com"}
	table := newEndpointTable(clock.RealClock{})
	trimmed, err := table.Transformer()(s)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := table.Transformer()(trimmed)
	for _, object := range []any{s, trimmed, again} {
		_, service, parsed, ok := parseSlice(object)
		got := fmt.Sprintf("%v %s %v %v %s %v", ok, service, parsed.Ports, parsed.Numbers, parsed.Pod, parsed.Endpoints)
		if want := "true web [a] [8080] web-pod [{a 10.1.0.9 true true false false} {a 10.1.0.9 false false false false} " +
			"{a 10.1.0.9 false true true false} {a invalid IP true true true false}]"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// refusing returns a client that refuses reads of EndpointSlices while refuse is set, and counts
// them.
func refusing(refuse *atomic.Bool, reads *atomic.Int32, err error, all ...kuberuntime.Object) func() *fake.Clientset {
	return func() *fake.Clientset {
		client := fake.NewClientset(all...)
		react := func(kubetesting.Action) (bool, kuberuntime.Object, error) {
			reads.Add(1)
			return refuse.Load(), nil, err
		}
		client.PrependReactor("list", "endpointslices", react)
		return client
	}
}

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}, "", errors.New("no"))
}

// Without the right nothing waits for long, and the right is used when it comes.
//
//proves:55
func TestEndpoints_AreForbiddenUntilRightComes(t *testing.T) {
	t.Parallel()
	var refuse atomic.Bool
	var reads atomic.Int32
	refuse.Store(true)
	client := refusing(&refuse, &reads, forbidden(), append(objects(follower("web")), newSlice("web-1", "web", "a"))...)
	runOn(t, &fakeEngine{}, client, func(f *fixture) {
		if got := f.endpointsOf("web"); !strings.HasSuffix(got, "pending true") {
			t.Errorf("at the start: %s", got)
		}
		f.advance(endpointPatience)
		f.assertEndpoints("web", "", settings.Forbidden)
		f.advance(10 * time.Minute)
		if n := reads.Load(); n > 25 {
			t.Errorf("%d reads in ten minutes", n)
		}
		before := len(f.engine.repaired)
		refuse.Store(false)
		f.advance(2 * forbiddenDelay)
		f.assertEndpoints("web", "a", settings.Watched)
		if len(f.engine.repaired) != before+1 {
			t.Errorf("synced %d times when the right came", len(f.engine.repaired)-before)
		}
	})
}

// One refusal, as an API server that starts gives, changes nothing. A right that is taken away does,
// until it comes back.
//
//proves:55
func TestEndpoints_AreForbiddenWhenRightIsTakenAway(t *testing.T) {
	t.Parallel()
	run(t, &fakeEngine{}, append(objects(follower("web")), newSlice("web-1", "web", "a")), func(f *fixture) {
		table := f.controller.endpoints
		table.failed(f.t.Context(), forbidden())
		f.assertEndpoints("web", "a", settings.Watched)
		table.failed(f.t.Context(), errors.New("the API server is away"))
		f.advance(endpointPatience)
		f.assertEndpoints("web", "a", settings.Watched)
		table.failed(f.t.Context(), forbidden())
		f.advance(endpointPatience)
		if !table.failed(f.t.Context(), forbidden()) {
			f.t.Error("the right is not missing")
		}
		f.advance(promptBatchPeriod)
		f.assertEndpoints("web", "", settings.Forbidden)
		f.assertRepaired("web:a,b")
		_ = table.Replace([]any{newSlice("web-1", "web", "b")}, "")
		f.advance(promptBatchPeriod)
		f.assertEndpoints("web", "b", settings.Watched)
		f.assertRepaired("web:a,b", "web:a,b")
	})
}

// With the right to list but not to watch, the endpoints are read again and again. They never count as
// unknown in between, because the members would change with each attempt.
//
//proves:55
func TestEndpoints_AreReadAgainWithoutRightToWatch(t *testing.T) {
	t.Parallel()
	client := func() *fake.Clientset {
		client := fake.NewClientset(append(objects(follower("web")), newSlice("web-1", "web", "a"))...)
		client.PrependWatchReactor("endpointslices", func(kubetesting.Action) (bool, watch.Interface, error) { return true, nil, forbidden() })
		return client
	}
	runOn(t, &fakeEngine{}, client, func(f *fixture) {
		for range 200 {
			f.assertEndpoints("web", "a", settings.Watched)
			f.advance(time.Second)
		}
		f.assertRepaired()
		f.changeSlice(newSlice("web-1", "web", "b"))
		f.advance(2 * lastEndpointDelay)
		f.assertEndpoints("web", "b", settings.Watched)
		f.assertRepaired("web:a,b")
	})
}

// All 100 endpoints of 100 Services change again and again, while each sync takes three seconds. All
// Services are synced one time after the other, and once more after the last change.
//
//proves:55
func TestEndpoints_StarveNoneOfManyServices(t *testing.T) {
	t.Parallel()
	const services, cycle = 100, 3 * time.Second
	var all []*v1.Service
	for i := range services {
		all = append(all, follower(fmt.Sprintf("web-%d", i)))
	}
	on := func(f *fixture, change int) {
		for i, svc := range all {
			var nodes []string
			for pod := range 100 {
				nodes = append(nodes, fmt.Sprintf("node-%d", (i+pod+change)%150))
			}
			_ = f.controller.endpoints.Update(newSlice(svc.Name+"-1", svc.Name, nodes...)) // a fake client takes too long
		}
	}
	var mu sync.Mutex
	begun := map[string][]time.Time{}
	engine := &fakeEngine{serve: func(_ context.Context, svc *v1.Service) error {
		mu.Lock()
		begun[svc.Name] = append(begun[svc.Name], time.Now())
		mu.Unlock()
		time.Sleep(cycle)
		return nil
	}}
	run(t, engine, objects(all...), func(f *fixture) {
		on(f, 0)
		f.advance(2 * quietPeriod)
		mu.Lock()
		clear(begun)
		mu.Unlock()
		var last time.Time
		for change := range 30 {
			last = time.Now()
			on(f, change+1)
			f.advance(2 * time.Second)
		}
		f.advance(2 * cycle)
		for name, at := range begun {
			if n := len(at); n < 60/5 || n > 60/3+2 || at[n-1].Before(last) {
				t.Errorf("%s was synced %d times, the last time %s after the last change", name, n, at[n-1].Sub(last))
			}
		}
		if len(begun) != services {
			t.Errorf("%d Services were synced", len(begun))
		}
	})
}

// A list that replaces the watch while load balancers are PENDING syncs only Services that it changes, once
// each when they are done.
//
//proves:55
func TestEndpoints_AreListedAgainWhilePending(t *testing.T) {
	t.Parallel()
	engine := &fakeEngine{}
	run(t, engine, append(objects(follower("web"), follower("other")), newSlice("web-1", "web", "a"), newSlice("other-1", "other", "a")), func(f *fixture) {
		done := make(chan struct{})
		engine.serve = func(context.Context, *v1.Service) error {
			<-done
			return nil
		}
		f.changeSlice(newSlice("web-1", "web", "b"))
		f.advance(batchPeriod)
		table := f.controller.endpoints
		other := newSlice("other-1", "other", "a")
		for range 3 {
			_ = table.Replace([]any{newSlice("web-1", "web", "b"), other}, "")
			f.advance(batchPeriod)
		}
		_ = table.Replace([]any{newSlice("web-1", "web", "b", "c"), other}, "")
		_ = table.Replace([]any{newSlice("web-1", "web", "c"), newSlice("web-2", "web", "a"), other}, "")
		f.advance(10 * time.Minute)
		f.assertRepaired()
		done <- struct{}{}
		f.advance(batchPeriod)
		f.assertRepaired("web:a,b")
		close(done)
		f.advance(batchPeriod)
		f.assertRepaired("web:a,b", "web:a,b")
		f.assertEndpoints("web", "a,c", settings.Watched)
	})
}

// Nothing is stored for a Service that is gone, in whatever order its pods, the Service and its slices
// go.
//
//proves:55
func TestEndpointTable_StoresNothingForServiceThatIsGone(t *testing.T) {
	t.Parallel()
	run(t, &fakeEngine{}, append(objects(follower("web")), newSlice("web-1", "web", "a")), func(f *fixture) {
		f.changeSlice(newSlice("web-1", "web"))
		f.advance(batchPeriod)
		if err := f.client.CoreV1().Services("default").Delete(f.t.Context(), "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := f.client.DiscoveryV1().EndpointSlices("default").Delete(f.t.Context(), "web-1", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		f.advance(batchPeriod)
		if table := f.controller.endpoints; len(table.services)+len(table.owners) > 0 {
			t.Errorf("it keeps %v and %v", table.services, table.owners)
		}
	})
}

// An API server that answers with errors does not take the members away: those of the last set stay.
//
//proves:55
func TestEndpoints_AreUnknownAfterErrors(t *testing.T) {
	t.Parallel()
	var refuse atomic.Bool
	var reads atomic.Int32
	refuse.Store(true)
	client := refusing(&refuse, &reads, apierrors.NewInternalError(errors.New("no")), append(objects(follower("web")), newSlice("web-1", "web", "a"))...)
	runOn(t, &fakeEngine{}, client, func(f *fixture) {
		f.advance(endpointPatience)
		f.assertEndpoints("web", "", settings.Watched)
		refuse.Store(false)
		f.advance(2 * lastEndpointDelay)
		f.assertEndpoints("web", "a", settings.Watched)
		f.assertRepaired("web:a,b")
	})
}

// Replace removes what is not listed any more.
func TestEndpointTable_ReplaceRemovesSlicesThatAreGone(t *testing.T) {
	t.Parallel()
	run(t, &fakeEngine{}, objects(follower("web")), func(f *fixture) {
		table := f.controller.endpoints
		_ = table.Replace([]any{newSlice("web-1", "web", "a"), newSlice("web-2", "web", "b")}, "")
		_ = table.Replace([]any{newSlice("web-2", "web", "b")}, "")
		f.assertEndpoints("web", "b", settings.Watched)
		_ = table.Replace(nil, "")
		f.assertEndpoints("web", "", settings.Watched)
		if len(table.services)+len(table.owners) > 0 {
			t.Errorf("it keeps %v and %v", table.services, table.owners)
		}
		if slices.Contains(f.controller.endpoints.all(types.NamespacedName{}).Serving(), "a") {
			t.Error("a is left")
		}
	})
}

// A relist in which hundreds of slices of a Service differ is one change: the work grows with the endpoints.
//
//proves:55
func TestEndpointTable_ReportsRelistOnceForEachService(t *testing.T) {
	t.Parallel()
	list := func(nodes int) (all []any) {
		for i := range 300 {
			all = append(all, newSlice(fmt.Sprintf("web-%d", i), "web", fmt.Sprintf("node-%d", i%nodes)))
		}
		return append(all, newSlice("other-1", "other", fmt.Sprintf("node-%d", nodes)), newSlice("idle-1", "idle", "a"))
	}
	table, calls := newEndpointTable(clock.RealClock{}), map[string]int{}
	table.restated = func(settings.Watch) {}
	table.changed = func(service types.NamespacedName, changes endpointChanges) {
		if calls[service.Name]++; !changes.nodes.Lost {
			t.Errorf("%s lost no node", service)
		}
	}
	_ = table.Replace(list(100), "")
	_ = table.Replace(list(50), "")
	if len(calls) != 2 || calls["web"] != 1 || calls["other"] != 1 {
		t.Errorf("changes %v, want one of web and one of other", calls)
	}
}

// The table of 5,000 Services with 20 endpoints each, on 1,000 nodes.
func BenchmarkEndpointTable(b *testing.B) {
	var all []any
	for i := range 5000 {
		var nodes []string
		for j := range 20 {
			nodes = append(nodes, fmt.Sprintf("node-%d.example.com", (i+j)%1000))
		}
		all = append(all, newSlice(fmt.Sprintf("web-%d-abcde", i), fmt.Sprintf("web-%d", i), nodes...))
	}
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		table := newEndpointTable(clock.RealClock{})
		_ = table.Replace(all, "")
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/100000, "B/endpoint")
		runtime.KeepAlive(table)
	}
}

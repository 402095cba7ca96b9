package cloudprovider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/cloud-provider/api"
	servicehelpers "k8s.io/cloud-provider/service/helpers"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
)

// updates is a keeper that records for which Services, with which nodes, load
// balancers were brought up to date.
type updates struct {
	mu   sync.Mutex
	seen []string
	// drifted and written are what Watch and WriteDown say, once.
	drifted []types.NamespacedName
	written map[types.NamespacedName]types.UID
	// address is what Repair gives, when set; alive is what it was told.
	address string
	alive   []bool
	// newest gives what the informers have.
	newest Newest
	// serve, when set, is called first, and may wait or fail.
	serve func(context.Context, *v1.Service) error
}

func (u *updates) SelectsNodes(s *v1.Service) bool { return s.Annotations["selects"] != "" }

func (u *updates) Watch(_ context.Context, drifted func(types.NamespacedName)) {
	for _, name := range u.drifted {
		drifted(name)
	}
}

func (u *updates) WriteDown(ctx context.Context, write func(context.Context, types.NamespacedName, types.UID, loadbalancer.Written) error) {
	for name, uid := range u.written {
		err := write(ctx, name, uid, loadbalancer.Written{Fingerprint: "fingerprint", LoadBalancerID: "lb", Address: "203.0.113.9"})
		u.mu.Lock()
		u.seen = append(u.seen, fmt.Sprintf("written:%v", err))
		u.mu.Unlock()
	}
}

func (u *updates) Repair(ctx context.Context, service *v1.Service, _ []*v1.Node, alive func(context.Context) (bool, error)) (*v1.LoadBalancerStatus, error) {
	if u.serve != nil {
		if err := u.serve(ctx, service); err != nil {
			return nil, err
		}
	}
	is, err := alive(ctx)
	if err != nil {
		return nil, err
	}
	_, nodes := u.newest(service)
	u.mu.Lock()
	defer u.mu.Unlock()
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	u.seen = append(u.seen, service.Name+":"+strings.Join(names, ","))
	u.alive = append(u.alive, is)
	status := service.Status.LoadBalancer.DeepCopy()
	if u.address != "" {
		status.Ingress = []v1.LoadBalancerIngress{{IP: u.address}}
	}
	return status, nil
}

func (u *updates) all() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.seen)
}

func syncNode(name, address string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Status:     v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}},
	}
}

func publishedService(name string) *v1.Service {
	s := service(name)
	s.Finalizers = []string{servicehelpers.LoadBalancerCleanupFinalizer}
	s.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	return s
}

// upkeepOf gives an upkeep that runs until the end of the test, and the client that its
// informers listen to.
func upkeepOf(t *testing.T, u *updates, gather, gatherGone time.Duration, objects ...runtime.Object) (*upkeep, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	s, err := newUpkeep(factory, u, client.CoreV1(), record.NewFakeRecorder(10000))
	if err != nil {
		t.Fatal(err)
	}
	s.gather, s.gatherGone, u.newest = gather, gatherGone, s.newest
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	var running sync.WaitGroup
	running.Go(func() { s.run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		factory.Shutdown()
	})
	return s, client
}

// syncing is upkeepOf without the time that changes are gathered.
func syncing(t *testing.T, u *updates, objects ...runtime.Object) *fake.Clientset {
	t.Helper()
	_, client := upkeepOf(t, u, time.Millisecond, time.Millisecond, objects...)
	return client
}

func (u *updates) await(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if slices.Contains(u.all(), want) {
			return
		}
	}
	t.Fatalf("updates %v, want %s among them", u.all(), want)
}

func change(t *testing.T, client *fake.Clientset, node *v1.Node) {
	t.Helper()
	if _, err := client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

//proves:53
func TestNodeThatGetsItsAddressBecomesAMember(t *testing.T) {
	t.Parallel()
	a, b := syncNode("a", "10.0.0.1"), syncNode("b", "10.0.0.2")
	excludedNode := syncNode("c", "10.0.0.3")
	excludedNode.Labels[v1.LabelNodeExcludeBalancers] = ""
	kept := syncNode("d", "10.0.0.4")
	kept.Labels[v1.LabelNodeExcludeBalancers] = "false"
	u := &updates{}
	client := syncing(t, u, a, b, excludedNode, kept, publishedService("web"), service("unpublished"))

	b = b.DeepCopy()
	b.Status.Addresses[0].Address = "10.0.0.22"
	change(t, client, b)
	u.await(t, "web:a,b,d")
	if seen := u.all(); slices.ContainsFunc(seen, func(s string) bool { return strings.HasPrefix(s, "unpublished") }) {
		t.Errorf("updates %v: a Service without load balancer is upstream's", seen)
	}
}

// A label of a node that changes has the Services that select nodes brought up to
// date, and no others.
//
//proves:52
func TestLabelsOfNodesMatterOnlyToServicesThatSelect(t *testing.T) {
	t.Parallel()
	selecting := publishedService("selecting")
	selecting.Annotations = map[string]string{"selects": "pool=a"}
	a := syncNode("a", "10.0.0.1")
	u := &updates{}
	client := syncing(t, u, a, selecting, publishedService("plain"))

	a = a.DeepCopy()
	a.Labels["pool"] = "a"
	change(t, client, a)
	u.await(t, "selecting:a")
	if seen := u.all(); slices.Contains(seen, "plain:a") {
		t.Errorf("updates %v", seen)
	}
}

// Nodes that are excluded, about to be deleted or going are no members; those that
// are merely not ready, or whose label says false, are.
//
//proves:53
func TestExcludedNodesAreNoMembers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*v1.Node)
		want   bool
	}{
		"plain":               {func(*v1.Node) {}, false},
		"label":               {func(n *v1.Node) { n.Labels[v1.LabelNodeExcludeBalancers] = "" }, true},
		"label true":          {func(n *v1.Node) { n.Labels[v1.LabelNodeExcludeBalancers] = "true" }, true},
		"label false":         {func(n *v1.Node) { n.Labels[v1.LabelNodeExcludeBalancers] = "false" }, false},
		"label with nonsense": {func(n *v1.Node) { n.Labels[v1.LabelNodeExcludeBalancers] = "please" }, true},
		"autoscaler's taint":  {func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}} }, true},
		"another taint":       {func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "node.kubernetes.io/unschedulable"}} }, false},
		"deleted":             {func(n *v1.Node) { n.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, true},
		"not ready, cordoned": {func(n *v1.Node) { n.Spec.Unschedulable = true }, false},
	} {
		node := syncNode("a", "10.0.0.1")
		test.change(node)
		if got := excluded(node); got != test.want {
			t.Errorf("%s: excluded %v, want %v", name, got, test.want)
		}
	}
}

func TestHeartbeatOfANodeCostsNothing(t *testing.T) {
	t.Parallel()
	a, b := syncNode("a", "10.0.0.1"), syncNode("b", "10.0.0.2")
	u := &updates{}
	client := syncing(t, u, a, b, publishedService("web"))

	a = a.DeepCopy()
	a.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	change(t, client, a)
	b = b.DeepCopy()
	b.Status.Addresses[0].Address = "10.0.0.3"
	change(t, client, b)
	u.await(t, "web:a,b")
	if seen := u.all(); len(seen) != 1 {
		t.Errorf("updates %v, want one", seen)
	}
}

func TestDriftIsRepairedAndTheNewAddressPublished(t *testing.T) {
	t.Parallel()
	web := publishedService("web")
	u := &updates{drifted: []types.NamespacedName{{Namespace: "default", Name: "web"}}, address: "192.0.2.9"}
	client := syncing(t, u, web, syncNode("a", "10.0.0.1"))
	u.await(t, "web:a")
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		now, err := client.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if now.Status.LoadBalancer.Ingress[0].IP == "192.0.2.9" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("published %v", now.Status.LoadBalancer)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.alive[0] {
		t.Error("the Service is there, but Repair was told otherwise")
	}
}

func TestFingerprintIDAndAddressAreWrittenOnTheServiceInOnePatch(t *testing.T) {
	t.Parallel()
	web := publishedService("web")
	u := &updates{written: map[types.NamespacedName]types.UID{{Namespace: "default", Name: "web"}: web.UID}}
	client := syncing(t, u, web)
	u.await(t, "written:<nil>")
	now, err := client.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{
		annotation.Fingerprint: "fingerprint", annotation.LoadBalancerID: "lb", annotation.LoadBalancerAddress: "203.0.113.9",
	}, now.Annotations); diff != "" {
		t.Error(diff)
	}
	if n := len(slices.DeleteFunc(client.Actions(), func(a k8stesting.Action) bool { return a.GetVerb() != "patch" })); n != 1 {
		t.Errorf("%d patches, want 1", n)
	}
}

func TestLoadBalancerThatTheServiceNamesByNowIsNotOverwritten(t *testing.T) {
	t.Parallel()
	web := publishedService("web")
	web.Annotations = map[string]string{annotation.LoadBalancerID: "another"}
	u := &updates{written: map[types.NamespacedName]types.UID{{Namespace: "default", Name: "web"}: web.UID}}
	client := syncing(t, u, web)
	u.await(t, "written:<nil>")
	now, err := client.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := now.Annotations[annotation.LoadBalancerID]; got != "another" {
		t.Errorf("the Service names %q now", got)
	}
}

func TestServicesThatMayNotBePatchedAreNoError(t *testing.T) {
	t.Parallel()
	web := publishedService("web")
	client := fake.NewClientset(web)
	client.PrependReactor("patch", "services", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(v1.Resource("services"), "web", errors.New("no"))
	})
	factory := informers.NewSharedInformerFactory(client, 0)
	keep, err := newUpkeep(factory, &updates{}, client.CoreV1(), record.NewFakeRecorder(100))
	if err != nil {
		t.Fatal(err)
	}
	defer keep.queue.ShutDown()
	if err := keep.write(t.Context(), types.NamespacedName{Namespace: "default", Name: "web"}, web.UID, loadbalancer.Written{Fingerprint: "x"}); err != nil {
		t.Errorf("error %v", err)
	}
}

//proves:53
func TestNodesThatComeAndGoAreFollowedWithoutUpstream(t *testing.T) {
	t.Parallel()
	a, b := syncNode("a", "10.0.0.1"), syncNode("b", "10.0.0.2")
	u := &updates{}
	client := syncing(t, u, a, publishedService("web"))
	if _, err := client.CoreV1().Nodes().Create(t.Context(), b, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	u.await(t, "web:a,b")
	excludedNode := b.DeepCopy()
	excludedNode.Spec.Taints = []v1.Taint{{Key: excludedByAutoscaler}}
	change(t, client, excludedNode)
	u.await(t, "web:a")
	change(t, client, b)
	if err := client.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	u.await(t, "web:b")
}

func TestNodesThatGoAreTakenOutSoonerThanNewOnesCome(t *testing.T) {
	t.Parallel()
	u := &updates{}
	_, client := upkeepOf(t, u, time.Hour, time.Millisecond, syncNode("a", "10.0.0.1"), publishedService("web"))
	if _, err := client.CoreV1().Nodes().Create(t.Context(), syncNode("b", "10.0.0.2"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	u.await(t, "web:b")
}

func TestChangesOfNodesShortlyAfterOneAnotherAreOneRound(t *testing.T) {
	t.Parallel()
	web := publishedService("web")
	u := &updates{}
	s, client := upkeepOf(t, u, 200*time.Millisecond, 200*time.Millisecond, web, syncNode("a", "10.0.0.1"), syncNode("b", "10.0.0.2"))
	u.mu.Lock() // nothing is done before all is queued
	for range 20 {
		s.nodesChanged(web)
	}
	s.nodesChanged(service("unhandled"))
	if err := client.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	u.mu.Unlock()
	u.await(t, "web:b")
	if seen := u.all(); len(seen) > 2 { // the deletion may come after the first round
		t.Errorf("updates %v, want one or two", seen)
	}
}

// Half of the Services have a load balancer that stays PENDING, as after the end of
// Octavia's workers: they wait, and nobody waits for them.
//
//proves:73
func TestStuckLoadBalancersHoldUpNobody(t *testing.T) {
	t.Parallel()
	const many = 1000
	var healthy, waiting atomic.Int32
	u := &updates{serve: func(ctx context.Context, s *v1.Service) error {
		if s.Labels["stuck"] == "" {
			healthy.Add(1)
			return nil
		}
		waiting.Add(1)
		<-ctx.Done()
		return ctx.Err()
	}}
	objects := []runtime.Object{syncNode("a", "10.0.0.1"), syncNode("b", "10.0.0.2")}
	for i := range many {
		s := publishedService(fmt.Sprintf("s%d", i))
		if i%2 == 0 {
			s.Labels = map[string]string{"stuck": "true"}
		}
		objects = append(objects, s)
	}
	client := syncing(t, u, objects...)
	if err := client.CoreV1().Nodes().Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); healthy.Load() < many/2 || waiting.Load() < many/2; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d healthy Services were brought up to date, while %d wait", healthy.Load(), many/2, waiting.Load())
		}
	}
}

func TestWhatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"asks to come back": fmt.Errorf("wrapped: %w", api.NewRetryError("later", time.Millisecond)),
		"fails":             errors.New("broken"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int32
			u := &updates{serve: func(context.Context, *v1.Service) error {
				if tries.Add(1) == 1 {
					return failure
				}
				return nil
			}}
			s, client := upkeepOf(t, u, time.Millisecond, time.Millisecond, syncNode("a", "10.0.0.1"), syncNode("b", "10.0.0.2"), publishedService("web"))
			if err := client.CoreV1().Nodes().Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			u.await(t, "web:a")
			if told := <-s.recorder.(*record.FakeRecorder).Events; !strings.Contains(told, failure.Error()) {
				t.Errorf("told %q, want %q", told, failure)
			}
		})
	}
}

// A Service without a load balancer is made one by upstream; a node that came meanwhile
// is not an error of its.
func TestAServiceWithoutALoadBalancerIsLeftToUpstream(t *testing.T) {
	t.Parallel()
	made := publishedService("new")
	made.Status.LoadBalancer.Ingress = nil
	var tries atomic.Int32
	u := &updates{serve: func(_ context.Context, s *v1.Service) error {
		if s.Name != "new" {
			return nil
		}
		tries.Add(1)
		return loadbalancer.ErrNoLoadBalancer
	}}
	s, client := upkeepOf(t, u, time.Millisecond, time.Millisecond, syncNode("a", "10.0.0.1"), syncNode("b", "10.0.0.2"), made, publishedService("web"))
	if err := client.CoreV1().Nodes().Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	u.await(t, "web:a")
	for deadline := time.Now().Add(30 * time.Second); tries.Load() == 0 || s.queue.NumRequeues("default/new") > 0; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d tries, %d more are queued", tries.Load(), s.queue.NumRequeues("default/new"))
		}
	}
	select {
	case told := <-s.recorder.(*record.FakeRecorder).Events:
		t.Errorf("told %q", told)
	default:
	}
}

// MetalLB and its like publish addresses of Services that upstream's service controller
// has never handled.
func TestServicesOfOtherLoadBalancersAreNotTouched(t *testing.T) {
	t.Parallel()
	theirs := publishedService("theirs")
	theirs.Finalizers = nil
	u := &updates{drifted: []types.NamespacedName{{Namespace: "default", Name: "theirs"}}, address: "203.0.113.1"}
	client := syncing(t, u, theirs, publishedService("web"), syncNode("a", "10.0.0.1"))
	if _, err := client.CoreV1().Nodes().Create(t.Context(), syncNode("b", "10.0.0.2"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	u.await(t, "web:a,b")
	if seen := u.all(); slices.ContainsFunc(seen, func(s string) bool { return strings.HasPrefix(s, "theirs") }) {
		t.Errorf("updates %v", seen)
	}
}

func TestTheNewestServiceIsTheOneThatTheInformersHave(t *testing.T) {
	t.Parallel()
	changed := publishedService("web")
	changed.Annotations = map[string]string{"seen": "newest"}
	recreated := publishedService("recreated")
	recreated.UID = "another"
	excludedNode := syncNode("b", "10.0.0.2")
	excludedNode.Labels[v1.LabelNodeExcludeBalancers] = ""
	s, _ := upkeepOf(t, &updates{}, time.Hour, time.Hour, changed, recreated, syncNode("a", "10.0.0.1"), excludedNode)
	got, nodes := s.newest(publishedService("web"))
	if got == nil || got.Annotations["seen"] != "newest" || len(nodes) != 1 || nodes[0].Name != "a" {
		t.Errorf("got %v with nodes %v", got, nodes)
	}
	for _, name := range []string{"recreated", "deleted"} {
		if got, _ := s.newest(publishedService(name)); got != nil {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// Only the API server knows whether a Service is still there, and still the same one.
func TestOnlyTheSameServiceIsAlive(t *testing.T) {
	t.Parallel()
	leaving, other := publishedService("leaving"), publishedService("other")
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	recreated := publishedService("recreated")
	recreated.UID = "another"
	s, _ := upkeepOf(t, &updates{}, time.Hour, time.Hour, publishedService("web"), leaving, other, recreated)
	for name, want := range map[string]bool{"web": true, "leaving": false, "recreated": false, "deleted": false} {
		if got, err := s.alive(t.Context(), publishedService(name)); got != want || err != nil {
			t.Errorf("%s: alive %v, error %v, want %v", name, got, err, want)
		}
	}
}

// The role of cloud-provider-openstack lets Services be listed and watched, but not got.
func TestWithoutTheRightToGetServicesTheCacheTellsWhichAreAlive(t *testing.T) {
	t.Parallel()
	leaving, recreated := publishedService("leaving"), publishedService("recreated")
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	recreated.UID = "another"
	s, client := upkeepOf(t, &updates{}, time.Hour, time.Hour, publishedService("web"), leaving, recreated)
	for refusal, served := range map[error]bool{
		apierrors.NewForbidden(v1.Resource("services"), "x", errors.New("no")): true,
		errors.New("broken"): false,
	} {
		client.PrependReactor("get", "services", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, refusal })
		for name, want := range map[string]bool{"web": true, "leaving": false, "recreated": false, "deleted": false} {
			if got, err := s.alive(t.Context(), publishedService(name)); got != (want && served) || (err == nil) != served {
				t.Errorf("%v, %s: alive %v, error %v, want %v", refusal, name, got, err, want)
			}
		}
	}
}

func TestANodeChangeOfAServiceThatIsGoneIsNotForTheOneOfItsName(t *testing.T) {
	t.Parallel()
	recreated := publishedService("recreated")
	recreated.UID = "another"
	u := &updates{}
	s, _ := upkeepOf(t, u, 0, 0, publishedService("web"), recreated, syncNode("a", "10.0.0.1"))
	s.nodesChanged(publishedService("recreated"))
	s.nodesChanged(publishedService("web"))
	u.await(t, "web:a")
	if seen := u.all(); len(seen) != 1 {
		t.Errorf("updates %v, want that of web only", seen)
	}
}

// What users change before we have seen it is not overwritten, and what another Service
// of the same name has is none of ours.
func TestWhatIsWrittenOnAServiceIsOnlyForTheStateThatWeKnow(t *testing.T) {
	t.Parallel()
	web := publishedService("web")
	web.ResourceVersion = "7"
	s, client := upkeepOf(t, &updates{}, time.Hour, time.Hour, web)
	var patch map[string]map[string]any
	client.PrependReactor("patch", "services", func(a k8stesting.Action) (bool, runtime.Object, error) {
		if err := json.Unmarshal(a.(k8stesting.PatchAction).GetPatch(), &patch); err != nil {
			return true, nil, err
		}
		return true, nil, apierrors.NewConflict(v1.Resource("services"), "web", errors.New("changed"))
	})
	err := s.write(t.Context(), types.NamespacedName{Namespace: "default", Name: "web"}, web.UID, loadbalancer.Written{Fingerprint: "x"})
	if !apierrors.IsConflict(err) {
		t.Errorf("error %v, want a conflict: it is to be tried again", err)
	}
	if m := patch["metadata"]; m["uid"] != string(web.UID) || m["resourceVersion"] != "7" {
		t.Errorf("the patch holds for %v", m)
	}
}

// refusingEngine is an engine that refuses a Service, whose load balancer has another address.
type refusingEngine struct{ engine }

func (*refusingEngine) Ensure(context.Context, *v1.Service, []*v1.Node) (*v1.LoadBalancerStatus, error) {
	return &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: "192.0.2.7"}}}, errors.New("refused")
}

// Upstream publishes what a call gives that succeeds, only.
func TestTheAddressOfARefusedServiceIsPublished(t *testing.T) {
	t.Parallel()
	web := publishedService("web")
	s, client := upkeepOf(t, &updates{}, time.Hour, time.Hour, web)
	balancers := &loadBalancers{engine: &refusingEngine{}, calls: newCalls(t.Context(), nil)}
	balancers.upkeep.Store(s)
	if _, err := balancers.EnsureLoadBalancer(t.Context(), "", web, nil); err == nil || err.Error() != "refused" {
		t.Errorf("got error %v", err)
	}
	now, err := client.CoreV1().Services(web.Namespace).Get(t.Context(), web.Name, metav1.GetOptions{})
	if err != nil || len(now.Status.LoadBalancer.Ingress) != 1 || now.Status.LoadBalancer.Ingress[0].IP != "192.0.2.7" {
		t.Errorf("published %v, error %v", now.Status.LoadBalancer, err)
	}
}

package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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

func (u *updates) Repair(ctx context.Context, service *v1.Service, nodes []*v1.Node, alive func(context.Context) (bool, error)) (*v1.LoadBalancerStatus, error) {
	is, err := alive(ctx)
	if err != nil {
		return nil, err
	}
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
	s.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	return s
}

// syncing runs a upkeep and gives the client that its informers listen to.
func syncing(t *testing.T, u *updates, objects ...runtime.Object) *fake.Clientset {
	t.Helper()
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	s, err := newUpkeep(factory, u, client.CoreV1(), record.NewFakeRecorder(100))
	if err != nil {
		t.Fatal(err)
	}
	s.gather, s.gatherGone = time.Millisecond, time.Millisecond
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

func TestNodesThatGoAreTakenOutSoonerThanNewOnesCome(t *testing.T) {
	t.Parallel()
	a, b, c := syncNode("a", "10.0.0.1"), syncNode("b", "10.0.0.2"), syncNode("c", "10.0.0.3")
	var names nameSet
	for _, step := range []struct {
		nodes []*v1.Node
		want  bool
	}{
		{[]*v1.Node{a, b}, false},
		{[]*v1.Node{a, b}, false}, // another Service is told
		{[]*v1.Node{a, b, c}, false},
		{[]*v1.Node{a, c}, true},
		{[]*v1.Node{a, c}, true}, // another Service is told
		{[]*v1.Node{a, b, c}, false},
		{[]*v1.Node{b, c, syncNode("d", "10.0.0.4")}, true},
	} {
		if got := names.shrinks(step.nodes); got != step.want {
			t.Errorf("%d nodes: %v, want %v", len(step.nodes), got, step.want)
		}
	}
}

func TestChangesOfNodesShortlyAfterOneAnotherAreOnePass(t *testing.T) {
	t.Parallel()
	web := publishedService("web")
	client := fake.NewClientset(web, syncNode("a", "10.0.0.1"), syncNode("b", "10.0.0.2"))
	factory := informers.NewSharedInformerFactory(client, 0)
	u := &updates{}
	s, err := newUpkeep(factory, u, client.CoreV1(), record.NewFakeRecorder(100))
	if err != nil {
		t.Fatal(err)
	}
	s.gather, s.gatherGone = 50*time.Millisecond, 50*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for n := range 20 {
		if !s.nodesChanged(web, []*v1.Node{syncNode("a", ""), syncNode(fmt.Sprint(n), "")}) {
			t.Fatal("not taken")
		}
	}
	if s.nodesChanged(service("unpublished"), nil) {
		t.Error("took a Service that has no load balancer yet")
	}
	var running sync.WaitGroup
	running.Go(func() { s.run(ctx) })
	u.await(t, "web:a,b")
	cancel()
	running.Wait()
	factory.Shutdown()
	if seen := u.all(); len(seen) != 1 {
		t.Errorf("updates %v, want one", seen)
	}
}

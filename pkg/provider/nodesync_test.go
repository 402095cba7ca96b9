package provider

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// updates records for which Services, with which nodes, members were updated.
type updates struct {
	mu   sync.Mutex
	seen []string
}

func (u *updates) update(_ context.Context, service *v1.Service, nodes []*v1.Node) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	u.seen = append(u.seen, service.Name+":"+strings.Join(names, ","))
	return nil
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

// syncing runs a nodeSync and gives the client that its informers listen to.
func syncing(t *testing.T, u *updates, objects ...runtime.Object) *fake.Clientset {
	t.Helper()
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	s, err := newNodeSync(factory, func(s *v1.Service) bool { return s.Annotations["selects"] != "" }, u.update)
	if err != nil {
		t.Fatal(err)
	}
	s.delay = time.Millisecond
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

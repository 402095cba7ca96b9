package resync

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	servicehelpers "k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
)

// fakeEngine is an Engine that records the Services that it repairs, and with which nodes.
type fakeEngine struct {
	// drifted has the Services that have drifted when the controller starts, records the
	// annotations to write to Services then.
	drifted []types.NamespacedName
	records map[types.NamespacedName]types.UID
	// repairs counts the repairs under way.
	repairs sync.WaitGroup
	// gates has the readiness gates of pods opened.
	gates bool
	// address is the result of Repair, unless it is "".
	address string
	// refused is the result of IsRefused.
	refused atomic.Bool
	// serve, if set, is called first. It may wait or fail.
	serve func(context.Context, *v1.Service) error

	newest func(*v1.Service) (*v1.Service, []*v1.Node)

	mu       sync.Mutex
	repaired []string // "service:node,node"
	existed  []bool
	written  []error
}

func (e *fakeEngine) SelectsNodes(s *v1.Service) bool { return s.Annotations["selects"] != "" }

func (e *fakeEngine) FollowsEndpoints(s *v1.Service) bool { return s.Annotations["follows"] != "" }

func (e *fakeEngine) FollowsPods(s *v1.Service) bool { return s.Annotations["follows"] == "pods" }

func (e *fakeEngine) WeighsNodes(s *v1.Service) bool { return s.Annotations["follows"] == "weights" }

// Stay is what annotations of the Service have.
func (e *fakeEngine) Stay(s *v1.Service) (stay model.Stay) {
	stay.For, _ = time.ParseDuration(s.Annotations["stay"])
	stay.Each, _ = time.ParseDuration(s.Annotations["each"])
	stay.Family = s.Annotations["family"]
	return stay
}

func (e *fakeEngine) IsRefused(*v1.Service) bool { return e.refused.Load() }

func (e *fakeEngine) WatchDrift(_ context.Context, drifted func(types.NamespacedName)) {
	for _, name := range e.drifted {
		drifted(name)
	}
}

func (e *fakeEngine) PersistRecords(ctx context.Context, write func(context.Context, types.NamespacedName, types.UID, annotation.Record) error) {
	for name, uid := range e.records {
		err := write(ctx, name, uid, annotation.Record{Service: uid, LoadBalancerID: "lb", Address: "203.0.113.9"})
		e.mu.Lock()
		e.written = append(e.written, err)
		e.mu.Unlock()
	}
}

func (e *fakeEngine) Repair(ctx context.Context, service *v1.Service, exists func(context.Context) (bool, error), ended func(*v1.LoadBalancerStatus, error)) {
	e.repairs.Go(func() { ended(e.repair(ctx, service, exists)) })
}

func (e *fakeEngine) repair(ctx context.Context, service *v1.Service, exists func(context.Context) (bool, error)) (*v1.LoadBalancerStatus, error) {
	if e.serve != nil {
		if err := e.serve(ctx, service); err != nil {
			return nil, err
		}
	}
	is, err := exists(ctx)
	if err != nil {
		return nil, err
	}
	_, nodes := e.newest(service)
	var names []string
	for _, n := range nodes {
		if !Excluded(n) {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.repaired = append(e.repaired, service.Name+":"+strings.Join(names, ","))
	e.existed = append(e.existed, is)
	status := service.Status.LoadBalancer.DeepCopy()
	if e.address != "" {
		status.Ingress = []v1.LoadBalancerIngress{{IP: e.address}}
	}
	return status, nil
}

// fixture is a controller that runs until the end of the test, in a bubble of testing/synctest: its
// clock advances while all goroutines wait.
type fixture struct {
	t          *testing.T
	controller *Controller
	engine     *fakeEngine
	client     *fake.Clientset
	events     chan string
}

// run calls a test with a controller in a bubble, after its informers have synced.
func run(t *testing.T, e *fakeEngine, objects []runtime.Object, test func(*fixture)) {
	t.Helper()
	runOn(t, e, func() *fake.Clientset { return fake.NewClientset(objects...) }, test)
}

// runOn is run with a client that newClient creates in the bubble.
func runOn(t *testing.T, e *fakeEngine, newClient func() *fake.Clientset, test func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client, recorder := newClient(), record.NewFakeRecorder(10000)
		factory := informers.NewSharedInformerFactory(client, 0)
		c, err := New(Options{Engine: e, Informers: factory, Client: client.CoreV1(), Slices: client, Gates: e.gates, Recorder: recorder, Clock: clock.RealClock{}})
		if err != nil {
			t.Fatal(err)
		}
		e.newest = c.Newest
		ctx, cancel := context.WithCancel(t.Context())
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		var running sync.WaitGroup
		running.Go(func() { c.Run(ctx) })
		t.Cleanup(func() {
			cancel()
			running.Wait()
			e.repairs.Wait()
			factory.Shutdown()
		})
		synctest.Wait()
		test(&fixture{t: t, controller: c, engine: e, client: client, events: recorder.Events})
	})
}

// advance lets time pass, and waits until all due work is done.
func (f *fixture) advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// assertRepaired compares all repairs so far, in the order of their text.
func (f *fixture) assertRepaired(want ...string) {
	f.t.Helper()
	f.engine.mu.Lock()
	defer f.engine.mu.Unlock()
	if got := slices.Sorted(slices.Values(f.engine.repaired)); !slices.Equal(got, want) {
		f.t.Errorf("repaired %q, want %q", got, want)
	}
}

func (f *fixture) addNode(n *v1.Node) {
	f.t.Helper()
	if _, err := f.client.CoreV1().Nodes().Create(f.t.Context(), n, metav1.CreateOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

// changeNode updates a copy of a node, and returns it.
func (f *fixture) changeNode(n *v1.Node, change func(*v1.Node)) *v1.Node {
	f.t.Helper()
	n = n.DeepCopy()
	change(n)
	if _, err := f.client.CoreV1().Nodes().Update(f.t.Context(), n, metav1.UpdateOptions{}); err != nil {
		f.t.Fatal(err)
	}
	return n
}

func (f *fixture) deleteNode(name string) {
	f.t.Helper()
	if err := f.client.CoreV1().Nodes().Delete(f.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) service(name string) *v1.Service {
	f.t.Helper()
	s, err := f.client.CoreV1().Services("default").Get(f.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func newNode(name, address string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Status:     v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}},
	}
}

// unmanaged returns a Service that the service controller has not handled yet.
func unmanaged(name string) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer},
	}
}

// newService returns a Service with a load balancer of ours.
func newService(name string) *v1.Service {
	s := unmanaged(name)
	s.Finalizers = []string{servicehelpers.LoadBalancerCleanupFinalizer}
	s.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	return s
}

// objects returns two nodes, a and b, and the Services.
func objects(services ...*v1.Service) []runtime.Object {
	all := []runtime.Object{newNode("a", "10.0.0.1"), newNode("b", "10.0.0.2")}
	for _, s := range services {
		all = append(all, s)
	}
	return all
}

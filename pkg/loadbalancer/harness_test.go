package loadbalancer_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

const (
	clusterID = "5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11"
	lbRoute   = "/load-balancer/v2.0/lbaas/loadbalancers"
	fipRoute  = "/network/v2.0/floatingips"
)

// world is a simulated cloud and a Reconciler that works on it.
type world struct {
	t      *testing.T
	cloud  *simulator.Cloud
	engine *loadbalancer.Reconciler
	events *record.FakeRecorder
	ctx    context.Context
	conf   config.Config
	// clusterName is --cluster-name; clusterUID is the UID of kube-system.
	clusterName, clusterUID string
	clock                   clock.WithTicker
	options                 worldOptions
	// members are the nodes of the cluster.
	members []v1.Node
	// sharing are the annotations of namespaces that say whom they let share.
	sharing map[string]string
	timing  driver.Timing
	// counted are the refused Services by reason, as the controller has counted them.
	counted *sync.Map
}

// worldOptions change what newWorld sets up.
type worldOptions struct {
	simulator simulator.Options
	// keys are lines of [LoadBalancer].
	keys map[string]string
	// hold is how long a call may hold its worker, workers how many there are.
	hold    time.Duration
	workers int
	// clock is the controller's.
	clock clock.WithTicker
	// newest is what the informers have.
	newest func(*v1.Service) (*v1.Service, []*v1.Node)
}

// fastDelays let every change take a moment, so that waiting is really done.
func fastDelays() map[string]simoctavia.Delays {
	d := simoctavia.Delays{Create: 20 * time.Millisecond, Update: 5 * time.Millisecond, Delete: 5 * time.Millisecond}
	ovn := d
	ovn.Children = 20 * time.Millisecond
	return map[string]simoctavia.Delays{simoctavia.ProviderAmphora: d, simoctavia.ProviderOVN: ovn}
}

func fastTiming() driver.Timing {
	return driver.Timing{
		Create:          driver.PollInterval{First: 5 * time.Millisecond, Step: 3 * time.Millisecond, Cap: 20 * time.Millisecond},
		Update:          driver.PollInterval{First: 3 * time.Millisecond, Step: 3 * time.Millisecond, Cap: 20 * time.Millisecond},
		Delete:          driver.PollInterval{First: 3 * time.Millisecond, Step: 3 * time.Millisecond, Cap: 20 * time.Millisecond},
		ChildInterval:   5 * time.Millisecond,
		ChildTimeout:    5 * time.Minute,
		LostCreateRetry: 5 * time.Millisecond,
	}
}

func newWorld(t *testing.T, options worldOptions) *world {
	t.Helper()
	if options.simulator.Delays == nil {
		options.simulator.Delays = fastDelays()
	}
	options.simulator.Config.LoadBalancer = options.keys
	cloud, err := simulator.Start(options.simulator)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	w := &world{t: t, cloud: cloud, ctx: ctx, conf: readConf(t, cloud.CloudConf()), clusterName: "kubernetes", clusterUID: clusterID, timing: fastTiming(),
		clock: cmp.Or[clock.WithTicker](options.clock, clock.RealClock{}), options: options}
	w.conf.LoadBalancer.DriftInterval.Duration = 10 * time.Millisecond
	w.engine, w.events = w.controller(w.clusterUID)
	return w
}

func readConf(t *testing.T, text string) config.Config {
	t.Helper()
	conf, _, err := config.Load(strings.NewReader(text), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return *conf
}

// controller starts another controller, of this or another cluster, on the cloud.
// As at start-up, it has asked for the version of Octavia.
func (w *world) controller(cluster string) (*loadbalancer.Reconciler, *record.FakeRecorder) {
	w.t.Helper()
	engine, recorder, session := w.newController(cluster)
	if _, err := session.LoadBalancerVersion(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	return engine, recorder
}

// coldController has asked for nothing yet.
func (w *world) coldController() *loadbalancer.Reconciler {
	engine, _, _ := w.newController(w.clusterUID)
	return engine
}

func (w *world) newController(cluster string) (*loadbalancer.Reconciler, *record.FakeRecorder, *openstack.Session) {
	w.t.Helper()
	session, err := openstack.NewSession(w.ctx, w.conf.Global, openstack.SessionOptions{
		Retry: transport.RetryPolicy{BaseDelay: time.Millisecond, MaxDelay: 5 * time.Millisecond},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(session.Close)
	recorder := record.NewFakeRecorder(1000)
	counted := &sync.Map{}
	w.counted = counted
	engine, err := loadbalancer.New(loadbalancer.Options{
		Config:      &w.conf,
		Session:     session,
		ClusterName: w.clusterName,
		Namespace: func(_ context.Context, name string) (*v1.Namespace, error) {
			return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotation.SharingFrom: w.sharing[name]}}}, nil
		},
		ClusterID: cluster,
		Nodes:     func(context.Context) ([]v1.Node, error) { return w.members, nil },
		Recorder:  recorder,
		Clock:     w.clock,
		Timing:    w.timing,
		Patience:  2 * time.Minute,
		Hold:      w.options.hold,
		Workers:   w.options.workers,
		Newest:    w.options.newest,
		Refused:   func(reason string, services int) { counted.Store(reason, services) },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(engine.Close)
	return engine, recorder, session
}

// restart replaces the controller by a new one, which knows nothing.
func (w *world) restart() {
	w.t.Helper()
	w.engine, w.events = w.controller(w.clusterUID)
}

// stuckSoon starts a controller anew that soon takes a part that stays PENDING to be
// stuck. Others wait for minutes, so that a slow machine is not taken for that.
func (w *world) stuckSoon() {
	w.t.Helper()
	w.timing.ChildTimeout = 500 * time.Millisecond
	w.restart()
}

// nodes makes n nodes with servers in the cloud.
func (w *world) nodes(n int) []*v1.Node {
	w.t.Helper()
	var nodes []*v1.Node
	for i := range n {
		nodes = append(nodes, w.node(i))
	}
	return nodes
}

func (w *world) node(i int) *v1.Node {
	w.t.Helper()
	return w.nodeAt(fmt.Sprintf("node-%d", i), fmt.Sprintf("127.100.1.%d", 10+i))
}

// nodeAt makes a node with a server of an address.
func (w *world) nodeAt(name, address string) *v1.Node {
	w.t.Helper()
	server, err := w.cloud.AddServer(name, address)
	if err != nil {
		w.t.Fatal(err)
	}
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.NodeSpec{ProviderID: "openstack:///" + server.ID},
		Status:     v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}},
	}
	w.members = append(w.members, *node)
	return node
}

// service makes a Service with n ports of TCP.
func service(name string, n int) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-of-" + name), Annotations: map[string]string{},
			Finalizers: []string{"service.kubernetes.io/load-balancer-cleanup"},
		},
		Spec: v1.ServiceSpec{
			Type:                  v1.ServiceTypeLoadBalancer,
			IPFamilies:            []v1.IPFamily{v1.IPv4Protocol},
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster,
			SessionAffinity:       v1.ServiceAffinityNone,
		},
	}
	for i := range n {
		svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 80+i))
	}
	return svc
}

func port(protocol v1.Protocol, number int) v1.ServicePort {
	return v1.ServicePort{Name: fmt.Sprintf("p%d", number), Protocol: protocol, Port: int32(number), NodePort: int32(30000 + number)}
}

// ensure calls Ensure, publishes the status as the service controller does, and
// checks that nothing differs when the cloud is read anew.
func (w *world) ensure(svc *v1.Service, nodes []*v1.Node) *v1.LoadBalancerStatus {
	w.t.Helper()
	status, err := w.engine.Ensure(w.ctx, svc, nodes)
	if err != nil {
		w.t.Fatalf("Ensure: %v", err)
	}
	svc.Status.LoadBalancer = *status
	return status
}

// repair waits until the controller notices that somebody else changed the
// Service's load balancer, and lets it bring it back.
func (w *world) repair(svc *v1.Service, nodes []*v1.Node) {
	w.t.Helper()
	w.notice(svc)
	alive := func(context.Context) (bool, error) { return true, nil }
	status, err := w.engine.Repair(w.ctx, svc, nodes, alive)
	if err != nil {
		w.t.Fatalf("Repair: %v", err)
	}
	svc.Status.LoadBalancer = *status
}

// notice waits until the controller names the Service as changed by somebody else.
func (w *world) notice(svc *v1.Service) {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.ctx)
	found := make(chan types.NamespacedName, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.engine.WatchDrift(ctx, func(name types.NamespacedName) { found <- name })
	}()
	select {
	case name := <-found:
		if name.Name != svc.Name {
			w.t.Errorf("drift of %s, want %s", name, svc.Name)
		}
	case <-ctx.Done():
		w.t.Fatal("nobody noticed")
	}
	stop()
	<-done
}

func (w *world) refused(svc *v1.Service, nodes []*v1.Node, text string) {
	w.t.Helper()
	_, err := w.engine.Ensure(w.ctx, svc, nodes)
	if err == nil || !strings.Contains(err.Error(), text) {
		w.t.Fatalf("Ensure: got error %v, want one with %q", err, text)
	}
}

func (w *world) delete(svc *v1.Service) {
	w.t.Helper()
	if err := w.engine.Delete(w.ctx, svc); err != nil {
		w.t.Fatalf("Delete: %v", err)
	}
}

// loadBalancers gives what the cloud has, once nothing works on it any more.
func (w *world) loadBalancers(want int) []simoctavia.LoadBalancer {
	w.t.Helper()
	if err := w.cloud.WaitSettled(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	all := w.cloud.Octavia.Snapshot()
	if len(all) != want {
		w.t.Fatalf("the cloud has %d load balancers, want %d", len(all), want)
	}
	return all
}

func (w *world) loadBalancer() simoctavia.LoadBalancer {
	w.t.Helper()
	return w.loadBalancers(1)[0]
}

func (w *world) floatingIPs(want int) {
	w.t.Helper()
	if all := w.cloud.Neutron.FloatingIPs(); len(all) != want {
		w.t.Fatalf("the cloud has %d floating IPs, want %d", len(all), want)
	}
}

// writes fails unless exactly so many writes are in the books since the last
// reset.
func (w *world) writes(want int) {
	w.t.Helper()
	if got := w.cloud.Books.Requests(books.Writes()); len(got) != want {
		w.t.Fatalf("%d writes, want %d:\n%s", len(got), want, printed(got))
	}
}

func printed(requests []books.Request) string {
	var b strings.Builder
	for _, r := range requests {
		fmt.Fprintf(&b, "%s %s %d\n", r.Method, r.Path, r.Status)
	}
	return b.String()
}

// unchanged fails if the Service, ensured once more by this controller and by a
// new one, costs any write.
func (w *world) unchanged(svc *v1.Service, nodes []*v1.Node) {
	w.t.Helper()
	w.cloud.Books.Reset()
	w.ensure(svc, nodes)
	w.writes(0)
	w.restart()
	w.cloud.Books.Reset()
	w.ensure(svc, nodes)
	w.writes(0)
}

// told gives all events so far.
func (w *world) told() string {
	var all []string
	for {
		select {
		case event := <-w.events.Events:
			all = append(all, event)
		default:
			return strings.Join(all, "\n")
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func nowTime() metav1.Time { return metav1.Now() }

// foreignListener adds a listener to a load balancer as somebody else would.
func foreignListener(t *testing.T, w *world, loadBalancerID string, number int) {
	t.Helper()
	session, err := openstack.NewSession(w.ctx, w.conf.Global, openstack.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	_, err = session.Octavia().CreateListener(w.ctx, listeners.CreateOpts{
		LoadbalancerID: loadBalancerID, Name: "somebody's", Protocol: listeners.ProtocolTCP, ProtocolPort: number,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cloud.WaitSettled(w.ctx); err != nil {
		t.Fatal(err)
	}
}

// faultOn lets a kind of request fail.
func faultOn(method, route string, status int) faults.Rule {
	return faults.Rule{Method: method, Route: route, Status: status}
}

// faultRootDocument hides the version of the load balancer API.
func faultRootDocument() faults.Rule {
	return faultOn(http.MethodGet, "/load-balancer/", http.StatusServiceUnavailable)
}

// look lets the controller look at the whole cloud, as it does from its start on:
// the second look begins when the first is over.
func (w *world) look() {
	w.t.Helper()
	before := w.cloud.Books.Count(http.MethodGet, lbRoute)
	ctx, stop := context.WithCancel(w.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.engine.WatchDrift(ctx, func(types.NamespacedName) {})
	}()
	for w.cloud.Books.Count(http.MethodGet, lbRoute) < before+2 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	stop()
	<-done
}

// refusedFor gives the reasons for which the controller counts refused Services, and
// how many where there is more than one.
func (w *world) refusedFor() string {
	var all []string
	w.counted.Range(func(reason, services any) bool {
		switch services {
		case 0:
		case 1:
			all = append(all, fmt.Sprint(reason))
		default:
			all = append(all, fmt.Sprint(services, " ", reason))
		}
		return true
	})
	slices.Sort(all)
	return strings.Join(all, ", ")
}

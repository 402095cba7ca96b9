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

	"go.opentelemetry.io/otel/trace"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/goal"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/memorynet"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

const (
	clusterID = "5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11"
	lbRoute   = "/load-balancer/v2.0/lbaas/loadbalancers"
	fipRoute  = "/network/v2.0/floatingips"
)

// environment is a simulated cloud with a Reconciler.
type environment struct {
	*simulated.Environment
	engine *loadbalancer.Reconciler
	events *record.FakeRecorder
	ctx    context.Context
	// clusterName is the value of --cluster-name; clusterUID is the UID of kube-system.
	clusterName, clusterUID string
	clock                   clock.WithTickerAndDelayedExecution
	options                 environmentOptions
	// members has the nodes of the cluster.
	members []v1.Node
	// sharing has the annotation of each namespace that lists the namespaces which may share.
	sharing map[string]string
	timing  driver.Timing
	// counted has the controller's counts of refused Services by reason.
	counted *sync.Map
	// records and conditions outlive a controller.
	records    *fakeRecords
	conditions *fakeConditions
}

// fakeRecords has the records of Services.
type fakeRecords struct {
	// recorded, when set, is called after a text is set.
	recorded func(types.UID)

	mu    sync.Mutex
	texts map[types.UID]string
}

func (r *fakeRecords) Get(service types.UID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.texts[service]
}

func (r *fakeRecords) Set(service types.UID, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts[service] = text
	if r.recorded != nil {
		r.recorded(service)
	}
}

// environmentOptions change what newEnvironment sets up.
type environmentOptions struct {
	simulator simulator.Options
	// keys are lines of [LoadBalancer].
	keys map[string]string
	// hold is how long a call may occupy its worker, a minute if it is 0; workers is the number of workers.
	hold    time.Duration
	workers int
	// patience is the time limit of a round, 2 minutes if it is 0.
	patience time.Duration
	// clock is the clock of the controller.
	clock clock.WithTickerAndDelayedExecution
	// newest returns the informers' version of a Service, and the nodes.
	newest func(*v1.Service) (*v1.Service, []*v1.Node)
	// endpoints has those of Services; nil: they are not watched.
	endpoints *fakeEndpoints
	// services are those that may share a load balancer by name; nil: none are known.
	services *fakeServices
	// pods reads a pod; nil: none is read.
	pods goal.Pods
	// limits and metrics are passed to the controller's session.
	limits  limiter.Limits
	metrics *transport.Metrics
	// tracer is passed to the engine.
	tracer trace.TracerProvider
	// shown has the metrics of the engine.
	shown *loadbalancer.Metrics
	// network connects the controller with the cloud inside the process, for a test in a bubble
	// of testing/synctest; nil: loopback.
	network *memorynet.Network
}

// fastDelays gives every change a short duration, so that waits really happen.
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

func newEnvironment(t *testing.T, options environmentOptions) *environment {
	t.Helper()
	if options.simulator.Delays == nil {
		options.simulator.Delays = fastDelays()
	}
	options.simulator.Config.LoadBalancer = options.keys
	ctx := t.Context()
	if network := options.network; network != nil {
		options.simulator.Listen, options.simulator.Addr = network.Listen, "127.0.0.1:80"
	} else { // in a bubble, a test may take more of its own time
		limited, cancel := context.WithTimeout(ctx, await.Patience)
		t.Cleanup(cancel)
		ctx = limited
	}
	env := &environment{Environment: simulated.New(t, options.simulator), ctx: ctx, records: &fakeRecords{texts: map[types.UID]string{}}, conditions: &fakeConditions{},
		clusterName: "kubernetes", clusterUID: clusterID, timing: fastTiming(),
		clock: cmp.Or[clock.WithTickerAndDelayedExecution](options.clock, clock.RealClock{}), options: options}
	env.Conf.LoadBalancer.DriftInterval.Duration = 10 * time.Millisecond
	env.engine, env.events = env.controller(env.clusterUID)
	return env
}

func readConf(t *testing.T, text string) *config.Config {
	t.Helper()
	conf, _, err := config.Load(strings.NewReader(text), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

// controller starts another controller, of this or another cluster, in the cloud. As at start-up,
// it has read the version of Octavia.
func (env *environment) controller(cluster string) (*loadbalancer.Reconciler, *record.FakeRecorder) {
	env.T.Helper()
	engine, recorder, session := env.newController(cluster)
	if _, err := session.LoadBalancerVersion(env.ctx); err != nil {
		env.T.Fatal(err)
	}
	return engine, recorder
}

// coldController returns a controller that has sent no requests.
func (env *environment) coldController() *loadbalancer.Reconciler {
	engine, _, _ := env.newController(env.clusterUID)
	return engine
}

func (env *environment) newController(cluster string) (*loadbalancer.Reconciler, *record.FakeRecorder, *openstack.Session) {
	env.T.Helper()
	signIn := openstack.SessionOptions{
		Retry:  transport.RetryPolicy{BaseDelay: time.Millisecond, MaxDelay: 5 * time.Millisecond},
		Limits: env.options.limits, Metrics: env.options.metrics,
	}
	if env.options.network != nil {
		signIn.Dial = env.options.network.Host().Dial
	}
	session := env.SignIn(signIn)
	recorder := record.NewFakeRecorder(1000)
	counted := &sync.Map{}
	env.counted = counted
	engine, err := loadbalancer.New(loadbalancer.Options{
		Config:      env.Conf,
		Session:     session,
		ClusterName: env.clusterName,
		Namespace: func(_ context.Context, name string) (*v1.Namespace, error) {
			return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotation.SharingFrom: env.sharing[name]}}}, nil
		},
		ClusterID: cluster,
		Nodes:     func(context.Context) ([]v1.Node, error) { return env.members, nil },
		Records:   env.records,
		Recorder:  recorder, Conditions: env.conditions,
		Clock:     env.clock,
		Timing:    env.timing,
		Patience:  cmp.Or(env.options.patience, 2*time.Minute),
		Hold:      cmp.Or(env.options.hold, time.Minute), // the machine may be busy
		Workers:   env.options.workers,
		Newest:    env.options.newest,
		Endpoints: env.options.endpoints.source(),
		Services:  env.options.services.source(),
		Pods:      env.options.pods,
		Refused:   func(reason string, services int) { counted.Store(reason, services) },
		Metrics:   env.options.shown,
		Tracer:    env.options.tracer,
	})
	if err != nil {
		env.T.Fatal(err)
	}
	env.T.Cleanup(engine.Close)
	return engine, recorder, session
}

// restart replaces the controller by a new one without any state. All requests of the old one are
// answered before, and so are in the request log before a Reset.
func (env *environment) restart() {
	env.T.Helper()
	env.engine.AwaitReads()
	if err := env.Cloud.Disconnect(env.ctx); err != nil {
		env.T.Fatal(err)
	}
	env.engine, env.events = env.controller(env.clusterUID)
}

// end makes the controller record its state, as at its end.
func (env *environment) end() {
	env.T.Helper()
	ctx, end := context.WithCancel(env.ctx)
	end()
	env.engine.PersistRecords(ctx, func(context.Context, types.NamespacedName, types.UID, annotation.Record) error {
		env.T.Error("it writes annotations at its end")
		return nil
	})
}

// writeRecord writes a record into the annotations of a Service.
func writeRecord(svc *v1.Service, record annotation.Record) {
	for name, value := range record.Changes(svc.Annotations) {
		if delete(svc.Annotations, name); value != nil {
			svc.Annotations[name] = *value
		}
	}
}

// stuckSoon restarts the controller with a short limit for parts that stay PENDING. Other
// environments wait for minutes, so that a slow machine does not reach the limit.
func (env *environment) stuckSoon() {
	env.T.Helper()
	env.timing.ChildTimeout = 500 * time.Millisecond
	env.restart()
}

// nodes returns n nodes with servers in the cloud.
func (env *environment) nodes(n int) []*v1.Node {
	env.T.Helper()
	var nodes []*v1.Node
	for i := range n {
		nodes = append(nodes, env.node(i))
	}
	return nodes
}

func (env *environment) node(i int) *v1.Node {
	env.T.Helper()
	return env.nodeAt(fmt.Sprintf("node-%d", i), fmt.Sprintf("127.100.1.%d", 10+i))
}

// nodeAt returns a node with a server that has an address.
func (env *environment) nodeAt(name, address string) *v1.Node {
	env.T.Helper()
	server, err := env.Cloud.AddServer(name, address)
	if err != nil {
		env.T.Fatal(err)
	}
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.NodeSpec{ProviderID: "openstack:///" + server.ID},
		Status:     v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}},
	}
	env.members = append(env.members, *node)
	return node
}

// service returns a Service with n ports of TCP.
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

// ensure calls Ensure, and publishes the status as the service controller does.
func (env *environment) ensure(svc *v1.Service, nodes []*v1.Node) *v1.LoadBalancerStatus {
	env.T.Helper()
	status, err := env.engine.Ensure(env.ctx, svc, nodes)
	if err != nil {
		env.T.Fatalf("Ensure: %v", err)
	}
	svc.Status.LoadBalancer = *status
	return status
}

// repair waits until the controller detects that another client changed the Service's load
// balancer, and calls Repair.
func (env *environment) repair(svc *v1.Service, nodes []*v1.Node) {
	env.T.Helper()
	env.notice(svc)
	alive := func(context.Context) (bool, error) { return true, nil }
	status, err := env.engine.Repair(env.ctx, svc, nodes, alive)
	if err != nil {
		env.T.Fatalf("Repair: %v", err)
	}
	svc.Status.LoadBalancer = *status
}

// watchDrift runs the drift watch until stop is called, which returns when all requests of the
// watch are answered.
func (env *environment) watchDrift(ctx context.Context, changed func(types.NamespacedName)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		env.engine.WatchDrift(ctx, changed)
	}()
	return func() {
		cancel()
		<-done
		env.engine.AwaitReads()
	}
}

// notice waits until the controller reports the Service as changed by another client.
func (env *environment) notice(svc *v1.Service) {
	env.T.Helper()
	found := make(chan types.NamespacedName, 100)
	defer env.watchDrift(env.ctx, func(name types.NamespacedName) { found <- name })()
	select {
	case name := <-found:
		if name.Name != svc.Name {
			env.T.Errorf("drift of %s, want %s", name, svc.Name)
		}
	case <-env.ctx.Done():
		env.T.Fatal("nobody noticed")
	}
}

func (env *environment) refused(svc *v1.Service, nodes []*v1.Node, text string) {
	env.T.Helper()
	_, err := env.engine.Ensure(env.ctx, svc, nodes)
	if err == nil || !strings.Contains(err.Error(), text) {
		env.T.Fatalf("Ensure: got error %v, want one with %q", err, text)
	}
}

func (env *environment) delete(svc *v1.Service) {
	env.T.Helper()
	if err := env.engine.Delete(env.ctx, svc); err != nil {
		env.T.Fatalf("Delete: %v", err)
	}
}

// loadBalancers returns all load balancers of the cloud, once all work on them has ended.
func (env *environment) loadBalancers(want int) []simoctavia.LoadBalancer {
	env.T.Helper()
	if err := env.Cloud.WaitSettled(env.ctx); err != nil {
		env.T.Fatal(err)
	}
	all := env.Cloud.Octavia.Snapshot()
	if len(all) != want {
		env.T.Fatalf("the cloud has %d load balancers, want %d", len(all), want)
	}
	return all
}

func (env *environment) loadBalancer() simoctavia.LoadBalancer {
	env.T.Helper()
	return env.loadBalancers(1)[0]
}

func (env *environment) floatingIPs(want int) {
	env.T.Helper()
	if all := env.Cloud.Neutron.FloatingIPs(); len(all) != want {
		env.T.Fatalf("the cloud has %d floating IPs, want %d", len(all), want)
	}
}

// writes fails unless the request log has exactly so many writes since the last reset.
func (env *environment) writes(want int) {
	env.T.Helper()
	if got := env.Cloud.RequestLog.Requests(requestlog.Writes()); len(got) != want {
		env.T.Fatalf("%d writes, want %d:\n%s", len(got), want, printed(got))
	}
}

func printed(requests []requestlog.Request) string {
	var b strings.Builder
	for _, r := range requests {
		fmt.Fprintf(&b, "%s %s %d\n", r.Method, r.Path, r.Status)
	}
	return b.String()
}

// unchanged fails if another Ensure of the Service causes a write, by this controller or by a new
// one.
func (env *environment) unchanged(svc *v1.Service, nodes []*v1.Node) {
	env.T.Helper()
	before := len(env.Cloud.RequestLog.Requests(requestlog.Writes()))
	env.ensure(svc, nodes)
	env.writes(before)
	env.restart()
	before = len(env.Cloud.RequestLog.Requests(requestlog.Writes())) // a new controller signs in
	env.ensure(svc, nodes)
	env.writes(before)
}

// emitted returns the events since the last call.
func (env *environment) emitted() string {
	var all []string
	for {
		select {
		case event := <-env.events.Events:
			all = append(all, event)
		default:
			return strings.Join(all, "\n")
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func nowTime() metav1.Time { return metav1.Now() }

// foreignListener adds a listener to a load balancer as another client would.
func foreignListener(t *testing.T, env *environment, loadBalancerID string, number int) {
	t.Helper()
	session, err := openstack.NewSession(env.ctx, env.Conf.Global, openstack.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	_, err = session.Octavia().CreateListener(env.ctx, octavia.Listener{
		LoadBalancerID: loadBalancerID, Name: "somebody's", Protocol: "TCP", Port: number,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := env.Cloud.WaitSettled(env.ctx); err != nil {
		t.Fatal(err)
	}
}

// faultOn makes a kind of request fail.
func faultOn(method, route string, status int) faults.Rule {
	return faults.Rule{Method: method, Route: route, Status: status}
}

// faultRootDocument hides the version of the load balancer API.
func faultRootDocument() faults.Rule {
	return faultOn(http.MethodGet, "/load-balancer/", http.StatusServiceUnavailable)
}

// look waits for a complete snapshot of the project: the second one begins when the first has
// ended.
func (env *environment) look() {
	env.T.Helper()
	before := env.Cloud.RequestLog.Count(http.MethodGet, lbRoute)
	defer env.watchDrift(env.ctx, func(types.NamespacedName) {})()
	for env.Cloud.RequestLog.Count(http.MethodGet, lbRoute) < before+2 && env.ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

// refusedFor returns the reasons of the controller's refused Services, with the number of Services
// if there is more than one.
func (env *environment) refusedFor() string {
	var all []string
	env.counted.Range(func(reason, services any) bool {
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

package status_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/status"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/conditions"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

const clusterUID = "5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11"

// environment is a cluster on a simulated cloud, with a stopped controller.
type environment struct {
	*simulated.Environment
	session *openstack.Session
	client  *fake.Clientset
	engine  *loadbalancer.Reconciler
	nodes   []*v1.Node
	// said are the conditions for served Services.
	said map[types.UID][]conditions.Condition
	// now is the time of the status: half a day after the creations, regardless of the machine's
	// speed.
	now time.Time
}

func newEnvironment(t *testing.T, keys map[string]string) *environment {
	t.Helper()
	options := simulator.Options{Delays: map[string]simoctavia.Delays{simoctavia.ProviderAmphora: {}}}
	options.Config.LoadBalancer = keys
	env := &environment{Environment: simulated.New(t, options), said: map[types.UID][]conditions.Condition{}, now: time.Now().Add(12*time.Hour + 30*time.Minute)}
	env.client = fake.NewClientset(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: clusterUID}})
	env.session = env.SignIn(openstack.SessionOptions{Retry: transport.RetryPolicy{BaseDelay: time.Millisecond, MaxDelay: 5 * time.Millisecond}})
	fast := driver.PollInterval{First: time.Millisecond, Step: time.Millisecond, Cap: 5 * time.Millisecond}
	var err error
	env.engine, err = loadbalancer.New(loadbalancer.Options{
		Config: env.Conf, Session: env.session, ClusterName: "kubernetes", ClusterID: clusterUID, Recorder: recorder{env}, Conditions: env,
		Timing: driver.Timing{Create: fast, Update: fast, Delete: fast, ChildInterval: time.Millisecond, ChildTimeout: time.Minute, LostCreateRetry: time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(env.engine.Close)
	return env
}

// Set implements loadbalancer.Conditions, for one Service at a time.
func (env *environment) Set(_ types.NamespacedName, uid types.UID, said []conditions.Condition, _ annotation.Record) {
	env.said[uid] = append(env.said[uid], said...)
}

// Brings implements loadbalancer.Conditions.
func (env *environment) Brings(types.NamespacedName, types.UID) bool { return false }

// state sets the conditions of a Service: good ones are half a day old, bad ones 14 minutes.
func (env *environment) state(svc *v1.Service, said ...conditions.Condition) {
	for _, s := range said {
		condition := metav1.Condition{Type: string(s.Type), Status: metav1.ConditionFalse, Reason: string(s.Reason), Message: s.Message}
		condition.LastTransitionTime = metav1.NewTime(env.now.Add(-12 * time.Hour))
		if s.Is {
			condition.Status = metav1.ConditionTrue
		}
		if s.Is != (s.Type == reason.Provisioned) {
			condition.LastTransitionTime = metav1.NewTime(env.now.Add(-14 * time.Minute))
		}
		meta.SetStatusCondition(&svc.Status.Conditions, condition)
	}
}

// recorder writes the events of the controller.
type recorder struct{ env *environment }

func (r recorder) Event(object runtime.Object, kind, reason, text string) {
	r.env.event(object.(*v1.ObjectReference), kind, reason, text)
}

func (r recorder) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	r.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

func (r recorder) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	r.Eventf(object, kind, reason, format, args...)
}

// event writes an event: a normal one half a day old, a warning with three occurrences, the last
// five minutes ago.
func (env *environment) event(of *v1.ObjectReference, kind, reason, text string) {
	env.T.Helper()
	event := &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: of.Namespace, GenerateName: of.Name + ".", Name: fmt.Sprintf("%s.%x", of.Name, time.Now().UnixNano())},
		InvolvedObject: *of,
		Type:           kind, Reason: reason, Message: text, Count: 3,
		FirstTimestamp: metav1.NewTime(env.now.Add(-14 * time.Minute)), LastTimestamp: metav1.NewTime(env.now.Add(-5 * time.Minute)),
	}
	if kind == v1.EventTypeNormal {
		event.Count, event.FirstTimestamp = 1, metav1.NewTime(env.now.Add(-12*time.Hour))
		event.LastTimestamp = event.FirstTimestamp
	}
	if _, err := env.client.CoreV1().Events(of.Namespace).Create(env.T.Context(), event, metav1.CreateOptions{}); err != nil {
		env.T.Error(err)
	}
}

func (env *environment) addNodes(n int) {
	env.T.Helper()
	for i := range n {
		name, address := fmt.Sprintf("node-%d", i), fmt.Sprintf("127.100.1.%d", 10+i)
		server, err := env.Cloud.AddServer(name, address)
		if err != nil {
			env.T.Fatal(err)
		}
		node := &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{ProviderID: "openstack:///" + server.ID},
			Status: v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}},
		}
		if _, err := env.client.CoreV1().Nodes().Create(env.T.Context(), node, metav1.CreateOptions{}); err != nil {
			env.T.Fatal(err)
		}
		env.nodes = append(env.nodes, node)
	}
}

// newService returns a Service of TCP ports, which changes may change.
func (env *environment) newService(name string, ports []int32, changes ...func(*v1.Service)) *v1.Service {
	svc := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("uid-of-" + name), Annotations: map[string]string{},
			Finalizers: []string{"service.kubernetes.io/load-balancer-cleanup"}, CreationTimestamp: metav1.NewTime(env.now.Add(-13 * time.Hour)),
		},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster, SessionAffinity: v1.ServiceAffinityNone,
		},
	}
	for _, port := range ports {
		svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: fmt.Sprint("p", port), Protocol: v1.ProtocolTCP, Port: port, NodePort: 30000 + port})
	}
	for _, change := range changes {
		change(svc)
	}
	return svc
}

func annotated(key, value string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Annotations["loadbalancer.openstack.org/"+key] = value }
}

// add stores a Service that is not handled yet.
func (env *environment) add(svc *v1.Service) *v1.Service {
	env.T.Helper()
	stored, err := env.client.CoreV1().Services(svc.Namespace).Create(env.T.Context(), svc, metav1.CreateOptions{})
	if err != nil {
		env.T.Fatal(err)
	}
	return stored
}

// serve makes the controller serve a stored Service, like the service controller; the error is that
// of the event.
func (env *environment) serve(svc *v1.Service) error {
	env.T.Helper()
	ctx, cancel := context.WithTimeout(env.T.Context(), await.Patience)
	defer cancel()
	balancer, err := env.engine.Ensure(ctx, svc, env.nodes)
	if err != nil {
		env.event(&v1.ObjectReference{Kind: "Service", Namespace: svc.Namespace, Name: svc.Name, UID: svc.UID}, v1.EventTypeWarning, "SyncLoadBalancerFailed", "Error syncing load balancer: failed to ensure load balancer: "+err.Error())
	} else {
		svc.Status.LoadBalancer = *balancer
	}
	env.state(svc, env.said[svc.UID]...)
	env.store(svc)
	return err
}

// store writes a changed Service.
func (env *environment) store(svc *v1.Service) {
	env.T.Helper()
	_, err := env.client.CoreV1().Services(svc.Namespace).Update(env.T.Context(), svc, metav1.UpdateOptions{})
	env.must(err)
}

// served stores a Service with its desired state.
func (env *environment) served(name string, ports []int32, changes ...func(*v1.Service)) (*v1.Service, simoctavia.LoadBalancer) {
	env.T.Helper()
	svc := env.add(env.newService(name, ports, changes...))
	if err := env.serve(svc); err != nil {
		env.T.Fatal(err)
	}
	return svc, env.balancer("kube_service_kubernetes_default_" + name)
}

func (env *environment) balancer(name string) simoctavia.LoadBalancer {
	for _, lb := range env.Cloud.Octavia.Snapshot() {
		if lb.Name == name {
			return lb
		}
	}
	return simoctavia.LoadBalancer{}
}

// must ends the test at an error.
func (env *environment) must(err error) {
	env.T.Helper()
	if err != nil {
		env.T.Fatal(err)
	}
}

// read reads the status like the command, without the controller.
func (env *environment) read(t *testing.T, services ...string) *status.Report {
	t.Helper()
	reader, err := status.New(status.Options{
		Config: env.Conf, Session: env.session, Kubernetes: env.client, ClusterName: "kubernetes", Clock: clocktesting.NewFakeClock(env.now),
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := reader.Read(t.Context(), status.Query{Namespace: "default", Services: services})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// text formats a report for people.
func text(t *testing.T, r *status.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := r.WriteText(screen.New(&out, nil)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// stable replaces the parts of an output that differ between runs.
func stable(output string) string {
	output = regexp.MustCompile(`req-[0-9a-f-]+`).ReplaceAllString(output, "req-00000000-0000-4000-8000-000000000000")
	output = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`).ReplaceAllString(output, "2027-05-01T12:00:00Z")
	seen := map[string]string{}
	return regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).ReplaceAllStringFunc(output, func(id string) string {
		if strings.HasPrefix(id, "00000000") {
			return id
		}
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("%08d-0000-4000-8000-000000000000", len(seen)+1)
		}
		return seen[id]
	})
}

package plan_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

const clusterID = "5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11"

// cluster is a simulated cloud, and a cluster in it with its objects of the API server.
type cluster struct {
	*simulated.Environment
	client  *fake.Clientset
	name    string
	patient time.Duration
	nodes   []*v1.Node
}

func newCluster(t *testing.T, options simulator.Options, uid string, objects ...*v1.Service) *cluster {
	t.Helper()
	if options.Delays == nil {
		fast := simoctavia.Delays{Create: 5 * time.Millisecond, Update: 2 * time.Millisecond, Delete: 2 * time.Millisecond}
		options.Delays = map[string]simoctavia.Delays{simoctavia.ProviderAmphora: fast, simoctavia.ProviderOVN: fast}
	}
	c := &cluster{Environment: simulated.New(t, options), name: "kubernetes", patient: time.Minute}
	c.client = fake.NewClientset(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: types.UID(uid)}})
	c.inFamily(v1.IPv4Protocol)
	for _, svc := range objects {
		c.add(svc)
	}
	return c
}

// inFamily sets the first IP family of the cluster, that of the Service of the API server.
func (c *cluster) inFamily(family v1.IPFamily) {
	c.T.Helper()
	apiServer := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kubernetes"},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeClusterIP, IPFamilies: []v1.IPFamily{family}},
	}
	_ = c.client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("services"), metav1.NamespaceDefault, "kubernetes")
	c.add(apiServer)
}

// add adds a Service to the API server.
func (c *cluster) add(svc *v1.Service) {
	c.T.Helper()
	if err := c.client.Tracker().Add(svc); err != nil {
		c.T.Fatal(err)
	}
}

// addNodes adds nodes with servers in the cloud.
func (c *cluster) addNodes(n int) {
	c.T.Helper()
	for range n {
		i := len(c.nodes)
		name, address := fmt.Sprintf("node-%d", i), fmt.Sprintf("127.100.1.%d", 10+i)
		server, err := c.Cloud.AddServer(name, address)
		if err != nil {
			c.T.Fatal(err)
		}
		node := &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       v1.NodeSpec{ProviderID: "openstack:///" + server.ID},
			Status:     v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}},
		}
		c.nodes = append(c.nodes, node)
		if err := c.client.Tracker().Add(node); err != nil {
			c.T.Fatal(err)
		}
	}
}

// serve makes a controller serve Services, and publishes their addresses.
func (c *cluster) serve(services ...*v1.Service) {
	c.T.Helper()
	timing := driver.PollInterval{First: time.Millisecond, Step: time.Millisecond, Cap: 5 * time.Millisecond}
	engine, err := loadbalancer.New(loadbalancer.Options{
		Config: c.Conf, Session: c.SignIn(openstack.SessionOptions{}), ClusterName: c.name, ClusterID: clusterID, Clock: clock.RealClock{},
		Recorder: &record.FakeRecorder{}, Patience: time.Minute,
		Timing: driver.Timing{Create: timing, Update: timing, Delete: timing, ChildInterval: time.Millisecond, ChildTimeout: time.Minute, LostCreateRetry: time.Millisecond},
	})
	if err != nil {
		c.T.Fatal(err)
	}
	defer engine.Close()
	for _, svc := range services {
		status, err := engine.Ensure(c.T.Context(), svc, c.nodes)
		if err != nil {
			c.T.Fatal(err)
		}
		svc.Status.LoadBalancer = *status
	}
	c.Settle()
}

// plan runs like the command. It fails on a write to Kubernetes or OpenStack.
func (c *cluster) plan(query plan.Query, nodes plan.NodeChange) (*plan.Report, error) {
	c.T.Helper()
	c.client.ClearActions()
	writes := len(c.Cloud.RequestLog.Requests(requestlog.Writes()))
	defer func() {
		for _, action := range c.client.Actions() {
			if verb := action.GetVerb(); verb != "get" && verb != "list" {
				c.T.Errorf("%s %s in Kubernetes", verb, action.GetResource().Resource)
			}
		}
		for _, r := range c.Cloud.RequestLog.Requests(requestlog.Writes())[writes:] {
			if !strings.HasSuffix(r.Route, "/auth/tokens") {
				c.T.Errorf("%s %s in OpenStack", r.Method, r.Path)
			}
		}
	}()
	if query.Namespace == "" {
		query.Namespace = "default"
	}
	engine, end, err := cloudprovider.Rehearse(c.T.Context(), cloudprovider.Connection{
		Config: c.Conf, Client: c.client, ClusterName: c.name, Clock: clock.RealClock{},
	})
	if err != nil {
		return nil, err
	}
	defer end()
	return plan.Run(c.T.Context(), plan.Options{
		Client: c.client, Engine: engine, Query: query, Nodes: nodes, Patience: c.patient, AtATime: 10,
	})
}

// service returns a Service of the service controller.
func service(namespace, name string, ports ...int) *v1.Service {
	svc := &v1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("uid-of-" + name), Annotations: map[string]string{},
			Finalizers: []string{"service.kubernetes.io/load-balancer-cleanup"},
		},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster, SessionAffinity: v1.ServiceAffinityNone,
		},
	}
	for _, port := range ports {
		svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: fmt.Sprint("p", port), Protocol: v1.ProtocolTCP, Port: int32(port), NodePort: int32(30000 + port)})
	}
	return svc
}

// peers returns a simulated cloud with the objects of cloud-provider-openstack in a real one.
func peers(t *testing.T) *cluster {
	t.Helper()
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join("..", "..", "loadbalancer", "testdata", "peer-state", name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var state struct {
		UID      string        `json:"kube-system-uid"`
		Nodes    []*v1.Node    `json:"nodes"`
		Services []*v1.Service `json:"services"`
	}
	if err := json.Unmarshal(read("kubernetes.json"), &state); err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, simulator.Options{Release: "zed"}, state.UID, state.Services...)
	c.name = "rig"
	for _, node := range state.Nodes {
		if err := c.client.Tracker().Add(node); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Cloud.Restore(read("openstack.json")); err != nil {
		t.Fatal(err)
	}
	credentials, _, _ := strings.Cut(c.Cloud.CloudConf(), "[LoadBalancer]")
	_, keys, _ := strings.Cut(string(read("cloud.conf")), "[LoadBalancer]")
	conf, _, err := config.Load(strings.NewReader(credentials+"[LoadBalancer]"+keys), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Conf = conf
	return c
}

// text formats a report for people, with the parts replaced that differ between runs.
func text(t *testing.T, r *plan.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := r.WriteText(screen.New(&out, nil)); err != nil {
		t.Fatal(err)
	}
	return stable(out.String())
}

func stable(output string) string {
	output = strings.ReplaceAll(strings.ReplaceAll(output, "127.200.0.", "203.0.113."), "127.100.1.", "10.0.1.")
	output = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).ReplaceAllString(output, "https://cloud.example.com")
	output = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:]+Z`).ReplaceAllString(output, "2027-05-01T12:00:00Z")
	seen := map[string]string{}
	return regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).ReplaceAllStringFunc(output, func(id string) string {
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("%08d-0000-4000-8000-000000000000", len(seen)+1)
		}
		return seen[id]
	})
}

// must returns a report without error and with this exit code.
func must(t *testing.T, code int) func(*plan.Report, error) *plan.Report {
	return func(r *plan.Report, err error) *plan.Report {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if r.ExitCode() != code {
			t.Errorf("exit code %d, want %d", r.ExitCode(), code)
		}
		return r
	}
}

// seeing is an engine that only records its requests.
type seeing struct {
	lock     sync.Mutex
	services []*v1.Service
}

func (s *seeing) Preview(_ context.Context, svc *v1.Service, _ []*v1.Node) (loadbalancer.Preview, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.services = append(s.services, svc)
	return loadbalancer.Preview{}, nil
}

// plans makes an engine preview the Services of a query.
func (c *cluster) plans(engine plan.Engine, query plan.Query) {
	c.T.Helper()
	query.Namespace = "default"
	if _, err := plan.Run(c.T.Context(), plan.Options{Client: c.client, Engine: engine, Query: query, Patience: c.patient}); err != nil {
		c.T.Fatal(err)
	}
}

package cloudprovider

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/transport/limiter"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
)

// connection returns a simulated cloud and a Connection to it, as the program makes it.
func connection(t *testing.T, change func(*config.Config)) (*simulator.Cloud, Connection) {
	t.Helper()
	cloud, conf := simulated.Cloud(t, simulator.Options{})
	change(conf)
	return cloud, Connection{
		Config: conf, UserAgent: "test", Client: fake.NewClientset(kubeSystem()), ClusterName: "kubernetes",
		Recorder: record.NewFakeRecorder(100), Stop: func(err error) { t.Errorf("stopped: %v", err) }, Clock: clock.RealClock{},
	}
}

func TestConnect_ServesNodesAndServices(t *testing.T) {
	t.Parallel()
	cloud, c := connection(t, func(*config.Config) {})
	p, err := Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	p.Initialize(nil, t.Context().Done())
	svc := service("web")
	lb := balancer(t, p)
	if name := lb.GetLoadBalancerName(t.Context(), "", svc); name != "kube_service_kubernetes_default_web" {
		t.Errorf("the load balancer is called %q", name)
	}
	svc.Spec.Type = v1.ServiceTypeClusterIP
	if _, exists, err := lb.GetLoadBalancer(t.Context(), "", svc); exists || err != nil {
		t.Errorf("a load balancer of a Service that wants none: %v, %v", exists, err)
	}
	givesProviderID(t, p, cloud, "openstack:///")
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// Only Keystone is needed at the start. Calls that need Octavia, Neutron or Nova wait for these
// services themselves.
func TestConnect_AsksOnlyKeystoneAtTheStart(t *testing.T) {
	t.Parallel()
	cloud, c := connection(t, func(*config.Config) {})
	p, err := Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	p.Initialize(nil, t.Context().Done())
	if enabled, err := p.StartServices(func() (bool, error) { return true, nil }); !enabled || err != nil {
		t.Errorf("Services are served: %v, %v", enabled, err)
	}
	for _, request := range cloud.RequestLog.Requests() {
		if !strings.HasPrefix(request.Path, "/identity/") {
			t.Errorf("asked at the start: %s %s", request.Method, request.Path)
		}
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

//proves:110
func TestConnect_OffersRoutesWhenARouterIsConfigured(t *testing.T) {
	t.Parallel()
	onlyNodes := func(conf *config.Config) { conf.LoadBalancer.Enabled = false }
	_, plain := connection(t, onlyNodes)
	cloud, c := connection(t, onlyNodes)
	c.Config.Route.RouterID = cloud.Router.ID
	for _, test := range []struct {
		Connection
		offered bool
	}{{plain, false}, {c, true}} {
		p, err := Connect(t.Context(), test.Connection)
		if err != nil {
			t.Fatal(err)
		}
		p.Initialize(nil, t.Context().Done())
		factory := informers.NewSharedInformerFactory(test.Client, 0)
		p.SetInformers(factory)
		routes, ok := p.Routes()
		if ok != test.offered {
			t.Errorf("routes are offered: %v, want %v", ok, test.offered)
		}
		if ok {
			if _, err := routes.ListRoutes(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "nodes") {
				t.Errorf("before the nodes are known: %v", err)
			}
			factory.Start(t.Context().Done())
			factory.WaitForCacheSync(t.Context().Done())
			if listed, err := routes.ListRoutes(t.Context(), ""); err != nil || len(listed) > 0 {
				t.Errorf("listed are %v, %v", listed, err)
			}
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if !ok {
			continue
		}
		_, err = routes.ListRoutes(t.Context(), "")
		for _, err := range []error{err, routes.CreateRoute(t.Context(), "", "", &cloudprovider.Route{}), routes.DeleteRoute(t.Context(), "", &cloudprovider.Route{})} {
			if !errors.Is(err, ErrStopping) {
				t.Errorf("after the end: %v", err)
			}
		}
	}
}

func TestLimits_HaveTheirCounterparts(t *testing.T) {
	t.Parallel()
	want := limiter.Limits{LoadBalancerCreates: 1, LoadBalancerDeletes: 2, LoadBalancerUpdates: 3, Reads: 4, NetworkWrites: 5}
	if got := limits(config.Limits{Creates: 1, Deletes: 2, Updates: 3, Reads: 4, NetworkWrites: 5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestOctaviaVersion_ParsesTheSetting(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]model.Version{"": {}, "2.26": {Major: 2, Minor: 26}, "v2.9": {Major: 2, Minor: 9}} {
		if got, err := octaviaVersion(text); err != nil || got != want {
			t.Errorf("%q: %v, want %v: %v", text, got, want, err)
		}
	}
	if _, err := octaviaVersion("latest"); err == nil || !strings.Contains(err.Error(), "octavia-api-version") {
		t.Errorf("%v", err)
	}
}

// A standby sends OpenStack no requests, but still detects that it could not work.
func TestReady_UnlessTheCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	cloud, c := connection(t, func(*config.Config) {})
	clk := clocktesting.NewFakeClock(time.Now())
	c.Clock = clk
	p, err := Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Ready(); err != nil {
		t.Errorf("after the start: %v", err)
	}
	until := func(what string, reached func() bool) {
		t.Helper()
		for ; !reached(); time.Sleep(time.Millisecond) {
			if t.Context().Err() != nil {
				t.Fatalf("never happened: %s", what)
			}
			clk.Step(time.Minute)
		}
	}
	refuse := cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: "/identity/v3/auth/tokens", Status: http.StatusUnauthorized})
	until("the token of an hour cannot be renewed", func() bool { return p.Ready() != nil })
	if err := p.Ready(); apierror.StatusCode(err) != http.StatusUnauthorized || !strings.Contains(err.Error(), "sign in at") {
		t.Errorf("not ready: %v", err)
	}
	refuse()
	until("the credentials are taken again", func() bool { return p.Ready() == nil })
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestConnect_ServesNodesWithoutLoadBalancers(t *testing.T) {
	t.Parallel()
	_, c := connection(t, func(conf *config.Config) { conf.LoadBalancer.Enabled = false })
	p, err := Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	p.Initialize(nil, t.Context().Done())
	if _, ok := p.LoadBalancer(); ok {
		t.Error("load balancers are offered")
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestConnect_ReturnsErrorsWithoutTheSecret(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*config.Config){
		"wrong password": func(conf *config.Config) { conf.Global.Password = "hunter2-hunter2" },
		"bad sort order": func(conf *config.Config) { conf.Networking.AddressSortOrder = "everything" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, c := connection(t, change)
			p, err := Connect(t.Context(), c)
			if err == nil || p != nil {
				t.Fatalf("got %v, %v", p, err)
			}
			if strings.Contains(err.Error(), c.Config.Global.Password) {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
}

// The metrics of dashboards must be those that the program registers.
//
//proves:99
func TestConnect_CountsRequestsAndCalls(t *testing.T) {
	t.Parallel()
	_, c := connection(t, func(*config.Config) {})
	registry := metrics.NewKubeRegistry()
	c.Metrics, c.APIMetrics = NewMetrics(c.Clock), transport.NewMetrics()
	if err := errors.Join(c.Metrics.Register(registry.Register), c.APIMetrics.Register(registry.Register)); err != nil {
		t.Fatal(err)
	}
	p, err := Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	p.Initialize(nil, t.Context().Done())
	if _, _, err := balancer(t, p).GetLoadBalancer(t.Context(), "", service("web")); err != nil {
		t.Fatal(err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			counted[family.GetName()] += metric.GetCounter().GetValue()
		}
	}
	for _, name := range []string{"cloudprovider_openstack_reconcile_total", "openstack_api_requests_total"} {
		if counted[name] == 0 {
			t.Errorf("%s counts nothing", name)
		}
	}
}

func TestConnect_PutsTheRegionIntoProviderIDsWhenAsked(t *testing.T) {
	t.Parallel()
	cloud, c := connection(t, func(*config.Config) {})
	c.RegionalIDs = true
	p, err := Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	givesProviderID(t, p, cloud, "openstack://RegionOne/")
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// Everything but servers, and the ports of their trunks, stays in the region of cloud.conf.
//
//proves:108
func TestConnect_ServesNodesOfOtherRegions(t *testing.T) {
	t.Parallel()
	cloud, conf := simulated.Cloud(t, simulator.Options{OtherRegion: "RegionTwo"})
	conf.Node.Region = []string{"RegionTwo", "RegionOne", "RegionTwo"}
	server, err := cloud.Elsewhere.AddServer(nova.ServerSpec{Name: "node-2", ProjectID: cloud.Account.ProjectID, AccessIPv4: "192.0.2.7"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Connect(t.Context(), Connection{
		Config: conf, Client: fake.NewClientset(kubeSystem()), Recorder: record.NewFakeRecorder(100), Clock: clock.RealClock{},
		Stop: func(err error) { t.Errorf("stopped: %v", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Initialize(nil, t.Context().Done())
	givesProviderID(t, p, cloud, "openstack://RegionOne/")
	instances, _ := p.InstancesV2()
	joining := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}}
	metadata, err := instances.InstanceMetadata(t.Context(), joining)
	if err != nil || metadata.ProviderID != "openstack://RegionTwo/"+server.ID || metadata.Region != "RegionTwo" || metadata.NodeAddresses[0].Address != "192.0.2.7" {
		t.Fatalf("metadata %+v, %v", metadata, err)
	}
	joined := joining.DeepCopy()
	joined.Spec.ProviderID = metadata.ProviderID
	if exists, err := instances.InstanceExists(t.Context(), joined); !exists || err != nil {
		t.Errorf("it exists: %v, %v", exists, err)
	}
	if _, _, err := balancer(t, p).GetLoadBalancer(t.Context(), "", publishedService("web")); err != nil {
		t.Error(err)
	}
	for _, request := range cloud.RequestLog.Requests() {
		if path, there := strings.CutPrefix(request.Path, "/elsewhere/"); there && !strings.HasPrefix(path, "compute/v2.1/servers") && !strings.HasPrefix(path, "network/v2.0/trunks") {
			t.Errorf("asked elsewhere: %s %s", request.Method, request.Path)
		}
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// givesProviderID checks that the provider ID of the Node of a new server consists of a prefix and
// the server's ID.
func givesProviderID(t *testing.T, p *Provider, cloud *simulator.Cloud, beginning string) {
	t.Helper()
	server, err := cloud.AddServer("node-1", "")
	if err != nil {
		t.Fatal(err)
	}
	instances, _ := p.InstancesV2()
	metadata, err := instances.InstanceMetadata(t.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	if err != nil || metadata.ProviderID != beginning+server.ID {
		t.Errorf("metadata %+v, %v", metadata, err)
	}
}

package cloudprovider

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/component-base/metrics"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/metricstest"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
)

// moved returns a cluster of the first project. Its credentials become those of another project.
func moved(t *testing.T) (*simulator.Cloud, *fake.Clientset, *clocktesting.FakeClock, *Provider, string) {
	t.Helper()
	cloud, c := connection(t, func(*config.Config) {})
	now, client := clocktesting.NewFakeClock(time.Now()), fake.NewClientset(kubeSystem())
	c.Client, c.Clock = client, now
	c.Config.Route.RouterID = cloud.Router.ID
	server, err := cloud.AddServer("node-1", "")
	if err != nil {
		t.Fatal(err)
	}
	connect := func() *Provider {
		p, err := Connect(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		p.options.NewLoadBalancers = func(string, Newest) (LoadBalancers, error) { return &engine{}, nil }
		p.Initialize(nil, t.Context().Done())
		p.SetInformers(informers.NewSharedInformerFactory(client, 0))
		return p
	}
	if err := connect().Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := cloud.AddAccount("other", "other")
	c.Config.Global.Username, c.Config.Global.UserID = other.UserName, ""
	c.Config.Global.Password, c.Config.Global.TenantID, c.Config.Global.TenantName = other.Password, other.ProjectID, ""
	return cloud, client, now, connect(), "openstack:///" + server.ID
}

// A wrong Secret must not cause the deletion of a node or of a load balancer.
func TestProvider_ChangesNothingWithCredentialsOfAnotherProject(t *testing.T) {
	t.Parallel()
	cloud, client, now, p, providerID := moved(t)
	nodes, _ := p.InstancesV2()
	routes, _ := p.Routes()
	lb, node, svc := balancer(t, p), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, service("web")
	node.Spec.ProviderID = providerID
	exists, errExists := nodes.InstanceExists(t.Context(), node)
	_, errEnsure := lb.EnsureLoadBalancer(t.Context(), "", svc, nil)
	_, there, errGet := lb.GetLoadBalancer(t.Context(), "", svc)
	refused := map[string]error{
		"a node is gone": errExists, "ensure": errEnsure, "get": errGet,
		"delete":       lb.EnsureLoadBalancerDeleted(t.Context(), "", svc),
		"repair":       errorOf(repaired(t.Context(), p.loadBalancers, svc)),
		"create route": routes.CreateRoute(t.Context(), "", "", &cloudprovider.Route{}),
		"delete route": routes.DeleteRoute(t.Context(), "", &cloudprovider.Route{}),
	}
	for what, err := range refused {
		if !errors.Is(err, cluster.ErrMoved) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if exists || there {
		t.Errorf("the node exists: %v, the load balancer: %v", exists, there)
	}
	if text := errEnsure.Error(); strings.Contains(text, cloud.Account.ProjectID) || !strings.Contains(text, cluster.ScopeRecord) {
		t.Errorf("a Service's users read %q", text)
	}
	if text := errExists.Error(); !strings.Contains(text, cloud.Account.ProjectID) {
		t.Errorf("the log does not say where the cluster was: %q", text)
	}

	if err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Delete(t.Context(), cluster.ScopeRecord, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	now.Step(10 * time.Second)
	if exists, err := nodes.InstanceExists(t.Context(), node); exists || err != nil {
		t.Errorf("once it is confirmed: %v, %v", exists, err)
	}
	if _, err := lb.EnsureLoadBalancer(t.Context(), "", svc, nil); err != nil {
		t.Errorf("once it is confirmed: %v", err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// The role of cloud-provider-openstack permits no record of the project. Only the missing Nodes
// show that the project is a wrong one.
//
//proves:109
func TestProvider_KeepsNodesThatAreInAnotherProject(t *testing.T) {
	t.Parallel()
	cloud, c := connection(t, func(conf *config.Config) { conf.LoadBalancer.Enabled = false })
	other := cloud.AddAccount("other", "other")
	var objects []runtime.Object
	var first *v1.Node
	for n := range 3 {
		name := fmt.Sprintf("node-%d", n)
		server, err := cloud.Nova.AddServer(nova.ServerSpec{Name: name, ProjectID: other.ProjectID})
		if err != nil {
			t.Fatal(err)
		}
		first = node(name, "192.0.2.1")
		first.Spec.ProviderID = "openstack:///" + server.ID
		objects = append(objects, first)
	}
	client, events, registry := fake.NewClientset(objects...), record.NewFakeRecorder(100), metrics.NewKubeRegistry()
	client.PrependReactor("get", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(v1.Resource("configmaps"), cluster.ScopeRecord, nil)
	})
	c.Client, c.Recorder, c.Metrics = client, events, NewMetrics(c.Clock)
	if err := c.Metrics.Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	p, err := Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	p.Initialize(nil, t.Context().Done())
	factory := informers.NewSharedInformerFactory(client, 0)
	p.SetInformers(factory)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	instances, _ := p.InstancesV2()
	if exists, err := instances.InstanceExists(t.Context(), first); err == nil {
		t.Errorf("it exists: %v, without an error", exists)
	}
	if event := <-events.Events; !strings.Contains(event, "RightsMissing") {
		t.Errorf("the first event is %q", event)
	}
	if held := metricstest.Value(t, registry, "cloudprovider_openstack_held_nodes", nil); held != 1 || len(events.Events) != 1 {
		t.Errorf("the metric says %v, and there are %d events", held, len(events.Events))
	}
	first.Annotations = map[string]string{"node.openstack.org/allow-deletion": "true"}
	if exists, err := instances.InstanceExists(t.Context(), first); exists || err != nil {
		t.Errorf("with the annotation: %v, %v", exists, err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func errorOf[T any](_ T, err error) error { return err }

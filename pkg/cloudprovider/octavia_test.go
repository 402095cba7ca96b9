package cloudprovider

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/metricstest"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/keystone"
)

// withoutOctavia removes Octavia from the catalog.
func withoutOctavia(cloud *simulator.Cloud) {
	cloud.Keystone.SetServices(slices.DeleteFunc(keystone.DefaultServices(), func(s keystone.Service) bool { return s.Type == "load-balancer" }))
}

// waitingServices returns a Service of each kind. Names begin with "waits" if the Service waits for
// a load balancer service.
func waitingServices() []*v1.Service {
	leaving := publishedService("waits-leaving")
	leaving.DeletionTimestamp, leaving.Finalizers = ptr.To(metav1.Now()), []string{"service.kubernetes.io/load-balancer-cleanup"}
	another := service("class")
	another.Spec.LoadBalancerClass = ptr.To("metallb")
	inside := service("inside")
	inside.Spec.Type = v1.ServiceTypeClusterIP
	return []*v1.Service{service("waits"), leaving, publishedService("published"), another, inside}
}

// In a cloud that lacks Octavia, for a time or for ever, nodes are served, and Services get an
// event and no changes.
//
//proves:114
func TestStartServices_WaitsUntilTheCloudHasOctavia(t *testing.T) {
	t.Parallel()
	cloud, c := connection(t, func(*config.Config) {})
	withoutOctavia(cloud)
	client := fake.NewClientset(kubeSystem())
	for _, service := range waitingServices() {
		if err := client.Tracker().Add(service); err != nil {
			t.Fatal(err)
		}
	}
	now, events := clocktesting.NewFakeClock(time.Now()), record.NewFakeRecorder(100)
	c.Client, c.Clock, c.Recorder = client, now, events
	registry := metrics.NewKubeRegistry()
	c.Metrics = NewMetrics(now)
	if err := c.Metrics.Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	missing := func() float64 { return metricstest.Value(t, registry, "cloudprovider_openstack_octavia_missing", nil) }
	p, err := Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	p.options.NewLoadBalancers = func(string, Newest) (LoadBalancers, error) { return &engine{}, nil }
	p.Initialize(nil, t.Context().Done())
	factory := informers.NewSharedInformerFactory(client, 0)
	p.SetInformers(factory)
	var starts atomic.Int32
	enabled, err := p.StartServices(func() (bool, error) {
		starts.Add(1)
		return true, nil
	})
	if err != nil || !enabled || starts.Load() != 0 {
		t.Fatalf("enabled %v, %v, started %d times", enabled, err, starts.Load())
	}
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)

	if _, err := cloud.AddServer("node-1", ""); err != nil {
		t.Fatal(err)
	}
	nodes, _ := p.InstancesV2()
	if _, err := nodes.InstanceMetadata(t.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}); err != nil {
		t.Errorf("nodes are not served: %v", err)
	}
	for range 2 { // one waits for an address, the other for a deletion
		if event := <-events.Events; !strings.Contains(event, "Warning OctaviaEndpointNotFound ") || !strings.Contains(event, "load-balancer") {
			t.Errorf("event %q", event)
		}
	}
	if missing() != 1 {
		t.Error("no metric shows that Octavia is missing")
	}
	for range 3 {
		await.Condition(t, "a look each minute", now.HasWaiters)
		now.Step(octaviaPollInterval)
	}
	if starts.Load() != 0 || len(events.Events) > 0 {
		t.Errorf("started %d times, %d events too many", starts.Load(), len(events.Events))
	}
	for _, action := range client.Actions() {
		if verb := action.GetVerb(); action.GetResource().Resource == "services" && verb != "list" && verb != "watch" {
			t.Errorf("%s %s", action.GetVerb(), action.GetResource().Resource)
		}
	}

	cloud.Keystone.SetServices(keystone.DefaultServices())
	await.Condition(t, "Services are served", func() bool {
		now.Step(octaviaPollInterval)
		return starts.Load() == 1
	})
	balancer(t, p)
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

//proves:140
func TestStartServices_StartsAtOnceWithOctaviaOrIfItIsNotNeeded(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		enabled  bool
		provider string
	}{
		"there is": {true, "amphora"}, "switched off, so that nobody looks": {false, "amphora"}, "provider router": {true, driver.Router},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enabled, provider := c.enabled, c.provider
			cloud, c := connection(t, func(conf *config.Config) { conf.LoadBalancer.Enabled, conf.LoadBalancer.LBProvider = enabled, provider })
			if !enabled || provider == driver.Router {
				withoutOctavia(cloud)
			}
			p, err := Connect(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := p.StartServices(func() (bool, error) { return enabled, broken }); got != enabled || err != broken {
				t.Errorf("got %v, %v", got, err)
			}
			if err := p.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestStartServices_StopsWaitingWithTheProcess(t *testing.T) {
	t.Parallel()
	cloud, c := connection(t, func(*config.Config) {})
	withoutOctavia(cloud)
	p, err := Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.StartServices(func() (bool, error) {
		t.Error("started")
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := p.StartServices(nil); !errors.Is(err, ErrStopping) {
		t.Errorf("after the end: %v", err)
	}
}

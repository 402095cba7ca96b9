package monitoring_test

import (
	"errors"
	"regexp"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"k8s.io/cloud-provider/api"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/tests/checks/monitoring"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

func service(name string) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "uid-of-web", CreationTimestamp: metav1.Now()},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
			Ports: []v1.ServicePort{{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}},
		},
	}
}

// The labels and values that a working provider exposes are those of the table.
//
//proves:99
func TestTable_HasValuesThatProviderShows(t *testing.T) {
	t.Parallel()
	delays := octavia.Delays{Create: 50 * time.Millisecond, Update: 10 * time.Millisecond, Delete: 10 * time.Millisecond}
	cloud, conf := simulated.Cloud(t, simulator.Options{Delays: map[string]octavia.Delays{octavia.ProviderAmphora: delays}})
	registry := metrics.NewKubeRegistry()
	reconciles, requests, err := monitoring.Register(registry)
	if err != nil {
		t.Fatal(err)
	}
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11"}}
	provider, err := cloudprovider.Connect(t.Context(), cloudprovider.Connection{
		Config: conf, UserAgent: "test", Client: fake.NewClientset(namespace), ClusterName: "kubernetes", Recorder: record.NewFakeRecorder(100),
		Stop: func(err error) { t.Errorf("stopped: %v", err) }, Clock: clock.RealClock{}, Metrics: reconciles, APIMetrics: requests,
	})
	if err != nil {
		t.Fatal(err)
	}
	provider.Initialize(nil, t.Context().Done())
	balancer, ok := provider.LoadBalancer()
	server, err := cloud.AddServer("node-1", "127.100.1.10")
	if err != nil || !ok {
		t.Fatalf("%v, load balancers: %v", err, ok)
	}
	nodes := []*v1.Node{{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Spec: v1.NodeSpec{ProviderID: "openstack:///" + server.ID},
		Status: v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "127.100.1.10"}}},
	}}
	again := func(call func() error) error {
		for {
			var later *api.RetryError
			if err := call(); !errors.As(err, &later) {
				return err
			}
		}
	}
	web := service("web")
	if err := again(func() error { _, err := balancer.EnsureLoadBalancer(t.Context(), "", web, nodes); return err }); err != nil {
		t.Fatal(err)
	}
	conform(t, registry, "cloudprovider_openstack_service_address_seconds", "cloudprovider_openstack_loadbalancer_objects", "openstack_api_requests_total")
	if err := balancer.EnsureLoadBalancerDeleted(t.Context(), "", web); err != nil {
		t.Error(err)
	}
	conform(t, registry, "cloudprovider_openstack_services")
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// conform fails unless all that a registry has is in the table, and these are there.
func conform(t *testing.T, registry metrics.KubeRegistry, names ...string) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]map[string]monitoring.Label{}
	for _, use := range uses() {
		table[use.Metric] = map[string]monitoring.Label{}
		for _, label := range use.Labels {
			table[use.Metric][label.Name] = label
		}
	}
	for _, family := range families {
		labels, known := table[family.GetName()]
		if !known {
			t.Errorf("%s is not in the table", family.GetName())
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == family.GetName() })
		for _, metric := range family.GetMetric() {
			for _, pair := range metric.GetLabel() {
				label := labels[pair.GetName()]
				if !slices.Contains(label.Values, pair.GetValue()) && (label.Pattern == "" || !regexp.MustCompile("^("+label.Pattern+")$").MatchString(pair.GetValue())) {
					t.Errorf("%s has %s=%q, which the table does not have", family.GetName(), pair.GetName(), pair.GetValue())
				}
			}
		}
	}
	if len(names) > 0 {
		t.Errorf("%v show nothing", names)
	}
}

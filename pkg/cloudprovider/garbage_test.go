package cloudprovider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/utils/clock"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/garbage"
	"github.com/openstack-ccm/openstack-ccm/pkg/reason"
)

// collecting is an engine that collects garbage once.
type collecting struct {
	*engine
	clusters chan garbage.Cluster
}

func (c collecting) CollectGarbage(_ context.Context, cluster garbage.Cluster) { c.clusters <- cluster }

// TestProvider_CollectsGarbageByAllServices has an API server that answers a list of Services in
// pages.
//
//proves:88
func TestProvider_CollectsGarbageByAllServices(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(kubeSystem())
	var pages atomic.Int32
	var started atomic.Bool
	client.PrependReactor("list", "services", func(action clienttesting.Action) (bool, runtime.Object, error) {
		options := action.(clienttesting.ListActionImpl).ListOptions
		if !started.Load() {
			return false, nil, nil // the informer
		}
		n := pages.Add(1)
		page := &v1.ServiceList{Items: []v1.Service{*service(fmt.Sprint("web-", n))}}
		if options.Continue != strings.Repeat("x", int(n-1)) {
			t.Errorf("page %d is asked for with %q", n, options.Continue)
		}
		if n < 3 {
			page.Continue = strings.Repeat("x", int(n))
		}
		return true, page, nil
	})
	recorder := record.NewFakeRecorder(10)
	clusters := make(chan garbage.Cluster, 1)
	p := startedWith(t, Options{
		Client: client, Recorder: recorder,
		NewLoadBalancers: func(string, Newest) (LoadBalancers, error) { return collecting{&engine{}, clusters}, nil },
	})
	started.Store(true)
	balancer(t, p)
	cluster := <-clusters

	var names []string
	if err := cluster.Services(t.Context(), func(svc *v1.Service) { names = append(names, svc.Name) }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"web-1", "web-2", "web-3"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	cluster.Event(reason.GarbageFound, "this and that")
	if got := <-recorder.Events; got != "Warning GarbageFound this and that" {
		t.Errorf("event %q", got)
	}
	if about := operatorEvents(); about.Namespace != metav1.NamespaceSystem {
		t.Errorf("events are in %s", about.Namespace)
	}
	cluster.Count("load-balancer", true, 2) // without metrics
}

func TestMetrics_CountGarbageByKind(t *testing.T) {
	t.Parallel()
	registry := metrics.NewKubeRegistry()
	m := NewMetrics(clock.RealClock{})
	if err := m.Register(registry.Register); err != nil {
		t.Fatal(err)
	}
	m.garbageFound("load-balancer", true, 2)
	m.garbageFound("pool", false, 1)
	m.garbageFound("pool", false, 0)
	want := `
# HELP cloudprovider_openstack_garbage [ALPHA] Objects in OpenStack that belong to no Service of this cluster, by kind; those that are not proven to be are never removed.
# TYPE cloudprovider_openstack_garbage gauge
cloudprovider_openstack_garbage{kind="load-balancer",proven="true"} 2
cloudprovider_openstack_garbage{kind="pool",proven="false"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "cloudprovider_openstack_garbage"); err != nil {
		t.Error(err)
	}
}

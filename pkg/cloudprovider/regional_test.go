package cloudprovider

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/tests/simulated"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// Each region can have a controller of its own, with a lease of its own (docs/nodes.md). They do
// not disturb each other, and a move that is confirmed for all of them stops none.
//
//proves:108
func TestConnect_ServesRegionsWithAControllerForEach(t *testing.T) {
	t.Parallel()
	_, conf := simulated.Cloud(t, simulator.Options{OtherRegion: "RegionTwo"})
	client, now := fake.NewClientset(kubeSystem()), clocktesting.NewFakeClock(time.Now())
	start := func(region, controller string, balancers bool) *Provider {
		changed := *conf
		changed.Global.Region = region
		changed.LoadBalancer.Enabled = balancers
		p, err := Connect(t.Context(), Connection{
			Config: &changed, Client: client, Recorder: record.NewFakeRecorder(100), Clock: now, RegionalIDs: true, Controller: controller,
			Stop: func(err error) { t.Errorf("stopped: %v", err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		})
		if balancers {
			p.options.NewLoadBalancers = func(string, Newest) (LoadBalancers, error) { return &engine{}, nil }
		}
		p.Initialize(nil, t.Context().Done())
		p.SetInformers(informers.NewSharedInformerFactory(client, 0))
		return p
	}
	start("RegionOne", "", true)
	two := start("RegionTwo", "ccm-region-two", false)
	gone := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	gone.Spec.ProviderID = "openstack://RegionTwo/0b6b3a4e-9c0f-4f5e-8a44-1c2d3e4f5a6b"
	nodes, _ := two.InstancesV2()
	if exists, err := nodes.InstanceExists(t.Context(), gone); exists || err != nil {
		t.Errorf("the Node of RegionTwo is never deleted: %v, %v", exists, err)
	}
	if err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Delete(t.Context(), cluster.ScopeRecord, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	now.Step(time.Minute)
	if exists, err := nodes.InstanceExists(t.Context(), gone); exists || err != nil {
		t.Errorf("once a move is confirmed: %v, %v", exists, err)
	}
	two = start("RegionTwo", "ccm-region-two", false)
	if _, err := balancer(t, start("RegionOne", "", true)).EnsureLoadBalancer(t.Context(), "", service("web"), nil); err != nil {
		t.Errorf("no Service of RegionOne is served any more: %v", err)
	}
	nodes, _ = two.InstancesV2()
	if exists, err := nodes.InstanceExists(t.Context(), gone); exists || err != nil {
		t.Errorf("after a restart of both: %v, %v", exists, err)
	}
}

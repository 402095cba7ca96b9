package instances_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/controllers/nodelifecycle"
	cloudfake "k8s.io/cloud-provider/fake"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/nova"
)

// cloudOf is a cloud provider with nothing but instances. It counts
// the questions about one node.
type cloudOf struct {
	cloudfake.Cloud
	servers cloudprovider.InstancesV2
	node    string
	asked   atomic.Int32
}

func (c *cloudOf) InstancesV2() (cloudprovider.InstancesV2, bool) { return c, true }

func (c *cloudOf) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	if node.Name == c.node {
		c.asked.Add(1)
	}
	return c.servers.InstanceExists(ctx, node)
}

func (c *cloudOf) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	return c.servers.InstanceShutdown(ctx, node)
}

func (c *cloudOf) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	return c.servers.InstanceMetadata(ctx, node)
}

// notReady is a node that the node lifecycle controller asks about.
func notReady(name, providerID string) *v1.Node {
	node := named(name)
	node.Spec.ProviderID = providerID
	node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}
	return node
}

// One missed heartbeat must not cost a node that never was a server of the project:
// its kubelet would not register again.
//
//proves:109
func TestLifecycleController_DeletesOnlyNodesWhoseServerIsGone(t *testing.T) {
	t.Parallel()
	s := start(t)
	deleted := s.add(t, nova.ServerSpec{Name: "deleted"})
	s.cloud.Nova.DeleteServer(deleted.ID)
	client := fake.NewClientset(
		notReady("deleted", "openstack:///"+deleted.ID), notReady("foreign", "aws:///eu-1a/i-123"), notReady("bare-metal", ""))
	factory := informers.NewSharedInformerFactory(client, 0)
	cloud := &cloudOf{servers: s.instances, node: "bare-metal"}
	controller, err := nodelifecycle.NewCloudNodeLifecycleController(factory.Core().V1().Nodes(), client, cloud, 10*time.Millisecond, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		controller.Run(ctx, controllersmetrics.NewControllerManagerMetrics("test"))
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		factory.Shutdown()
	})
	there := func(name string) bool {
		_, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		return !apierrors.IsNotFound(err)
	}
	deadline := time.Now().Add(await.Patience)
	for there("deleted") || cloud.asked.Load() < 2 { // what the first answer leads to comes before the second question
		if time.Now().After(deadline) {
			t.Fatalf("the deleted server's node is there: %v; %d questions about the other", there("deleted"), cloud.asked.Load())
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, name := range []string{"foreign", "bare-metal"} {
		if !there(name) {
			t.Errorf("node %s is deleted", name)
		}
	}
}

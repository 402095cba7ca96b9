package cluster

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/controlplane"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// By watch, upstream asks for the routes only when something happens to nodes: the
// period is never over here.
//
//proves:112
func TestRoutes_FollowWatchOfNodes(t *testing.T) {
	t.Parallel()
	cloud, err := simulator.Start(simulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Close)
	const pods = "--cluster-cidr=10.244.0.0/16"
	c, err := Start(t.Context(), Options{
		ControlPlane: controlplane.Options{ControllerManagerArgs: []string{pods}},
		CloudConf:    cloud.CloudConf() + "\n[Route]\nrouter-id=" + cloud.Router.ID + "\n",
		CCMArgs: []string{
			"--feature-gates=CloudControllerManagerWatchBasedRoutesReconciliation=true",
			"--configure-cloud-routes=true", pods, "--route-reconciliation-period=1h",
		},
		Logf: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := c.StartCCM(t.Context()); err != nil {
		t.Fatal(err)
	}
	server, err := cloud.AddServer("node-1", "")
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1"},
		Spec:       corev1.NodeSpec{ProviderID: "openstack:///" + server.ID},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: server.Addresses[0]}}},
	}
	nodes := c.Client().CoreV1().Nodes()
	if _, err := nodes.Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await.Eventually(t, "route to the pods of the node", func(ctx context.Context) error {
		now, err := nodes.Get(ctx, node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		routes := cloud.Neutron.Routers()[0].Routes
		reached := slices.ContainsFunc(now.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionFalse
		})
		if !reached || len(routes) != 1 || routes[0].Destination != now.Spec.PodCIDR || routes[0].NextHop != server.Addresses[0] {
			return fmt.Errorf("routes are %v, the Node is %+v", routes, now)
		}
		return nil
	})
	if err := nodes.Delete(t.Context(), node.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await.Eventually(t, "end of the route", func(context.Context) error {
		if routes := cloud.Neutron.Routers()[0].Routes; len(routes) > 0 {
			return fmt.Errorf("routes are %v", routes)
		}
		return nil
	})
	if log := c.CCM.Log(math.MaxInt); strings.Contains(log, "is forbidden: User") {
		t.Errorf("the rights in manifests/static do not suffice:\n%s", log)
	}
}

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// The EndpointSlices of a real API server are followed, with the rights of our manifests: pods that
// move cost a request for each pool, and pods that are replaced on their nodes none.
//
//proves:55
func TestMembers_FollowEndpointSlicesOfAPIServer(t *testing.T) {
	t.Parallel()
	w := startCrowd(t, 3, octavia.Delays{Create: 100 * time.Millisecond, Update: 10 * time.Millisecond, Delete: 10 * time.Millisecond})
	if err := w.StartCCM(t.Context()); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{annotation.Members: annotation.MembersEndpointNodes}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{
			{Name: "http", Port: 80}, {Name: "https", Port: 443},
		}},
	}
	service, err := w.Client().CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pods := func(on map[string]int) {
		t.Helper()
		if err := SetPods(t.Context(), w.Client(), service, on); err != nil {
			t.Fatal(err)
		}
	}
	w.awaitOnlyMembers(2, "")
	pods(map[string]int{"node-0": 1, "node-1": 1})
	w.awaitOnlyMembers(2, "node-0 node-1")
	w.cloud.RequestLog.Reset()
	pods(map[string]int{"node-0": 2, "node-1": 1})
	pods(map[string]int{"node-1": 1, "node-2": 3})
	w.awaitOnlyMembers(2, "node-1 node-2")
	if writes := w.cloud.RequestLog.Requests(requestlog.Writes(), requestlog.Under("/load-balancer")); len(writes) != 2 {
		t.Errorf("%d writes for pods that move, want one for each of two pools", len(writes))
	}
}

// awaitOnlyMembers waits until all pools of the only load balancer have these members.
func (w *crowd) awaitOnlyMembers(pools int, want string) {
	w.t.Helper()
	w.eventually("the members are "+want, func(context.Context) error {
		all := w.cloud.Octavia.Snapshot()
		if len(all) != 1 || all[0].ProvisioningStatus != octavia.Active || len(all[0].Pools) != pools {
			return fmt.Errorf("%d load balancers", len(all))
		}
		for _, pool := range all[0].Pools {
			var names []string
			for _, m := range pool.Members {
				names = append(names, m.Name)
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != want {
				return fmt.Errorf("the members are %q", got)
			}
		}
		return nil
	})
}

package cluster_test

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
)

func TestIsOurs_LeavesOtherTypesAndClassesToOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		svc  v1.Service
		want bool
	}{
		"load balancer": {v1.Service{Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer}}, true},
		"being deleted": {v1.Service{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Unix(0, 0)}}, Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer}}, true},
		"of a class":    {v1.Service{Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To("example.com/other")}}, false},
		"cluster IP":    {v1.Service{Spec: v1.ServiceSpec{Type: v1.ServiceTypeClusterIP}}, false},
	} {
		if got := cluster.IsOurs(&test.svc); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

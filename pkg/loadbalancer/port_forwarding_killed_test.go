package loadbalancer_test

import (
	"net/http"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// A process ends after the ports are forwarded, and before it has deleted the load balancer of the other provider. The next
// one deletes that, although the published address is forwarded.
//
//proves:140
func TestPortForwarding_DeletesLoadBalancerThatEndedProcessLeft(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"amphora", "router"} {
		r := newForwarding(t, "0", 1, environmentOptions{})
		vips := r.withVIPs()
		nodes := r.nodes(1)
		svc := vips.on(from)
		address := r.ensure(svc, nodes).Ingress[0].IP
		if from == "amphora" {
			r.writeDown(svc)
		}
		svc.Annotations[annotation.Provider], svc.Annotations[annotation.AllowReplace] = "port-forwarding", "true"
		for _, route := range []string{"/load-balancer/v2.0/lbaas/loadbalancers/{id}", "/network/v2.0/ports/{id}"} {
			r.Cloud.Faults.Add(faults.Rule{Method: http.MethodDelete, Route: route, Status: http.StatusForbidden})
		}
		if _, err := r.engine.Ensure(r.ctx, svc, nodes); err == nil {
			t.Errorf("from %s: no error", from)
		}
		r.wantForwarded("80 to 127.100.1.10")
		r.Cloud.Faults.Clear()
		r.restart()
		r.ensure(svc, nodes)
		r.loadBalancers(0)
		if left := vips.vips(); len(left) > 0 {
			t.Errorf("from %s: VIPs %v are left", from, left)
		}
		r.wantReach(address, 80, "127.100.1.10")
	}
}

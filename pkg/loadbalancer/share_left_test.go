package loadbalancer_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// The annotation internal concerns the target of a move. The load balancer that the Service leaves
// keeps its floating IP, which other Services on it publish.
//
//proves:58
func TestSharing_KeepsFloatingIPForGuestsWhenOwnerMovesAndBecomesInternal(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		for _, together := range []bool{false, true} {
			t.Run(fmt.Sprintf("restarted %v, together %v", restarted, together), func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{})
				nodes := env.nodes(1)
				owner, other := service("owner", 1), service("other", 0)
				address := env.ensure(owner, nodes).Ingress[0].IP
				left := env.loadBalancer()
				guest := onto("guest", left, 443)
				env.ensure(guest, nodes)
				other.Spec.Ports = onto("other", left, 444).Spec.Ports
				env.ensure(other, nodes)
				owner.Annotations[annotation.LoadBalancerID] = env.loadBalancers(2)[1].ID
				if !together {
					env.ensure(owner, nodes)
				}
				if restarted {
					env.restart()
				}
				owner.Annotations[annotation.Internal] = "true"
				there := env.loadBalancers(2)[1]
				if got := env.ensure(owner, nodes).Ingress[0].IP; got != there.VIP.Address {
					t.Errorf("the owner publishes %s, not the VIP %s", got, there.VIP.Address)
				}
				env.floatingIPs(2)
				if got := env.ensure(guest, nodes).Ingress[0].IP; got != address {
					t.Errorf("the guest publishes %s, not the floating IP %s", got, address)
				}
				env.unchanged(owner, nodes)
				env.unchanged(other, nodes)
			})
		}
	}
}

// On another Service's load balancer a Service needs no floating IP of its own. One that another
// client has dissociated from its load balancer, or one of a deleted load balancer, would only cost
// money.
//
//proves:58,93
func TestSharing_DeletesFloatingIPThatMovingServiceHadLost(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		for name, test := range map[string]struct {
			keep, gone bool
			left       int
		}{"taken off": {left: 1}, "taken off, kept": {keep: true, left: 2}, "load balancer gone": {gone: true, left: 1}, "load balancer gone, kept": {keep: true, gone: true, left: 2}} {
			t.Run(fmt.Sprintf("%s, restarted %v", name, restarted), func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{})
				nodes := env.nodes(1)
				svc := service("svc", 0)
				svc.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, 443)}
				svc.Annotations[annotation.KeepFloatingIP] = strconv.FormatBool(test.keep)
				env.ensure(svc, nodes)
				own, fip := env.loadBalancer(), env.Cloud.Neutron.FloatingIPs()[0]
				env.ensure(service("owner", 1), nodes)
				there := env.loadBalancers(2)[1]
				if test.gone {
					if err := env.Cloud.Octavia.Remove(own.ID); err != nil {
						t.Fatal(err)
					}
				} else {
					takeOff := simulator.Foreign{Method: http.MethodPut, Path: "/network/v2.0/floatingips/" + fip.ID, Body: []byte(`{"floatingip": {"port_id": null}}`)}
					if _, status, _, err := env.Cloud.Act(takeOff); err != nil || status != http.StatusOK {
						t.Fatal(status, err)
					}
				}
				if restarted {
					env.restart()
				}
				svc.Annotations[annotation.LoadBalancerID] = there.ID
				env.ensure(svc, nodes)
				env.loadBalancers(1)
				env.floatingIPs(test.left)
				env.unchanged(svc, nodes)
			})
		}
	}
}

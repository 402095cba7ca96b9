package loadbalancer_test

import (
	"net/http"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// Two Services share a load balancer. While the controller changes a setting of the guest, another
// client switches the owner's listener off: updated_at changes with both, and is read once, after
// the second change.
//
//proves:89
func TestDrift_OfOwnerIsNoticedAfterChangeOfGuestAtTheSameTime(t *testing.T) {
	t.Parallel()
	change := map[string]func(env *environment, guest *v1.Service) (nodes int){
		"the guest has new ports": func(_ *environment, guest *v1.Service) int {
			guest.Spec.Ports = append(guest.Spec.Ports, port(v1.ProtocolTCP, 444), port(v1.ProtocolTCP, 445))
			return 2
		},
		"the guest has other members": func(*environment, *v1.Service) int { return 4 },
	}
	for name, change := range change {
		for _, known := range []string{"read before", "recorded by the last process"} {
			t.Run(name+", the owner's was "+known, func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{})
				nodes, owner := env.nodes(4), service("owner", 1)
				env.ensure(owner, nodes[:2])
				guest := onto("guest", env.loadBalancer(), 443)
				env.ensure(guest, nodes[:2])
				env.ensure(owner, nodes[:2])
				if known != "read before" {
					env.writeDown(owner)
					env.restart()
					env.ensure(owner, nodes[:2])
					env.ensure(guest, nodes[:2])
				}
				listener := func() (id string, on bool) {
					for _, l := range env.loadBalancer().Listeners {
						if l.ProtocolPort == 80 {
							return l.ID, l.AdminStateUp
						}
					}
					t.Fatal("the owner's listener is gone")
					return "", false
				}
				id, _ := listener()
				other := octaviaAsSomebodyElse(t, env).Octavia()
				env.Cloud.Faults.Add(faults.Rule{
					Method: http.MethodPost, Route: "/load-balancer/v2.0/lbaas/pools/**", Count: 1, Status: http.StatusConflict, Worded: true, Then: switchOff(env, other, id),
				})
				env.Cloud.Faults.Add(faults.Rule{
					Method: http.MethodPut, Route: "/load-balancer/v2.0/lbaas/pools/**", Count: 1, Status: http.StatusConflict, Worded: true, Then: switchOff(env, other, id),
				})
				env.ensure(guest, nodes[:change(env, guest)])
				if _, on := listener(); on {
					t.Fatal("the other client has changed nothing")
				}
				env.repair(owner, nodes[:2])
				if _, on := listener(); !on {
					t.Error("the owner's listener is still off")
				}
				env.unchanged(owner, nodes[:2])
			})
		}
	}
}

// switchOff returns a function with which another client switches a listener off.
func switchOff(env *environment, other *octavia.Client, listener string) func() {
	return func() {
		if _, err := other.UpdateListener(env.ctx, listener, octavia.Changes{"admin_state_up": false}); err != nil {
			env.T.Error(err)
		}
	}
}

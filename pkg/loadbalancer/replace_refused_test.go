package loadbalancer_test

import (
	"net/http"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// floatingIPRefusals are answers of Neutron to a floating IP that is not available.
func floatingIPRefusals() map[string]faults.Rule {
	return map[string]faults.Rule{
		"the address is taken": {Status: http.StatusConflict, Body: `{"NeutronError":{"type":"IpAddressAlreadyAllocated","message":"IP address 127.200.7.7 already allocated in subnet s","detail":""}}`},
		"quota":                {Status: http.StatusConflict, Body: `{"NeutronError":{"type":"OverQuota","message":"Quota exceeded for resources: ['floatingip'].","detail":""}}`},
		"no router":            {Status: http.StatusNotFound, Body: `{"NeutronError":{"type":"ExternalGatewayForFloatingIPNotFound","message":"External network e is not reachable from subnet s.","detail":""}}`},
		"policy":               {Status: http.StatusForbidden, Body: `{"NeutronError":{"type":"PolicyNotAuthorized","message":"rule:create_floatingip:floating_ip_address is disallowed by policy","detail":""}}`},
	}
}

// A replacement that keeps its VIP requires the deletion of the old load balancer, which stays if
// the requested floating IP is not available.
func TestReplacement_OfTheSameVIPWaitsForItsFloatingIP(t *testing.T) {
	t.Parallel()
	create := faults.Rule{Method: http.MethodPost, Route: "/network/v2.0/floatingips"}
	associate := faults.Rule{Method: http.MethodPut, Route: "/network/v2.0/floatingips/{id}"}
	for name, c := range map[string]struct {
		internal bool // in the beginning
		refused  faults.Rule
		ask      func(*environment, *v1.Service)
	}{
		"it becomes external":              {true, create, func(*environment, *v1.Service) {}},
		"it becomes external with address": {true, create, func(_ *environment, svc *v1.Service) { svc.Spec.LoadBalancerIP = "127.200.7.7" }},
		"another address":                  {false, create, func(_ *environment, svc *v1.Service) { svc.Spec.LoadBalancerIP = "127.200.7.7" }},
		"an address that is there": {true, associate, func(env *environment, svc *v1.Service) {
			fip, err := env.Cloud.Neutron.CreateFloatingIP(simneutron.FloatingIPSpec{
				ProjectID: env.Cloud.Account.ProjectID, NetworkID: env.Cloud.ExternalNetwork.ID, Address: "127.200.7.7",
			})
			if err != nil {
				env.T.Fatal(err)
			}
			svc.Spec.LoadBalancerIP = fip.Address
		}},
	} {
		for what, answer := range floatingIPRefusals() {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, byMembers(true))
				env.catalogue()
				nodes, svc := env.nodes(2), service("web", 1)
				svc.Annotations[annotation.PortID] = env.port("127.100.9.9", "").ID
				if c.internal {
					svc.Annotations[annotation.Internal] = "true"
				}
				env.ensure(svc, nodes)
				before := env.loadBalancer()
				delete(svc.Annotations, annotation.Internal)
				svc.Annotations[annotation.FlavorID], svc.Annotations[annotation.AllowReplace] = "big/x4", "true"
				c.ask(env, svc)
				had := env.addresses()
				answer.Method, answer.Route = c.refused.Method, c.refused.Route
				env.Cloud.Faults.Add(answer)
				for range 2 {
					env.refused(svc, nodes, "floating IP")
				}
				if lb := env.loadBalancer(); lb.ID != before.ID {
					t.Fatal("the load balancer is gone, and its place is not taken")
				}
				if now := env.addresses(); len(now) != len(had) {
					t.Errorf("the floating IPs %v became %v", had, now)
				}

				env.Cloud.Faults.Clear()
				env.Cloud.RequestLog.Reset()
				env.ensure(svc, nodes)
				lb := env.loadBalancer()
				if lb.ID == before.ID || lb.FlavorID == "" || lb.VIP.Address != "127.100.9.9" {
					t.Errorf("load balancer %+v", lb)
				}
				env.serves(svc, svc.Spec.LoadBalancerIP)
				if n := len(env.Cloud.RequestLog.Requests(requestlog.Writes())); n > 7 { // one floating IP is created, two are swapped, one is deleted
					t.Errorf("%d writes", n)
				}
				env.unchanged(svc, nodes)
				env.delete(svc)
				env.loadBalancers(0)
			})
		}
	}
}

// The port that the Service names is the VIP already, and its floating IP is not a second one.
func TestFloatingIP_OnNamedPortIsTakenOffOnce(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, byMembers(true))
	nodes, svc := env.nodes(1), service("web", 1)
	svc.Annotations[annotation.PortID] = env.port("127.100.9.9", "").ID
	env.ensure(svc, nodes)
	svc.Spec.LoadBalancerIP = "127.200.7.7"
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.serves(svc, "127.200.7.7")
	env.inOrder("POST floatingips", "PUT floatingips/{id}", "PUT floatingips/{id}", "DELETE floatingips/{id}")
	env.unchanged(svc, nodes)
}

// A replacement is not created beside the old load balancer if its requested address is not
// available.
func TestReplacement_WithAskedAddressIsNotMadeWithoutIt(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, byMembers(true))
	env.catalogue()
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	before := env.loadBalancer().ID
	svc.Annotations[annotation.FlavorID], svc.Annotations[annotation.AllowReplace] = "big/x4", "true"
	svc.Spec.LoadBalancerIP = "127.200.7.7"
	answer := floatingIPRefusals()["quota"]
	answer.Method, answer.Route = http.MethodPost, "/network/v2.0/floatingips"
	env.Cloud.Faults.Add(answer)
	env.refused(svc, nodes, "floating IP")
	if now := env.loadBalancer().ID; now != before {
		t.Errorf("load balancer %s, want %s", now, before)
	}
	env.Cloud.Faults.Clear()
	env.ensure(svc, nodes)
	env.serves(svc, "127.200.7.7")
	if env.loadBalancer().FlavorID == "" {
		t.Error("it has no flavor")
	}
	env.unchanged(svc, nodes)
}

// A floating IP that was reserved for a replacement which OpenStack refused is deleted when the Service
// requests its former address again.
func TestReplacement_LeavesNoFloatingIPWhereItIsTakenBack(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]int{"at once": 1, "after more attempts": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, byMembers(true))
			env.catalogue()
			nodes, svc := env.nodes(1), service("web", 1)
			env.ensure(svc, nodes)
			before := svc.DeepCopy()
			svc.Annotations[annotation.FlavorID], svc.Annotations[annotation.AllowReplace] = "big/x4", "true"
			svc.Spec.LoadBalancerIP = "127.200.7.7"
			env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: "/load-balancer/v2.0/lbaas/loadbalancers", Status: http.StatusForbidden,
				Body: `{"faultcode":"Client","faultstring":"Quota has been met for resources: load_balancer","debuginfo":null}`})
			for range wait {
				env.refused(svc, nodes, "quota")
			}
			env.Cloud.Faults.Clear()
			svc.Spec, svc.Annotations = before.Spec, before.Annotations
			env.ensure(svc, nodes)
			if all := env.addresses(); len(all) != 1 {
				t.Errorf("floating IPs %v, want the one that serves", all)
			}
			env.unchanged(svc, nodes)
			env.delete(svc)
			env.loadBalancers(0)
		})
	}
}

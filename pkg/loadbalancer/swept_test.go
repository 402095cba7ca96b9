package loadbalancer_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
)

// Each of these failures was found by the sweep (tests/sweep).

// once makes one request of a kind fail.
func once(method, route string, status int) faults.Rule {
	return faults.Rule{Method: method, Route: route, Status: status, Worded: true, Count: 1}
}

func TestEnsure_TagsSecurityGroupWhoseCreationWasBrokenOff(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"manage-security-groups": "true"}})
	nodes, svc := env.nodes(1), service("web", 1)
	env.Cloud.Faults.Add(once(http.MethodPut, "/network/v2.0/security-groups/{id}/tags", http.StatusConflict))
	if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
		t.Error("done without the tags")
	}
	env.ensure(svc, nodes)
	for _, group := range env.Cloud.Neutron.SecurityGroups() {
		if group.Name != "default" && len(group.Tags) != 2 {
			t.Errorf("group %s has the tags %q", group.Name, group.Tags)
		}
	}
	env.unchanged(svc, nodes)
}

func TestSharing_EndsAfterRestartForServiceThatNamesNoLoadBalancerAnyMore(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, owner := env.nodes(1), service("owner", 1)
	env.ensure(owner, nodes)
	guest := onto("guest", env.loadBalancer(), 443)
	env.ensure(guest, nodes)
	env.writeDown(guest)
	env.restart()
	guest.Annotations[annotation.LoadBalancerID] = ""
	env.ensure(guest, nodes)
	for _, lb := range env.loadBalancers(2) {
		if len(lb.Listeners) != 1 {
			t.Errorf("%s has %v, want one listener", lb.Name, ports(lb))
		}
	}
}

// One of several API servers lacks the latest state.
func TestSharing_LeavesNothingWhereOneAnswerDeniesLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, one, two := env.nodes(1), service("one", 1), service("two", 1)
	env.ensure(one, nodes)
	first := env.loadBalancer()
	env.ensure(two, nodes)
	guest := onto("guest", first, 443)
	env.ensure(guest, nodes)
	guest.Annotations[annotation.LoadBalancerID] = env.loadBalancers(2)[1].ID
	env.Cloud.Faults.Add(once(http.MethodGet, lbRoute+"/"+first.ID, http.StatusNotFound))
	env.ensure(guest, nodes)
	if left := env.loadBalancers(2)[0]; len(left.Listeners) != 1 || len(left.Pools) != 1 {
		t.Errorf("left: %v and %d pools", ports(left), len(left.Pools))
	}
}

// The Service no longer needs a floating IP, so that no later round would search for the old one.
func TestSharing_LeavesNoFloatingIPWhoseDeletionFailsOnce(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, owner, svc := env.nodes(1), service("owner", 1), service("moving", 0)
	env.ensure(owner, nodes)
	first := env.loadBalancer()
	svc.Spec.Ports = onto("x", first, 443).Spec.Ports
	env.ensure(svc, nodes)
	svc.Annotations[annotation.LoadBalancerID] = first.ID
	env.Cloud.Faults.Add(once(http.MethodDelete, fipRoute+"/{id}", http.StatusForbidden))
	if _, err := env.engine.Ensure(env.ctx, svc, nodes); err == nil {
		t.Error("done with a floating IP that is left")
	}
	env.restart()
	env.ensure(svc, nodes)
	env.loadBalancers(1)
	env.floatingIPs(1)
}

func TestDelete_LeavesNoPartOfSharedLoadBalancerThatOneAnswerDenies(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"listeners", "pools"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, owner := env.nodes(1), service("owner", 1)
			env.ensure(owner, nodes)
			guest := onto("guest", env.loadBalancer(), 443)
			env.ensure(guest, nodes)
			env.Cloud.Faults.Add(once(http.MethodDelete, "/load-balancer/v2.0/lbaas/"+kind+"/{id}", http.StatusNotFound))
			if err := env.engine.Delete(env.ctx, guest); err == nil {
				t.Error("nothing was noticed")
			}
			env.delete(guest)
			if left := env.loadBalancer(); len(left.Listeners) != 1 || len(left.Pools) != 1 {
				t.Errorf("left: %v and %d pools", ports(left), len(left.Pools))
			}
		})
	}
}

// The owner was deleted a moment ago, and a replica that lags behind still has its listener.
func TestDelete_RemovesLoadBalancerOfOthersWhenItTurnsOutToBeTheLast(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, owner := env.nodes(1), service("owner", 1)
	env.ensure(owner, nodes)
	lb := env.loadBalancer()
	guest := onto("guest", lb, 443)
	env.ensure(guest, nodes)
	_, _, before, err := env.Cloud.Act(simulator.Foreign{Method: http.MethodGet, Path: "/load-balancer/v2.0/lbaas/listeners"})
	if err != nil {
		t.Fatal(err)
	}
	env.delete(owner)
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: "/load-balancer/v2.0/lbaas/listeners", Count: 1, Status: http.StatusOK, Body: string(before),
		Header: http.Header{"Content-Type": {"application/json"}}})
	env.delete(guest)
	env.loadBalancers(0)
	env.floatingIPs(0)
}

func TestSharing_StaysWhereOneAnswerDeniesLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, owner := env.nodes(1), service("owner", 1)
	env.ensure(owner, nodes)
	lb := env.loadBalancer()
	guest := onto("guest", lb, 443)
	env.ensure(guest, nodes)
	env.restart()
	env.Cloud.Faults.Add(once(http.MethodGet, lbRoute+"/"+lb.ID, http.StatusNotFound))
	env.ensure(guest, nodes)
	env.loadBalancers(1)
}

// Until the move is complete, the Service is served at its former place.
func TestRefusal_OfMoveKeepsNodePortsOpen(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"manage-security-groups": "true"}})
	nodes, owner := env.nodes(1), service("owner", 1)
	env.ensure(owner, nodes)
	guest := onto("guest", env.loadBalancer(), 443)
	env.ensure(guest, nodes)
	rules := func() (open int) {
		for _, group := range env.Cloud.Neutron.SecurityGroups() {
			for _, rule := range group.Rules {
				if strings.HasPrefix(group.Name, "lb-sg-uid-of-guest") && rule.Direction == "ingress" {
					open++
				}
			}
		}
		return open
	}
	before := rules()
	guest.Annotations[annotation.LoadBalancerID] = ""
	quota := faults.Rule{Method: http.MethodPost, Status: http.StatusForbidden, Count: 1,
		Body: `{"faultcode":"Client","faultstring":"Quota has been met for resources: Listener","debuginfo":null}`}
	for _, route := range []string{lbRoute, "/load-balancer/v2.0/lbaas/pools"} { // the first makes it empty
		quota.Route = route
		env.Cloud.Faults.Add(quota)
	}
	for range 2 {
		if _, err := env.engine.Ensure(env.ctx, guest, nodes); err == nil {
			t.Error("arrived in spite of the quota")
		}
		if now := rules(); before == 0 || now != before {
			t.Errorf("%d rules, were %d", now, before)
		}
	}
	env.ensure(guest, nodes)
	env.unchanged(guest, nodes)
}

// The process ends after the deletion of the guest's listener, and then the owner is deleted first.
func TestDelete_RemovesLoadBalancerOfOthersWhereOnlyAPoolIsLeft(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, owner := env.nodes(1), service("owner", 1)
	env.ensure(owner, nodes)
	lb := env.loadBalancer()
	guest := onto("guest", lb, 443)
	env.ensure(guest, nodes)
	for _, l := range env.loadBalancer().Listeners {
		if l.ProtocolPort != 443 {
			continue
		}
		if _, status, _, err := env.Cloud.Act(simulator.Foreign{Method: http.MethodDelete, Path: "/load-balancer/v2.0/lbaas/listeners/" + l.ID}); err != nil || status != http.StatusNoContent {
			t.Fatalf("delete the listener: %d, %v", status, err)
		}
	}
	env.restart()
	env.delete(owner)
	env.loadBalancers(1)
	env.delete(guest)
	env.loadBalancers(0)
	env.floatingIPs(0)
}

// The floating IP of a load balancer has the name of its owner. If the last Service on it is
// another one, its search would not find the floating IP once the load balancer is gone.
func TestDelete_RemovesFloatingIPOfAnothersLoadBalancerWhateverFails(t *testing.T) {
	t.Parallel()
	for _, route := range []string{fipRoute, lbRoute} {
		env := newEnvironment(t, environmentOptions{})
		nodes, owner := env.nodes(1), service("owner", 1)
		env.ensure(owner, nodes)
		guest := onto("guest", env.loadBalancer(), 443)
		env.ensure(guest, nodes)
		env.delete(owner)
		env.Cloud.Faults.Add(once(http.MethodDelete, route+"/{id}", http.StatusForbidden))
		if err := env.engine.Delete(env.ctx, guest); err == nil {
			t.Fatalf("%s/{id} was not to be deleted", route)
		}
		env.restart()
		env.delete(guest)
		env.loadBalancers(0)
		env.floatingIPs(0)
	}
}

// Only its published address proves that a Service is on a load balancer of
// cloud-provider-openstack. The floating IP must exist as long as the load balancer.
func TestDelete_RemovesLoadBalancerOfAnothersWhoseFloatingIPProvesIt(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		for _, route := range []string{fipRoute, lbRoute} {
			env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Release: "zed"}})
			guest, owner := service("guest", 1), peers("kubernetes", service("owner", 1))
			left := peers("kubernetes", guest)
			left.listener, left.pool = "listener_%d_"+left.name+"%.0s", "pool_%d_"+left.name+"%.0s"
			left.name, left.description, left.tags = owner.name, owner.description, append(left.tags, owner.tags...)
			lb := env.inherit(left, guest, env.nodes(1))
			guest.Annotations[annotation.LoadBalancerID] = lb.ID
			env.Cloud.Faults.Add(once(method, route+"/{id}", http.StatusForbidden))
			_ = env.engine.Delete(env.ctx, guest) // fails if the load balancer does not belong to us
			env.restart()
			env.delete(guest)
			env.loadBalancers(0)
			env.floatingIPs(0)
		}
	}
}

// A listener that the cloud refuses is requested again. The nodes stay open for the pool that waits
// for it, and earlier changes of the round are not taken for those of another client.
func TestKeep_LeavesNodesOpenForPoolWithoutListener(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"manage-security-groups": "true"}})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	changed := svc.DeepCopy()
	changed.Annotations[annotation.ForwardedFor] = "true" // HTTP needs another listener
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: "/load-balancer/v2.0/lbaas/listeners", Status: http.StatusForbidden, Body: `{"faultstring": "Quota has been met for resources: Listener"}`, Count: 1})
	env.Cloud.RequestLog.Reset()
	if _, err := env.engine.Ensure(env.ctx, changed, nodes); err == nil {
		t.Fatal("the listener was not to be created")
	}
	if n := env.Cloud.RequestLog.Count(http.MethodDelete, "/network/v2.0/security-group-rules/{id}"); n > 0 {
		t.Errorf("%d rules of security groups were deleted", n)
	}
	ctx, stop := context.WithTimeout(env.ctx, 200*time.Millisecond)
	defer stop()
	env.engine.WatchDrift(ctx, func(name types.NamespacedName) { t.Errorf("drift of %s", name) })
	env.ensure(changed, nodes)
	env.unchanged(changed, nodes)
}

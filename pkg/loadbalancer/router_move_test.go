package loadbalancer_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// on returns a Service of a provider with a node port and an endpoint on the first node.
func (r *routed) on(provider string) *v1.Service {
	svc := service("web", 1)
	svc.Annotations[annotation.Provider] = provider
	r.endpoints.on(svc, "0")
	return svc
}

// A Service changes from Octavia to the router and back with its floating IP, if an annotation permits that. Nothing
// of the other provider is left, nor the ID of its load balancer in the annotations.
//
//proves:140
func TestRouter_MovesServiceBetweenProvidersWithItsFloatingIP(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		r := newRouted(t, "0", environmentOptions{})
		nodes := r.nodes(1)
		svc := r.on("amphora")
		address := r.ensure(svc, nodes).Ingress[0].IP
		for _, to := range []string{"router", "amphora", "router"} {
			svc.Annotations[annotation.Provider] = to
			delete(svc.Annotations, annotation.AllowReplace)
			if restarts {
				r.restart()
			}
			if _, err := r.engine.Ensure(r.ctx, svc, nodes); err == nil || !strings.Contains(err.Error(), "cannot change to") {
				t.Fatalf("to %s: error %v", to, err)
			}
			if reached := r.reaches(address, "203.0.113.9", 80); to == "amphora" && reached != "127.100.1.10" {
				t.Errorf("the refused Service reaches %q", reached)
			}
			svc.Annotations[annotation.AllowReplace] = "true"
			if restarts {
				r.restart()
			}
			if now := r.ensure(svc, nodes).Ingress[0].IP; now != address {
				t.Errorf("to %s: the address changes from %s to %s", to, address, now)
			}
			r.floatingIPs(1)
			if to == "router" {
				r.loadBalancers(0)
				r.wantReach(address, "203.0.113.9", 80, "127.100.1.10")
			} else if r.loadBalancers(1); len(r.vips()) != 0 || len(r.routes()) != 0 {
				t.Errorf("left are VIPs %v and routes %v", r.vips(), r.routes())
			}
			writeRecord(svc, r.conditions.record(svc.UID))
			named, written := svc.Annotations[annotation.LoadBalancerID], svc.Annotations[annotation.WrittenFor]
			if (named != "") != (to == "amphora") || (written != "") != (to == "amphora") {
				t.Errorf("to %s: the annotations name %q, written for %q", to, named, written)
			}
			r.unchanged(svc, nodes)
		}
		r.remove(svc)
		r.loadBalancers(0)
		r.floatingIPs(0)
		if len(r.vips()) != 0 || len(r.routes()) != 0 {
			t.Errorf("left are VIPs %v and routes %v", r.vips(), r.routes())
		}
	}
}

// A load balancer that Octavia has begun before the Service requested the router is not forgotten: neither if the
// Service gets its VIP, nor if it is deleted, nor by another process.
//
//proves:140
func TestRouter_RemovesLoadBalancerThatWasBegunInOctavia(t *testing.T) {
	t.Parallel()
	for _, created := range []time.Duration{-time.Hour, -time.Minute, time.Second} { // before or after the process
		for _, deletes := range []bool{false, true} {
			restarts := created == -time.Minute
			r := newRouted(t, "0", environmentOptions{hold: time.Minute})
			nodes := r.nodes(1)
			svc := r.on("amphora")
			svc.CreationTimestamp = metav1.NewTime(time.Now().Add(created))
			r.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: fipRoute, Status: http.StatusConflict, Count: 1})
			if _, err := r.engine.Ensure(r.ctx, svc, nodes); err == nil {
				t.Fatal("the Service is served")
			}
			r.loadBalancers(1)
			svc.Annotations[annotation.Provider] = "router"
			if restarts {
				r.restart()
			}
			if deletes {
				now := nowTime()
				svc.DeletionTimestamp = &now
				_ = r.engine.Delete(r.ctx, svc) // it may wait for one that is still to come
			} else {
				r.wantReach(r.ensure(svc, nodes).Ingress[0].IP, "203.0.113.9", 80, "127.100.1.10")
			}
			r.loadBalancers(0)
		}
	}
}

// A Service is deleted after it has requested the router. Nothing is left of what it had begun on the load balancer of
// another Service.
//
//proves:140
func TestRouter_RemovesPartsThatWereBegunOnLoadBalancerOfAnother(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	nodes, owner := r.nodes(1), service("owner", 1)
	owner.Annotations[annotation.Provider] = "amphora"
	r.ensure(owner, nodes)
	guest := onto("guest", r.loadBalancer(), 8080)
	guest.Annotations[annotation.Provider] = "amphora"
	remove := r.Cloud.Faults.Add(faults.Rule{Method: http.MethodPost, Route: "/load-balancer/v2.0/lbaas/listeners", Status: http.StatusForbidden})
	if _, err := r.engine.Ensure(r.ctx, guest, nodes); err == nil {
		t.Fatal("the Service is served")
	}
	remove()
	if pools := r.loadBalancer().Pools; len(pools) != 2 {
		t.Fatalf("%d pools, want one of each Service", len(pools))
	}
	guest.Annotations[annotation.Provider] = "router"
	delete(guest.Annotations, annotation.LoadBalancerID)
	r.remove(guest)
	if lb := r.loadBalancer(); len(lb.Pools) != 1 || len(lb.Listeners) != 1 {
		t.Errorf("%d pools and %d listeners, want those of the owner", len(lb.Pools), len(lb.Listeners))
	}
}

// A Service that goes back to the router before Octavia has completed its load balancer leaves nothing there, also if it
// is deleted then. If the process ends in between, the next one finds the load balancer in its first list of all.
//
//proves:140
func TestRouter_RemovesLoadBalancerOfChangeThatWasTakenBack(t *testing.T) {
	t.Parallel()
	for _, then := range []string{"", "restart", "delete", "restart and delete"} {
		restarts := strings.HasPrefix(then, "restart")
		r := newRouted(t, "0", environmentOptions{hold: time.Minute})
		nodes := r.nodes(1)
		svc := r.on("router")
		svc.Status.LoadBalancer = *r.ensure(svc, nodes)
		address := svc.Status.LoadBalancer.Ingress[0].IP
		svc.Annotations[annotation.AllowReplace], svc.Annotations[annotation.Provider] = "true", "amphora"
		r.Cloud.Faults.Add(faults.Rule{Method: http.MethodPut, Route: "/network/v2.0/floatingips/*", Status: http.StatusConflict, Count: 1})
		if _, err := r.engine.Ensure(r.ctx, svc, nodes); err == nil {
			t.Fatal("the Service has left the router")
		}
		r.loadBalancers(1)
		svc.Annotations[annotation.Provider] = "router"
		if restarts {
			r.restart()
		}
		if strings.HasSuffix(then, "delete") {
			svc.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
			r.remove(svc)
			r.loadBalancers(0)
			r.floatingIPs(0)
			continue
		}
		if now := r.ensure(svc, nodes).Ingress[0].IP; now != address {
			t.Errorf("the address changes from %s to %s", address, now)
		}
		if restarts {
			r.repair(svc, nodes)
		}
		r.loadBalancers(0)
		r.wantReach(address, "203.0.113.9", 80, "127.100.1.10")
		r.unchanged(svc, nodes)
	}
}

// A Service that goes back to Octavia before its change to the router is complete has no VIP left, also if it is deleted
// then, or if the process ends in between. It needs no permission, because the VIP has not served it.
//
//proves:140
func TestRouter_RemovesVIPOfChangeThatWasTakenBack(t *testing.T) {
	t.Parallel()
	for _, then := range []string{"", "restart", "delete", "restart and delete"} {
		for _, fault := range []faults.Rule{
			{Method: http.MethodPut, Route: "/network/v2.0/floatingips/*", Status: http.StatusConflict, Count: 1},
			{Method: http.MethodDelete, Route: lbRoute + "/{id}", Status: http.StatusForbidden, Worded: true, Count: 1},
		} {
			r := newRouted(t, "0", environmentOptions{hold: time.Minute})
			nodes := r.nodes(1)
			svc := r.on("amphora")
			address := r.ensure(svc, nodes).Ingress[0].IP
			svc.Annotations[annotation.AllowReplace], svc.Annotations[annotation.Provider] = "true", "router"
			r.Cloud.Faults.Add(fault)
			if _, err := r.engine.Ensure(r.ctx, svc, nodes); err == nil {
				t.Fatal("the Service has left Octavia")
			}
			if len(r.vips()) != 1 || len(r.routes()) != 1 {
				t.Fatalf("the change has begun with VIPs %v and routes %v", r.vips(), r.routes())
			}
			delete(svc.Annotations, annotation.AllowReplace)
			svc.Annotations[annotation.Provider] = "amphora"
			if strings.HasPrefix(then, "restart") {
				r.restart()
			}
			want := 1
			if strings.HasSuffix(then, "delete") {
				r.remove(svc)
				want = 0
			} else {
				if now := r.ensure(svc, nodes).Ingress[0].IP; now != address {
					t.Errorf("%s: the address changes from %s to %s", then, address, now)
				}
				r.unchanged(svc, nodes)
			}
			r.loadBalancers(want)
			r.floatingIPs(want)
			if len(r.vips()) != 0 || len(r.routes()) != 0 {
				t.Errorf("%s: left are VIPs %v and routes %v", then, r.vips(), r.routes())
			}
		}
	}
}

// A Service keeps its VIP after cloud.conf names another network for VIPs, or none, and leaves nothing there.
//
//proves:140
func TestRouter_KeepsVIPsOfFormerNetwork(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{false, true} {
		r := newRouted(t, "0", environmentOptions{})
		nodes := r.nodes(2)
		address := r.ensure(r.svc, nodes).Ingress[0].IP
		r.Conf.LoadBalancer.RouterVIPNetworkID = ""
		if !removed {
			r.Conf.LoadBalancer.RouterVIPNetworkID = r.anotherPool("127.103.0.0/24")
		}
		r.restart()
		r.endpoints.on(r.svc, "1")
		if _, err := r.engine.Ensure(r.ctx, r.svc, nodes); removed != (err != nil) {
			t.Errorf("removed %v: error %v", removed, err)
		}
		r.wantReach(address, "203.0.113.9", 80, "127.100.1.11")
		if !removed {
			if err := r.Cloud.Neutron.SetRoutes(r.Cloud.Router.ID, nil); err != nil {
				t.Fatal(err)
			}
			r.repair(r.svc, nodes)
			r.wantReach(address, "203.0.113.9", 80, "127.100.1.11")
			second := r.ensure(r.routedService("second"), nodes)
			if vip := second.Ingress[1].IP; !strings.HasPrefix(vip, "127.103.") {
				t.Errorf("the new VIP is %s", vip)
			}
		}
		r.remove(r.svc)
		if len(r.vips()) != 0 {
			t.Errorf("left are VIPs %v and routes %v", r.vips(), r.routes())
		}
	}
}

// anotherPool adds a network of VIPs, and returns its ID.
func (r *routed) anotherPool(cidr string) string {
	r.T.Helper()
	network := r.Cloud.Neutron.AddNetwork(neutron.NetworkSpec{Name: "more-vips", ProjectID: r.Cloud.Account.ProjectID})
	subnet, err := r.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{NetworkID: network.ID, CIDR: cidr})
	if err == nil {
		err = r.Cloud.Neutron.AddRouterInterface(r.Cloud.Router.ID, subnet.ID)
	}
	if err != nil {
		r.T.Fatal(err)
	}
	return network.ID
}

// A Service that has changed to port forwardings leaves its port to others, with any source ranges.
func TestRouter_LeavesItsPortWithProvider(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	nodes := r.nodes(1)
	r.svc.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
	r.svc.Status.LoadBalancer = *r.ensure(r.svc, nodes)
	r.svc.Annotations[annotation.Provider], r.svc.Annotations[annotation.AllowReplace] = "port-forwarding", "true"
	r.svc.Spec.Ports[0].NodePort = 30080
	r.ensure(r.svc, nodes)
	r.ensure(r.routedService("other"), nodes)
}

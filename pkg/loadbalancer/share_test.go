package loadbalancer_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// onto makes a Service with a port that names a load balancer.
func onto(name string, lb simoctavia.LoadBalancer, number int) *v1.Service {
	svc := service(name, 0)
	svc.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, number)}
	svc.Annotations[annotation.LoadBalancerID] = lb.ID
	return svc
}

// ports gives the ports of the listeners of a load balancer, with the names of the
// Services that they serve.
func ports(lb simoctavia.LoadBalancer) []string {
	var all []string
	for _, l := range lb.Listeners {
		all = append(all, fmt.Sprintf("%s/%d %s", l.Protocol, l.ProtocolPort, l.Name))
	}
	slices.Sort(all)
	return all
}

// byHand makes a load balancer as a person does.
func (w *world) byHand(name, description string, tags ...string) simoctavia.LoadBalancer {
	w.t.Helper()
	session, err := openstack.NewSession(w.ctx, w.conf.Global, openstack.SessionOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer session.Close()
	made, err := session.Octavia().CreateLoadBalancer(w.ctx, loadbalancers.CreateOpts{
		Name: name, Description: description, Tags: tags, VipSubnetID: w.cloud.Subnet.ID,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.cloud.WaitSettled(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	for _, lb := range w.cloud.Octavia.Snapshot() {
		if lb.ID == made.ID {
			return lb
		}
	}
	w.t.Fatal("it is gone")
	return simoctavia.LoadBalancer{}
}

//proves:58
func TestServicesShareALoadBalancerAndItsFloatingIP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: map[string]string{"create-monitor": "true"}})
	nodes := w.nodes(3)
	owner := service("owner", 2)
	address := w.ensure(owner, nodes).Ingress[0].IP
	lb := w.loadBalancer()
	guest := onto("guest", lb, 443)
	w.cloud.Books.Reset()
	if got := w.ensure(guest, nodes).Ingress[0].IP; got != address {
		t.Errorf("published %s, want the owner's %s", got, address)
	}
	w.writes(4) // pool, members, monitor, listener
	w.floatingIPs(1)
	want := []string{
		"TCP/443 listener_0_kube_service_kubernetes_default_guest",
		"TCP/80 listener_0_kube_service_kubernetes_default_owner",
		"TCP/81 listener_1_kube_service_kubernetes_default_owner",
	}
	after := w.loadBalancer()
	if got := ports(after); !slices.Equal(got, want) {
		t.Errorf("listeners %v, want %v", got, want)
	}
	if after.Name != lb.Name || !slices.Equal(after.Tags, lb.Tags) {
		t.Errorf("the load balancer itself was changed: %s %v", after.Name, after.Tags)
	}
	// Nothing that the one does changes what the other has.
	w.unchanged(guest, nodes)
	w.unchanged(owner, nodes)
	guest.Spec.Ports = append(guest.Spec.Ports, port(v1.ProtocolUDP, 443))
	w.ensure(guest, nodes)
	owner.Spec.Ports = owner.Spec.Ports[:1]
	w.ensure(owner, nodes)
	w.unchanged(owner, nodes)
	w.unchanged(guest, nodes)
	if got := w.loadBalancer(); len(got.Listeners) != 3 || len(got.Pools) != 3 {
		t.Errorf("%d listeners and %d pools, want 3", len(got.Listeners), len(got.Pools))
	}
}

//proves:58
func TestTheLastServiceOnASharedLoadBalancerTakesItAlong(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"owner", "guest"}, {"guest", "owner"}} {
		for _, cascade := range []string{"true", "false"} {
			t.Run(order[0]+" goes first, cascade "+cascade, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, worldOptions{keys: map[string]string{"cascade-delete": cascade}})
				nodes, services := w.nodes(1), map[string]*v1.Service{}
				services["owner"] = service("owner", 1)
				address := w.ensure(services["owner"], nodes).Ingress[0].IP
				services["guest"] = onto("guest", w.loadBalancer(), 443)
				w.ensure(services["guest"], nodes)
				w.delete(services[order[0]])
				if lb := w.loadBalancer(); len(lb.Listeners) != 1 || len(lb.Pools) != 1 {
					t.Errorf("%d listeners, %d pools are left, want 1", len(lb.Listeners), len(lb.Pools))
				}
				w.floatingIPs(1)
				w.unchanged(services[order[1]], nodes)
				if got := services[order[1]].Status.LoadBalancer.Ingress[0].IP; got != address {
					t.Errorf("%s is at %s now, was at %s", order[1], got, address)
				}
				w.restart()
				w.delete(services[order[1]])
				w.loadBalancers(0)
				w.floatingIPs(0)
			})
		}
	}
}

//proves:59
func TestInternalLoadBalancersAndThoseWithoutFloatingIPAreShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes := w.nodes(2)
	owner := service("owner", 1)
	owner.Annotations[annotation.Internal] = "true"
	vip := w.ensure(owner, nodes).Ingress[0].IP
	if want := w.loadBalancer().VIP.Address; vip != want {
		t.Errorf("published %s, want the VIP %s", vip, want)
	}
	for _, internal := range []string{"true", "false"} {
		guest := onto("guest-"+internal, w.loadBalancer(), 443)
		guest.Annotations[annotation.Internal] = internal
		if got := w.ensure(guest, nodes).Ingress[0].IP; got != vip {
			t.Errorf("internal %s: published %s, want the VIP %s", internal, got, vip)
		}
		if told := w.told(); strings.Contains(told, "has no floating IP") != (internal == "false") {
			t.Errorf("internal %s: told\n%s", internal, told)
		}
		w.floatingIPs(0) // it would open the owner's ports too
		w.unchanged(guest, nodes)
		w.delete(guest)
	}
	w.unchanged(owner, nodes)
	w.delete(owner)
	w.loadBalancers(0)
}

//proves:62
func TestALoadBalancerMadeByHandIsUsedAndStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes := w.nodes(1)
	lb := w.byHand("mine", "for everybody", "production")
	first, second := onto("first", lb, 80), onto("second", lb, 443)
	second.Namespace = "other"
	for _, svc := range []*v1.Service{first, second} {
		if got := w.ensure(svc, nodes).Ingress[0].IP; got != lb.VIP.Address {
			t.Errorf("published %s, want the VIP %s", got, lb.VIP.Address)
		}
		w.unchanged(svc, nodes)
	}
	for _, svc := range []*v1.Service{first, second} {
		w.delete(svc)
	}
	left := w.loadBalancer()
	if len(left.Listeners) != 0 || len(left.Pools) != 0 || left.Name != "mine" || !slices.Equal(left.Tags, []string{"production"}) {
		t.Errorf("left %d listeners and %d pools on %s %v", len(left.Listeners), len(left.Pools), left.Name, left.Tags)
	}
	w.floatingIPs(0)
}

//proves:58
func TestNoMoreServicesShareALoadBalancerThanAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: map[string]string{"max-shared-lb": "3"}})
	nodes := w.nodes(1)
	owner := service("owner", 2)
	w.ensure(owner, nodes)
	lb := w.loadBalancer()
	a, b := onto("a", lb, 443), onto("b", lb, 444)
	w.ensure(a, nodes)
	w.ensure(b, nodes)
	c := onto("c", lb, 445)
	w.cloud.Books.Reset()
	w.refused(c, nodes, "max-shared-lb of cloud.conf allows 3 Services")
	w.writes(0)
	// Services that have gone do not count.
	w.delete(a)
	w.ensure(c, nodes)
	// Who is on it stays on it, whatever the number.
	w.conf.LoadBalancer.MaxSharedLB = 1
	w.restart()
	b.Spec.Ports[0].NodePort = 32111
	w.ensure(b, nodes)
	w.unchanged(b, nodes)
}

//proves:61
func TestAnotherNamespacesLoadBalancerIsSharedByConsentOnly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scope, allows string
		refused       string
	}{
		"nobody allows it":                     {"", "", `only that Namespace's annotation loadbalancer.openstack.org/allow-sharing-from: "shop" does`},
		"the namespace allows others":          {"", "a,b", "does not allow shop to share it"},
		"the namespace allows it":              {"", "a, shop", ""},
		"the namespace allows all":             {"", "*", ""},
		"cloud.conf allows it":                 {"cluster", "", ""},
		"cloud.conf allows the whole project":  {"project", "", ""},
		"only what begins like it is allowed":  {"", "shopping", "does not allow shop to share it"},
		"cloud.conf says what is said already": {"namespace", "", "does not allow shop to share it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := worldOptions{}
			if test.scope != "" {
				options.keys = map[string]string{"shared-lb-scope": test.scope}
			}
			w := newWorld(t, options)
			w.sharing = map[string]string{"default": test.allows}
			nodes := w.nodes(1)
			owner := service("owner", 1)
			w.ensure(owner, nodes)
			guest := onto("guest", w.loadBalancer(), 443)
			guest.Namespace = "shop"
			w.cloud.Books.Reset()
			if test.refused == "" {
				w.ensure(guest, nodes)
				w.sharing = nil // who is there stays there
				w.unchanged(guest, nodes)
				return
			}
			w.refused(guest, nodes, test.refused)
			w.writes(0)
			w.delete(guest)
			w.writes(0)
			w.unchanged(owner, nodes)
		})
	}
}

//proves:61,63
func TestAnotherClustersLoadBalancerIsSharedWhereTheProjectIsTheScopeOnly(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"cluster", "project"} {
		w := newWorld(t, worldOptions{keys: map[string]string{"shared-lb-scope": scope}})
		foreign, _ := w.controller(otherCluster)
		nodes := w.nodes(1)
		theirs := service("theirs", 1)
		if _, err := foreign.Ensure(w.ctx, theirs, nodes); err != nil {
			t.Fatal(err)
		}
		before := w.loadBalancer()
		ours := onto("ours", before, 443)
		if scope == "cluster" {
			w.cloud.Books.Reset()
			w.refused(ours, nodes, "shared-lb-scope=project")
			w.delete(ours)
			w.writes(0)
			continue
		}
		w.ensure(ours, nodes)
		w.unchanged(ours, nodes)
		if after := w.loadBalancer(); after.Name != before.Name || !slices.Equal(after.Tags, before.Tags) || len(after.Listeners) != 2 {
			t.Errorf("the load balancer was changed: %s %v, %d listeners", after.Name, after.Tags, len(after.Listeners))
		}
		if err := foreign.Delete(w.ctx, theirs); err != nil {
			t.Fatal(err)
		}
		w.loadBalancers(1)
		w.delete(ours) // the last one; but it is not our cluster's
		if left := w.loadBalancer(); len(left.Listeners) != 0 {
			t.Errorf("%d listeners are left", len(left.Listeners))
		}
	}
}

//proves:58
func TestAPortThatIsTakenOnASharedLoadBalancerIsRefusedWhateverItsProtocol(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes := w.nodes(1)
	owner := service("owner", 1)
	owner.Spec.Ports = append(owner.Spec.Ports, port(v1.ProtocolUDP, 53))
	w.ensure(owner, nodes)
	lb := w.loadBalancer()
	for what, guest := range map[string]*v1.Service{"TCP": onto("tcp", lb, 80), "UDP": onto("udp", lb, 53)} {
		guest.Spec.Ports[0].Protocol = v1.Protocol(what)
		w.cloud.Books.Reset()
		w.refused(guest, nodes, " of default/owner: choose another port")
		w.writes(0)
		w.delete(guest)
		w.writes(0)
	}
	w.ensure(onto("fits", lb, 53), nodes)
	w.unchanged(owner, nodes)
}

//proves:58,72
func TestChangesOfOneServiceCostTheOthersOnTheLoadBalancerNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes := w.nodes(3)
	owner := service("owner", 1)
	w.ensure(owner, nodes[:2])
	guest := onto("guest", w.loadBalancer(), 443)
	w.ensure(guest, nodes[:2])
	for _, test := range []struct {
		nodes []*v1.Node
		reads int
	}{
		{nodes, 12},    // the owner has not seen the guest's listener yet
		{nodes[1:], 6}, // for each a look before the change, one after it, and its outcome
		{nodes, 6},
	} {
		w.cloud.Books.Reset()
		w.ensure(owner, test.nodes)
		w.ensure(guest, test.nodes)
		w.writes(2)
		// How often a change is looked at before it is over is a matter of time.
		once := slices.CompactFunc(w.cloud.Books.Requests(), func(a, b books.Request) bool { return a.Path == b.Path && a.Method == b.Method })
		if reads := len(once) - 2; reads > test.reads {
			t.Errorf("%d reads, want %d:\n%s", reads, test.reads, printed(w.cloud.Books.Requests()))
		}
	}
	w.cloud.Books.Reset()
	w.ensure(owner, nodes)
	w.ensure(guest, nodes)
	if all := w.cloud.Books.Requests(); len(all) > 0 {
		t.Errorf("requests for nothing:\n%s", printed(all))
	}
}

//proves:76
func TestServicesOnOneLoadBalancerDoNotWriteAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: map[string]string{"max-shared-lb": "9"}})
	nodes := w.nodes(3)
	owner := service("owner", 1)
	w.ensure(owner, nodes[:2])
	lb := w.loadBalancer()
	services := []*v1.Service{owner}
	for i := range 5 {
		services = append(services, onto(fmt.Sprintf("guest-%d", i), lb, 1000+i))
	}
	w.cloud.Books.Reset()
	for range 2 {
		var all sync.WaitGroup
		for _, svc := range services {
			all.Go(func() {
				if _, err := w.engine.Ensure(w.ctx, svc, nodes); err != nil {
					t.Errorf("%s: %v", svc.Name, err)
				}
			})
		}
		all.Wait()
		nodes = nodes[:1]
	}
	for _, r := range w.cloud.Books.Requests() {
		if r.Status == http.StatusConflict {
			t.Errorf("in each other's way: %s %s", r.Method, r.Path)
		}
	}
	if got := w.loadBalancer(); len(got.Listeners) != 6 {
		t.Errorf("%d listeners, want 6", len(got.Listeners))
	}
	var all sync.WaitGroup
	for _, svc := range services {
		all.Go(func() {
			if err := w.engine.Delete(w.ctx, svc); err != nil {
				t.Errorf("%s: %v", svc.Name, err)
			}
		})
	}
	all.Wait()
	w.loadBalancers(0)
	w.floatingIPs(0)
}

// A Service goes from one load balancer to another by its annotation.
//
//proves:58,93
func TestAServiceThatNamesAnotherLoadBalancerMovesAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarted %v", restarted), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{})
			moved := func() {
				if restarted {
					w.restart()
				}
			}
			nodes := w.nodes(1)
			one, two, svc := service("one", 1), service("two", 1), service("moving", 0)
			w.ensure(one, nodes)
			first := w.loadBalancer()
			w.ensure(two, nodes)
			second := w.loadBalancers(2)[1]
			svc.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, 443)}
			w.ensure(svc, nodes) // its own
			w.loadBalancers(3)
			w.floatingIPs(3)

			for _, to := range []struct {
				id            string
				balancers     int
				first, second int
			}{{first.ID, 2, 2, 1}, {second.ID, 2, 1, 2}, {"", 3, 1, 1}, {first.ID, 2, 2, 1}} {
				svc.Annotations[annotation.LoadBalancerID] = to.id
				moved()
				w.ensure(svc, nodes)
				now := w.loadBalancers(to.balancers)
				if len(now[0].Listeners) != to.first || len(now[1].Listeners) != to.second {
					t.Errorf("to %q: %d and %d listeners, want %d and %d", to.id, len(now[0].Listeners), len(now[1].Listeners), to.first, to.second)
				}
				w.floatingIPs(to.balancers)
				w.unchanged(svc, nodes)
			}
			w.unchanged(one, nodes)
			w.unchanged(two, nodes)
			w.delete(svc)
			w.loadBalancers(2)
			w.floatingIPs(2)
		})
	}
}

//proves:58
func TestAServiceDeletedAfterItsAnnotationChangedLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(svc *v1.Service, other string){
		"to another":  func(svc *v1.Service, other string) { svc.Annotations[annotation.LoadBalancerID] = other },
		"taken off":   func(svc *v1.Service, _ string) { delete(svc.Annotations, annotation.LoadBalancerID) },
		"to nonsense": func(svc *v1.Service, _ string) { svc.Annotations[annotation.LoadBalancerID] = "a b\n" },
		"its port":    func(svc *v1.Service, _ string) { svc.Spec.Ports[0].Port = 9999 },
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarted %v", name, restarted), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, worldOptions{})
				nodes := w.nodes(1)
				one, two := service("one", 1), service("two", 1)
				w.ensure(one, nodes)
				lb := w.loadBalancer()
				w.ensure(two, nodes)
				svc := onto("svc", lb, 443)
				w.ensure(svc, nodes)
				change(svc, w.loadBalancers(2)[1].ID)
				if restarted {
					w.restart()
				}
				now := nowTime()
				svc.DeletionTimestamp = &now
				if _, exists, err := w.engine.Get(w.ctx, svc); err != nil || !exists {
					t.Errorf("Get: exists %v, error %v", exists, err)
				}
				w.delete(svc)
				for _, left := range w.loadBalancers(2) {
					if len(left.Listeners) != 1 || len(left.Pools) != 1 {
						t.Errorf("%s holds %v", left.Name, ports(left))
					}
				}
			})
		}
	}
}

//proves:58
func TestAServiceOnASharedLoadBalancerThatVanishedGetsItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes := w.nodes(1)
	owner := service("owner", 1)
	w.ensure(owner, nodes)
	lb := w.loadBalancer()
	guest := onto("guest", lb, 443)
	w.ensure(guest, nodes)
	if err := w.cloud.Octavia.Remove(lb.ID); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.ensure(owner, nodes)
	w.ensure(guest, nodes)
	w.loadBalancers(2)
	w.floatingIPs(2)
	w.unchanged(guest, nodes)
	w.delete(owner)
	w.delete(guest)
	w.loadBalancers(0)
	w.floatingIPs(0)
}

//proves:58
func TestAnAddressAskedForOnASharedLoadBalancerMustBeItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes := w.nodes(1)
	owner := service("owner", 1)
	address := w.ensure(owner, nodes).Ingress[0].IP
	guest := onto("guest", w.loadBalancer(), 443)
	guest.Spec.LoadBalancerIP = "127.200.9.9"
	w.cloud.Books.Reset()
	w.refused(guest, nodes, "spec.loadBalancerIP")
	w.writes(0)
	guest.Spec.LoadBalancerIP = address
	w.ensure(guest, nodes)
	w.floatingIPs(1)
	w.unchanged(guest, nodes)
}

// Who holds the fingerprints of a restart writes them down; here the test does.
//
//proves:58
func TestTheServicesOfASharedLoadBalancerCostNothingAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes := w.nodes(2)
	owner := service("owner", 1)
	w.ensure(owner, nodes)
	guest := onto("guest", w.loadBalancer(), 443)
	w.ensure(guest, nodes)
	w.ensure(owner, nodes[:1])
	w.writeDown(owner, guest)
	w.restart()
	w.cloud.Books.Reset()
	w.ensure(owner, nodes[:1])
	w.ensure(guest, nodes)
	for _, r := range w.cloud.Books.Requests() {
		if r.Route != lbRoute && r.Route != fipRoute && !strings.HasSuffix(r.Route, "/auth/tokens") || r.Method != http.MethodGet && !strings.HasSuffix(r.Route, "/auth/tokens") {
			t.Errorf("more than one look: %s %s", r.Method, r.Path)
		}
	}
	// And they can be changed on the strength of it.
	guest.Spec.Ports[0].NodePort = 32555
	w.ensure(guest, nodes)
	w.unchanged(guest, nodes)
	w.unchanged(owner, nodes[:1])
}

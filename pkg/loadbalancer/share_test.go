package loadbalancer_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// onto returns a Service with one port that names a load balancer.
func onto(name string, lb simoctavia.LoadBalancer, number int) *v1.Service {
	svc := service(name, 0)
	svc.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, number)}
	svc.Annotations[annotation.LoadBalancerID] = lb.ID
	return svc
}

// ports returns the ports of the listeners of a load balancer, with the names of their Services.
func ports(lb simoctavia.LoadBalancer) []string {
	var all []string
	for _, l := range lb.Listeners {
		all = append(all, fmt.Sprintf("%s/%d %s", l.Protocol, l.ProtocolPort, l.Name))
	}
	slices.Sort(all)
	return all
}

// byHand creates a load balancer as a person does.
func (env *environment) byHand(name, description string, tags ...string) simoctavia.LoadBalancer {
	env.T.Helper()
	session, err := openstack.NewSession(env.ctx, env.Conf.Global, openstack.SessionOptions{})
	if err != nil {
		env.T.Fatal(err)
	}
	defer session.Close()
	made, err := session.Octavia().CreateLoadBalancer(env.ctx, octavia.LoadBalancer{
		Name: name, Description: description, Tags: tags, VIPSubnetID: env.Cloud.Subnet.ID,
	})
	if err != nil {
		env.T.Fatal(err)
	}
	if err := env.Cloud.WaitSettled(env.ctx); err != nil {
		env.T.Fatal(err)
	}
	for _, lb := range env.Cloud.Octavia.Snapshot() {
		if lb.ID == made.ID {
			return lb
		}
	}
	env.T.Fatal("it is gone")
	return simoctavia.LoadBalancer{}
}

func TestSharing_PublishesVIPOnceGuestIsInternal(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(1)
	address := env.ensure(service("owner", 1), nodes).Ingress[0].IP
	guest := onto("guest", env.loadBalancer(), 443)
	env.ensure(guest, nodes)
	guest.Annotations[annotation.Internal] = "true"
	if got, want := env.ensure(guest, nodes).Ingress[0].IP, env.loadBalancer().VIP.Address; got != want {
		t.Errorf("it publishes %s, not the VIP %s", got, want)
	}
	delete(guest.Annotations, annotation.Internal)
	if got := env.ensure(guest, nodes).Ingress[0].IP; got != address {
		t.Errorf("it publishes %s, not the floating IP %s", got, address)
	}
}

//proves:58
func TestSharing_UsesOneLoadBalancerAndItsFloatingIP(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"create-monitor": "true"}})
	nodes := env.nodes(3)
	owner := service("owner", 2)
	address := env.ensure(owner, nodes).Ingress[0].IP
	lb := env.loadBalancer()
	guest := onto("guest", lb, 443)
	env.Cloud.RequestLog.Reset()
	if got := env.ensure(guest, nodes).Ingress[0].IP; got != address {
		t.Errorf("published %s, want the owner's %s", got, address)
	}
	env.writes(4) // pool, members, monitor, listener
	env.floatingIPs(1)
	want := []string{
		"TCP/443 listener_0_kube_service_kubernetes_default_guest",
		"TCP/80 listener_0_kube_service_kubernetes_default_owner",
		"TCP/81 listener_1_kube_service_kubernetes_default_owner",
	}
	after := env.loadBalancer()
	if got := ports(after); !slices.Equal(got, want) {
		t.Errorf("listeners %v, want %v", got, want)
	}
	if after.Name != lb.Name || !slices.Equal(after.Tags, lb.Tags) {
		t.Errorf("the load balancer itself was changed: %s %v", after.Name, after.Tags)
	}
	// A change of one Service does not affect the objects of the other.
	env.unchanged(guest, nodes)
	env.unchanged(owner, nodes)
	guest.Spec.Ports = append(guest.Spec.Ports, port(v1.ProtocolUDP, 443))
	env.ensure(guest, nodes)
	owner.Spec.Ports = owner.Spec.Ports[:1]
	env.ensure(owner, nodes)
	env.unchanged(owner, nodes)
	env.unchanged(guest, nodes)
	if got := env.loadBalancer(); len(got.Listeners) != 3 || len(got.Pools) != 3 {
		t.Errorf("%d listeners and %d pools, want 3", len(got.Listeners), len(got.Pools))
	}
}

//proves:58
func TestSharing_EndsWithLastServiceWhichRemovesLoadBalancer(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{{"owner", "guest"}, {"guest", "owner"}} {
		for _, cascade := range []string{"true", "false"} {
			t.Run(order[0]+" goes first, cascade "+cascade, func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{keys: map[string]string{"cascade-delete": cascade}})
				nodes, services := env.nodes(1), map[string]*v1.Service{}
				services["owner"] = service("owner", 1)
				address := env.ensure(services["owner"], nodes).Ingress[0].IP
				services["guest"] = onto("guest", env.loadBalancer(), 443)
				env.ensure(services["guest"], nodes)
				env.delete(services[order[0]])
				if lb := env.loadBalancer(); len(lb.Listeners) != 1 || len(lb.Pools) != 1 {
					t.Errorf("%d listeners, %d pools are left, want 1", len(lb.Listeners), len(lb.Pools))
				}
				env.floatingIPs(1)
				env.unchanged(services[order[1]], nodes)
				if got := services[order[1]].Status.LoadBalancer.Ingress[0].IP; got != address {
					t.Errorf("%s is at %s now, was at %s", order[1], got, address)
				}
				env.restart()
				env.delete(services[order[1]])
				env.loadBalancers(0)
				env.floatingIPs(0)
			})
		}
	}
}

//proves:59
func TestSharing_OfInternalLoadBalancerAddsNoFloatingIP(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(2)
	owner := service("owner", 1)
	owner.Annotations[annotation.Internal] = "true"
	vip := env.ensure(owner, nodes).Ingress[0].IP
	if want := env.loadBalancer().VIP.Address; vip != want {
		t.Errorf("published %s, want the VIP %s", vip, want)
	}
	for _, internal := range []string{"true", "false"} {
		guest := onto("guest-"+internal, env.loadBalancer(), 443)
		guest.Annotations[annotation.Internal] = internal
		if got := env.ensure(guest, nodes).Ingress[0].IP; got != vip {
			t.Errorf("internal %s: published %s, want the VIP %s", internal, got, vip)
		}
		if emitted := env.emitted(); strings.Contains(emitted, "has no floating IP") != (internal == "false") {
			t.Errorf("internal %s: emitted\n%s", internal, emitted)
		}
		env.floatingIPs(0) // it would open the owner's ports too
		env.unchanged(guest, nodes)
		env.delete(guest)
	}
	env.unchanged(owner, nodes)
	env.delete(owner)
	env.loadBalancers(0)
}

//proves:62
func TestSharing_UsesManualLoadBalancerAndLeavesIt(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(1)
	lb := env.byHand("mine", "for everybody", "production")
	first, second := onto("first", lb, 80), onto("second", lb, 443)
	second.Namespace = "other"
	for _, svc := range []*v1.Service{first, second} {
		if got := env.ensure(svc, nodes).Ingress[0].IP; got != lb.VIP.Address {
			t.Errorf("published %s, want the VIP %s", got, lb.VIP.Address)
		}
		env.unchanged(svc, nodes)
	}
	for _, svc := range []*v1.Service{first, second} {
		env.delete(svc)
	}
	left := env.loadBalancer()
	if len(left.Listeners) != 0 || len(left.Pools) != 0 || left.Name != "mine" || !slices.Equal(left.Tags, []string{"production"}) {
		t.Errorf("left %d listeners and %d pools on %s %v", len(left.Listeners), len(left.Pools), left.Name, left.Tags)
	}
	env.floatingIPs(0)
}

//proves:58
func TestSharing_AllowsNoMoreServicesThanMaxSharedLB(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"max-shared-lb": "3"}})
	nodes := env.nodes(1)
	owner := service("owner", 2)
	env.ensure(owner, nodes)
	lb := env.loadBalancer()
	a, b := onto("a", lb, 443), onto("b", lb, 444)
	env.ensure(a, nodes)
	env.ensure(b, nodes)
	c := onto("c", lb, 445)
	env.Cloud.RequestLog.Reset()
	env.refused(c, nodes, "max-shared-lb of cloud.conf allows 3 Services")
	env.writes(0)
	// Deleted Services do not count.
	env.delete(a)
	env.ensure(c, nodes)
	// A Service that is on it stays, whatever the limit.
	env.Conf.LoadBalancer.MaxSharedLB = new(1)
	env.restart()
	b.Spec.Ports[0].NodePort = 32111
	env.ensure(b, nodes)
	env.unchanged(b, nodes)
}

//proves:61
func TestSharing_AcrossNamespacesNeedsConsent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scope, allows string
		refused       string
	}{
		"nobody allows it":                     {"", "", `that Namespace needs the annotation loadbalancer.openstack.org/allow-sharing-from: "shop"`},
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
			options := environmentOptions{}
			if test.scope != "" {
				options.keys = map[string]string{"shared-lb-scope": test.scope}
			}
			env := newEnvironment(t, options)
			env.sharing = map[string]string{"default": test.allows}
			nodes := env.nodes(1)
			owner := service("owner", 1)
			env.ensure(owner, nodes)
			guest := onto("guest", env.loadBalancer(), 443)
			guest.Namespace = "shop"
			env.Cloud.RequestLog.Reset()
			if test.refused == "" {
				env.ensure(guest, nodes)
				env.sharing = nil // a Service that is on it stays
				env.unchanged(guest, nodes)
				return
			}
			env.refused(guest, nodes, test.refused)
			env.writes(0)
			env.delete(guest)
			env.writes(0)
			env.unchanged(owner, nodes)
		})
	}
}

//proves:61,63
func TestSharing_AcrossClustersNeedsProjectScope(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"cluster", "project"} {
		env := newEnvironment(t, environmentOptions{keys: map[string]string{"shared-lb-scope": scope}})
		foreign, _ := env.controller(otherCluster)
		nodes := env.nodes(1)
		theirs := service("theirs", 1)
		if _, err := foreign.Ensure(env.ctx, theirs, nodes); err != nil {
			t.Fatal(err)
		}
		before := env.loadBalancer()
		ours := onto("ours", before, 443)
		if scope == "cluster" {
			env.Cloud.RequestLog.Reset()
			env.refused(ours, nodes, "shared-lb-scope=project")
			env.delete(ours)
			env.writes(0)
			continue
		}
		env.ensure(ours, nodes)
		env.unchanged(ours, nodes)
		if after := env.loadBalancer(); after.Name != before.Name || !slices.Equal(after.Tags, before.Tags) || len(after.Listeners) != 2 {
			t.Errorf("the load balancer was changed: %s %v, %d listeners", after.Name, after.Tags, len(after.Listeners))
		}
		if err := foreign.Delete(env.ctx, theirs); err != nil {
			t.Fatal(err)
		}
		env.loadBalancers(1)
		env.delete(ours) // the last of our cluster, but the load balancer belongs to another one
		if left := env.loadBalancer(); len(left.Listeners) != 0 {
			t.Errorf("%d listeners are left", len(left.Listeners))
		}
	}
}

//proves:58
func TestSharing_RefusesPortThatIsTakenInSameProtocol(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(1)
	owner := service("owner", 1)
	owner.Spec.Ports = append(owner.Spec.Ports, port(v1.ProtocolUDP, 53))
	env.ensure(owner, nodes)
	lb := env.loadBalancer()
	for what, guest := range map[string]*v1.Service{"TCP": onto("tcp", lb, 80), "UDP": onto("udp", lb, 53)} {
		guest.Spec.Ports[0].Protocol = v1.Protocol(what)
		env.Cloud.RequestLog.Reset()
		env.refused(guest, nodes, " of default/owner: choose another port")
		env.writes(0)
		env.delete(guest)
		env.writes(0)
	}
	env.ensure(onto("fits", lb, 53), nodes)
	env.unchanged(owner, nodes)
}

//proves:58,72
func TestSharing_CostsFewReadsWhenNodesChangeAndNothingAfterwards(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(3)
	owner := service("owner", 1)
	env.ensure(owner, nodes[:2])
	guest := onto("guest", env.loadBalancer(), 443)
	env.ensure(guest, nodes[:2])
	for _, test := range []struct {
		nodes []*v1.Node
		reads int
	}{
		{nodes, 12},    // the owner has not seen the guest's listener yet
		{nodes[1:], 6}, // for each a read before the change, one after it, and its result
		{nodes, 6},
	} {
		env.Cloud.RequestLog.Reset()
		env.ensure(owner, test.nodes)
		env.ensure(guest, test.nodes)
		env.writes(2)
		// The number of polls of a change depends on time.
		once := slices.CompactFunc(env.Cloud.RequestLog.Requests(), func(a, b requestlog.Request) bool { return a.Path == b.Path && a.Method == b.Method })
		if reads := len(once) - 2; reads > test.reads {
			t.Errorf("%d reads, want %d:\n%s", reads, test.reads, printed(env.Cloud.RequestLog.Requests()))
		}
	}
	env.Cloud.RequestLog.Reset()
	env.ensure(owner, nodes)
	env.ensure(guest, nodes)
	if all := env.Cloud.RequestLog.Requests(); len(all) > 0 {
		t.Errorf("requests for nothing:\n%s", printed(all))
	}
}

//proves:76
func TestSharing_SerializesWritesOfServices(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"max-shared-lb": "9"}})
	nodes := env.nodes(3)
	owner := service("owner", 1)
	env.ensure(owner, nodes[:2])
	lb := env.loadBalancer()
	services := []*v1.Service{owner}
	for i := range 5 {
		services = append(services, onto(fmt.Sprintf("guest-%d", i), lb, 1000+i))
	}
	env.Cloud.RequestLog.Reset()
	for range 2 {
		var all sync.WaitGroup
		for _, svc := range services {
			all.Go(func() {
				if _, err := env.engine.Ensure(env.ctx, svc, nodes); err != nil {
					t.Errorf("%s: %v", svc.Name, err)
				}
			})
		}
		all.Wait()
		nodes = nodes[:1]
	}
	for _, r := range env.Cloud.RequestLog.Requests() {
		if r.Status == http.StatusConflict {
			t.Errorf("in each other's way: %s %s", r.Method, r.Path)
		}
	}
	if got := env.loadBalancer(); len(got.Listeners) != 6 {
		t.Errorf("%d listeners, want 6", len(got.Listeners))
	}
	var all sync.WaitGroup
	for _, svc := range services {
		all.Go(func() {
			if err := env.engine.Delete(env.ctx, svc); err != nil {
				t.Errorf("%s: %v", svc.Name, err)
			}
		})
	}
	all.Wait()
	env.loadBalancers(0)
	env.floatingIPs(0)
}

// The annotation moves a Service from one load balancer to another.
//
//proves:58,93
func TestSharing_MovesServiceToNamedLoadBalancerAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarted %v", restarted), func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			moved := func() {
				if restarted {
					env.restart()
				}
			}
			nodes := env.nodes(1)
			one, two, svc := service("one", 1), service("two", 1), service("moving", 0)
			env.ensure(one, nodes)
			first := env.loadBalancer()
			env.ensure(two, nodes)
			second := env.loadBalancers(2)[1]
			svc.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, 443)}
			env.ensure(svc, nodes) // its own
			env.loadBalancers(3)
			env.floatingIPs(3)

			for _, to := range []struct {
				id            string
				balancers     int
				first, second int
			}{{first.ID, 2, 2, 1}, {second.ID, 2, 1, 2}, {"", 3, 1, 1}, {first.ID, 2, 2, 1}} {
				svc.Annotations[annotation.LoadBalancerID] = to.id
				moved()
				env.ensure(svc, nodes)
				now := env.loadBalancers(to.balancers)
				if len(now[0].Listeners) != to.first || len(now[1].Listeners) != to.second {
					t.Errorf("to %q: %d and %d listeners, want %d and %d", to.id, len(now[0].Listeners), len(now[1].Listeners), to.first, to.second)
				}
				env.floatingIPs(to.balancers)
				env.unchanged(svc, nodes)
			}
			env.unchanged(one, nodes)
			env.unchanged(two, nodes)
			env.delete(svc)
			env.loadBalancers(2)
			env.floatingIPs(2)
		})
	}
}

//proves:58
func TestDelete_LeavesNothingOnSharedLoadBalancerAfterServiceChanged(t *testing.T) {
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
				env := newEnvironment(t, environmentOptions{})
				nodes := env.nodes(1)
				one, two := service("one", 1), service("two", 1)
				env.ensure(one, nodes)
				lb := env.loadBalancer()
				env.ensure(two, nodes)
				svc := onto("svc", lb, 443)
				env.ensure(svc, nodes)
				change(svc, env.loadBalancers(2)[1].ID)
				if restarted {
					env.restart()
				}
				now := nowTime()
				svc.DeletionTimestamp = &now
				if _, exists, err := env.engine.Get(env.ctx, svc); err != nil || !exists {
					t.Errorf("Get: exists %v, error %v", exists, err)
				}
				env.delete(svc)
				for _, left := range env.loadBalancers(2) {
					if len(left.Listeners) != 1 || len(left.Pools) != 1 {
						t.Errorf("%s holds %v", left.Name, ports(left))
					}
				}
			})
		}
	}
}

//proves:58
func TestSharing_EndsInOwnLoadBalancerWhenSharedOneVanished(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(1)
	owner := service("owner", 1)
	env.ensure(owner, nodes)
	lb := env.loadBalancer()
	guest := onto("guest", lb, 443)
	env.ensure(guest, nodes)
	if err := env.Cloud.Octavia.Remove(lb.ID); err != nil {
		t.Fatal(err)
	}
	env.restart()
	env.ensure(owner, nodes)
	env.ensure(guest, nodes)
	env.loadBalancers(2)
	env.floatingIPs(2)
	env.unchanged(guest, nodes)
	env.delete(owner)
	env.delete(guest)
	env.loadBalancers(0)
	env.floatingIPs(0)
}

//proves:58
func TestSharing_RefusesAddressOtherThanThatOfLoadBalancer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(1)
	owner := service("owner", 1)
	address := env.ensure(owner, nodes).Ingress[0].IP
	guest := onto("guest", env.loadBalancer(), 443)
	guest.Spec.LoadBalancerIP = "127.200.9.9"
	env.Cloud.RequestLog.Reset()
	env.refused(guest, nodes, "spec.loadBalancerIP")
	env.writes(0)
	guest.Spec.LoadBalancerIP = address
	env.ensure(guest, nodes)
	env.floatingIPs(1)
	env.unchanged(guest, nodes)
}

// A record lacks the addresses of the load balancer: the next process does not report that it has others.
//
//proves:58
func TestSharing_ReportsNoOtherAddressAfterRestart(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(1)
	owner := service("owner", 1)
	env.ensure(owner, nodes)
	lb := env.loadBalancer()
	guest := onto("guest", lb, 443)
	guest.Annotations[annotation.Internal] = "true"
	guest.Spec.LoadBalancerIP = lb.VIP.Address
	env.ensure(guest, nodes)
	env.unchanged(guest, nodes)
	env.ensure(owner, nodes)
	env.writeDown(owner, guest)
	env.restart()
	env.ensure(guest, nodes)
	if got := env.emitted(); strings.Contains(got, "spec.loadBalancerIP") {
		t.Errorf("events:\n%s", got)
	}
}

// The owner of the records writes them; here that is the test.
//
//proves:58
func TestSharing_CostsOnlyCommonListsAfterRestart(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes := env.nodes(2)
	owner := service("owner", 1)
	env.ensure(owner, nodes)
	guest := onto("guest", env.loadBalancer(), 443)
	env.ensure(guest, nodes)
	env.ensure(owner, nodes[:1])
	env.writeDown(owner, guest)
	env.restart()
	env.Cloud.RequestLog.Reset()
	env.ensure(owner, nodes[:1])
	env.ensure(guest, nodes)
	for _, r := range env.Cloud.RequestLog.Requests() {
		if r.Route != lbRoute && r.Route != fipRoute && !strings.HasSuffix(r.Route, "/auth/tokens") || r.Method != http.MethodGet && !strings.HasSuffix(r.Route, "/auth/tokens") {
			t.Errorf("more than one look: %s %s", r.Method, r.Path)
		}
	}
	// A change can be based on them.
	guest.Spec.Ports[0].NodePort = 32555
	env.ensure(guest, nodes)
	env.unchanged(guest, nodes)
	env.unchanged(owner, nodes[:1])
}

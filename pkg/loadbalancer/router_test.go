package loadbalancer_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

const vipCIDR = "127.101.0.0/24"

// routed is a cloud with a network of VIPs on the router of the nodes, and a Service of provider router.
type routed struct {
	*environment
	endpoints *fakeEndpoints
	svc       *v1.Service
	pool      string
}

// newRouted returns a cloud with a controller that knows the network of VIPs. The Service has one port and
// endpoints on some nodes.
func newRouted(t *testing.T, endpoints string, options environmentOptions) *routed {
	t.Helper()
	f := &fakeEndpoints{}
	options.endpoints, options.services = f, &fakeServices{}
	options.keys = map[string]string{"manage-security-groups": "true"}
	env := newEnvironment(t, options)
	r := &routed{environment: env, endpoints: f, svc: env.routedService("web")}
	r.pool = r.anotherPool(vipCIDR)
	env.Conf.LoadBalancer.RouterVIPNetworkID = r.pool
	env.restart()
	f.on(r.svc, endpoints)
	env.Cloud.RequestLog.Reset()
	return r
}

func (env *environment) routedService(name string) *v1.Service {
	svc := service(name, 1)
	svc.Annotations[annotation.Provider] = "router"
	svc.Spec.Ports[0].NodePort = 0
	return svc
}

// vips returns the addresses of the ports in the network of VIPs.
func (r *routed) vips() []string {
	var all []string
	for _, port := range r.Cloud.Neutron.Ports() {
		if port.NetworkID == r.pool && port.DeviceOwner == "" {
			all = append(all, port.FixedIPs[0].Address)
		}
	}
	return all
}

// routes returns the routes of the router.
func (r *routed) routes() []string {
	var all []string
	for _, route := range r.Cloud.Neutron.Routers()[0].Routes {
		all = append(all, route.Destination+" via "+route.NextHop)
	}
	slices.Sort(all)
	return all
}

// reaches returns the addresses of the nodes that get a connection to an address from a client, and lost
// for those that do not get their share.
func (r *routed) reaches(address, client string, number int) string {
	r.T.Helper()
	ports, missing := r.Cloud.Neutron.Deliver(neutron.Packet{
		From: netip.MustParseAddr(client), To: netip.MustParseAddr(address), Protocol: "tcp", Port: number,
	})
	var all []string
	for _, port := range ports {
		all = append(all, port.FixedIPs[0].Address)
	}
	for _, hop := range missing {
		all = append(all, "lost at "+hop)
	}
	return strings.Join(all, " ")
}

func (r *routed) wantReach(address, client string, number int, want string) {
	r.T.Helper()
	if got := r.reaches(address, client, number); got != want {
		r.T.Errorf("%s from %s reaches %q, want %q", address, client, got, want)
	}
}

// noOctavia fails if a request was sent to Octavia.
func (r *routed) noOctavia() {
	r.T.Helper()
	if sent := r.Cloud.RequestLog.Requests(requestlog.Under("/load-balancer/v2.0")); len(sent) > 0 {
		r.T.Errorf("requests to Octavia:\n%s", printed(sent))
	}
}

func addresses(status *v1.LoadBalancerStatus) []string {
	var all []string
	for _, ingress := range status.Ingress {
		all = append(all, ingress.IP)
	}
	return all
}

// A Service gets a VIP, a route to a node with an endpoint, and a floating IP, without Octavia.
//
//proves:140
func TestRouter_LeadsFloatingIPToNodeWithEndpoint(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "1", environmentOptions{})
	nodes := r.nodes(3)
	status := r.ensure(r.svc, nodes)
	vips := r.vips()
	if len(status.Ingress) != 2 || len(vips) != 1 || status.Ingress[1].IP != vips[0] || *status.Ingress[1].IPMode != v1.LoadBalancerIPModeVIP {
		t.Fatalf("the status is %+v, the VIPs are %v", status, vips)
	}
	for _, address := range addresses(status) {
		r.wantReach(address, "203.0.113.9", 80, "127.100.1.11")
		r.wantReach(address, "203.0.113.9", 81, "lost at 127.100.1.11")
	}
	r.noOctavia()
	if events := r.emitted(); !strings.Contains(events, "next hops [] → [127.100.1.11]") {
		t.Errorf("events:\n%s", events)
	}
	r.Cloud.RequestLog.Reset()
	r.ensure(r.svc, nodes)
	if sent := r.Cloud.RequestLog.Requests(); len(sent) > 0 {
		t.Errorf("an unchanged Service costs\n%s", printed(sent))
	}
	r.unchanged(r.svc, nodes)
	r.wantReach(status.Ingress[0].IP, "203.0.113.9", 80, "127.100.1.11")
	r.noOctavia()
}

// kube-proxy only accepts the packets for the VIP if the status has it with ipMode VIP, whatever is published for users.
//
//proves:140
func TestRouter_PublishesVIPForKubeProxy(t *testing.T) {
	t.Parallel()
	const vipMode, proxyMode = v1.LoadBalancerIPModeVIP, v1.LoadBalancerIPModeProxy
	for _, test := range []struct {
		annotations map[string]string
		first       v1.LoadBalancerIPMode
		ingress     int
		told        bool
	}{
		{map[string]string{annotation.IPMode: "Proxy"}, proxyMode, 2, false},
		{map[string]string{annotation.IPMode: "Proxy", annotation.Internal: "true"}, vipMode, 1, true},
		{map[string]string{annotation.IPMode: "VIP", annotation.Internal: "true"}, vipMode, 1, false},
		{map[string]string{annotation.Hostname: "www.example.com"}, "", 2, false},
		{map[string]string{annotation.Hostname: "www.example.com", annotation.Internal: "true"}, "", 2, false},
	} {
		r := newRouted(t, "0", environmentOptions{})
		maps.Copy(r.svc.Annotations, test.annotations)
		ingress := r.ensure(r.svc, r.nodes(1)).Ingress
		if len(ingress) != test.ingress || ptr.Deref(ingress[0].IPMode, "") != test.first {
			t.Errorf("%v: the status is %+v", test.annotations, ingress)
		}
		if last := ingress[len(ingress)-1]; last.IP != r.vips()[0] || *last.IPMode != vipMode {
			t.Errorf("%v: kube-proxy gets %+v", test.annotations, last)
		}
		if told := strings.Contains(r.emitted(), "ip-mode: has no effect"); told != test.told {
			t.Errorf("%v: told %v", test.annotations, told)
		}
	}
}

// The second Service on a node takes four writes besides its security group. Neutron ignores tags in the first one.
//
//proves:140
func TestRouter_CreatesServiceWithFewestWrites(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	nodes := r.nodes(1)
	r.ensure(r.svc, nodes)
	r.Cloud.RequestLog.Reset()
	r.ensure(r.routedService("second"), nodes)
	var writes []string
	for _, sent := range r.Cloud.RequestLog.Requests(requestlog.Writes()) {
		if !strings.Contains(sent.Path, "security-group") && sent.Route != "/network/v2.0/ports/{id}" {
			writes = append(writes, sent.Method+" "+strings.TrimPrefix(sent.Route, "/network/v2.0/"))
		}
	}
	if want := []string{"POST ports", "PUT ports/{id}/tags", "PUT routers/{id}/add_extraroutes", "POST floatingips"}; !slices.Equal(writes, want) {
		t.Errorf("writes %q, want %q", writes, want)
	}
}

// The next hop stays while its node has an endpoint, and moves without a moment without a route.
//
//proves:140
func TestRouter_MovesOnlyWhenNodeHasNoEndpoint(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "1", environmentOptions{})
	nodes := r.nodes(3)
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	for _, step := range []struct{ endpoints, want string }{
		{"0 1 2", "127.100.1.11"}, {"1 2", "127.100.1.11"}, {"2", "127.100.1.12"}, {"0 1 2", "127.100.1.12"}, {"", "127.100.1.12"}, {"0", "127.100.1.10"},
	} {
		r.endpoints.on(r.svc, step.endpoints)
		before := r.routes()
		r.Cloud.RequestLog.Reset()
		r.ensure(r.svc, nodes)
		r.wantReach(address, "203.0.113.9", 80, step.want)
		if writes := len(r.Cloud.RequestLog.Requests(requestlog.Writes())); slices.Equal(before, r.routes()) && writes > 0 {
			t.Errorf("endpoints on %q: %d writes, and no route has changed", step.endpoints, writes)
		}
	}
	if all := r.routes(); len(all) != 1 {
		t.Errorf("routes %v", all)
	}
}

// With router-next-hops, a VIP leads to several nodes. Those with endpoints stay: each change ends connections.
//
//proves:140
func TestRouter_LeadsToSeveralNodesAndChangesOnlyThoseWithoutEndpoints(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0 1", environmentOptions{})
	r.Conf.LoadBalancer.RouterNextHops = 2
	nodes := r.nodes(3)
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	for _, step := range []struct{ endpoints, want string }{
		{"0 1", "127.100.1.10 127.100.1.11"}, {"0 1 2", "127.100.1.10 127.100.1.11"}, {"1 2", "127.100.1.11 127.100.1.12"}, {"2", "127.100.1.12"},
		{"", "127.100.1.12"}, {"0 2", "127.100.1.10 127.100.1.12"},
	} {
		r.endpoints.on(r.svc, step.endpoints)
		r.ensure(r.svc, nodes)
		got := strings.Fields(r.reaches(address, "203.0.113.9", 80))
		slices.Sort(got)
		if !slices.Equal(got, strings.Fields(step.want)) {
			t.Errorf("endpoints on %q: reaches %q, want %q", step.endpoints, got, step.want)
		}
	}
}

// Two Services on a node that is lost move with it, and a Service on another node does not.
func TestRouter_LeavesNodeThatIsGone(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0 1", environmentOptions{})
	nodes := r.nodes(2)
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	at := slices.IndexFunc(nodes, func(n *v1.Node) bool { return n.Status.Addresses[0].Address == r.reaches(address, "203.0.113.9", 80) })
	if at < 0 {
		t.Fatalf("the VIP leads to %q", r.reaches(address, "203.0.113.9", 80))
	}
	rest := slices.Delete(slices.Clone(nodes), at, at+1)
	r.ensure(r.svc, rest)
	r.wantReach(address, "203.0.113.9", 80, rest[0].Status.Addresses[0].Address)
}

// A deletion leaves nothing, and needs no Octavia.
//
//proves:140
func TestRouter_DeletesEverything(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		r := newRouted(t, "0", environmentOptions{})
		nodes := r.nodes(2)
		r.ensure(r.svc, nodes)
		if restarts {
			r.restart()
		}
		r.Cloud.RequestLog.Reset()
		if _, exists, err := r.engine.Get(r.ctx, r.svc); err != nil || !exists {
			t.Errorf("exists %v, %v", exists, err)
		}
		now := nowTime()
		r.svc.DeletionTimestamp = &now
		r.delete(r.svc)
		if len(r.vips()) != 0 || len(r.routes()) != 0 {
			t.Errorf("left are VIPs %v and routes %v", r.vips(), r.routes())
		}
		r.floatingIPs(0)
		r.noOctavia()
		if _, exists, err := r.engine.Get(r.ctx, r.svc); err != nil || exists {
			t.Errorf("after the deletion: exists %v, %v", exists, err)
		}
	}
}

// Whichever write fails or loses its answer, the next attempts complete the Service with one port, one
// route and one floating IP; a deletion then leaves nothing.
//
//proves:140
func TestRouter_RecoversFromEachFailedWrite(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		for write := 1; write <= 8; write++ {
			t.Run(fmt.Sprintf("write %d, lost %v", write, lost), func(t *testing.T) {
				t.Parallel()
				r := newRouted(t, "0", environmentOptions{hold: time.Second})
				nodes := r.nodes(1)
				r.Cloud.Faults.Add(faults.Rule{Route: "/network/**", FromWrite: write, Status: http.StatusServiceUnavailable, AfterWork: lost, Count: 1})
				var err error
				for range 5 {
					if _, err = r.engine.Ensure(r.ctx, r.svc, nodes); err == nil {
						break
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				if len(r.vips()) != 1 || len(r.routes()) != 1 {
					t.Errorf("VIPs %v, routes %v", r.vips(), r.routes())
				}
				r.floatingIPs(1)
				r.wantReach(r.Cloud.Neutron.FloatingIPs()[0].Address, "203.0.113.9", 80, "127.100.1.10")
				_ = r.engine.Delete(r.ctx, r.svc) // it may wait for a port of an earlier request
				await.Condition(t, "everything is deleted", func() bool {
					return len(r.vips()) == 0 && len(r.routes()) == 0 && len(r.Cloud.Neutron.FloatingIPs()) == 0
				})
			})
		}
	}
}

// A process ends after it has created the port of a VIP, and before the port has its tags. The Service is deleted
// before the next process has tried again.
//
//proves:140
func TestRouter_DeletesPortOfInterruptedCreation(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	nodes := r.nodes(1)
	r.Cloud.Faults.Add(faults.Rule{Method: http.MethodPut, Route: "/network/v2.0/ports/*/tags", Status: http.StatusServiceUnavailable})
	if _, err := r.engine.Ensure(r.ctx, r.svc, nodes); err == nil || len(r.vips()) != 1 {
		t.Fatalf("got %v, and VIPs %v", err, r.vips())
	}
	r.Cloud.Faults.Clear()
	r.restart()
	r.svc.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	if _, exists, err := r.engine.Get(r.ctx, r.svc); err != nil || !exists { // the service controller deletes nothing then
		t.Errorf("exists %v, error %v", exists, err)
	}
	r.delete(r.svc)
	if left := r.vips(); len(left) > 0 {
		t.Errorf("ports are left: %v", left)
	}
}

// A Service that prefers both IP families is served in the first one, and an event reports the other one.
//
//proves:140
func TestRouter_ReportsIPFamilyThatItDoesNotServe(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	dual(r.svc, prefer, v1.IPv4Protocol, v1.IPv6Protocol)
	r.ensure(r.svc, r.nodes(1))
	if text := r.emitted(); strings.Count(text, "spec.ipFamilyPolicy: PreferDualStack: the load balancer serves only IPv4") != 1 {
		t.Errorf("events: %s", text)
	}
}

// What the provider cannot do is refused before the first write.
//
//proves:140
func TestRouter_RefusesBeforeFirstWrite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what   string
		change func(*routed)
		want   string
	}{
		{"no network", func(r *routed) { r.Conf.LoadBalancer.RouterVIPNetworkID = "" }, "router-vip-network-id"},
		{"network of the nodes", func(r *routed) { r.Conf.LoadBalancer.RouterVIPNetworkID = r.Cloud.Network.ID }, "must be without nodes"},
		{"network without router", func(r *routed) {
			other := r.Cloud.Neutron.AddNetwork(neutron.NetworkSpec{Name: "lonely", ProjectID: r.Cloud.Account.ProjectID})
			if _, err := r.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{NetworkID: other.ID, CIDR: "127.102.0.0/24"}); err != nil {
				r.T.Fatal(err)
			}
			r.Conf.LoadBalancer.RouterVIPNetworkID = other.ID
		}, "no router that this project sees is the gateway"},
		{"two subnets", func(r *routed) {
			if _, err := r.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{NetworkID: r.pool, CIDR: "127.102.0.0/24"}); err != nil {
				r.T.Fatal(err)
			}
		}, "has 2 subnets of IPv4"},
		{"PROXY protocol", func(r *routed) { r.svc.Annotations[annotation.ProxyProtocol] = "true" }, "the provider router has no PROXY protocol"},
		{"port of the kubelet", func(r *routed) { r.svc.Spec.Ports[0].Port = 10250 }, "is a port of the nodes themselves"},
		{"sharing", func(r *routed) { r.svc.Annotations[annotation.Share] = "web" }, "no load balancers to share"},
		{"monitors", func(r *routed) { r.svc.Annotations[annotation.Monitor] = "true" }, "no health monitors"},
		{"pods as members", func(r *routed) { r.Conf.LoadBalancer.Members = annotation.MembersPods }, "leads to nodes"},
		{"no cluster identity", func(r *routed) { r.clusterUID = "" }, "kube-system"},
		{"served by Octavia", func(r *routed) { r.svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "127.200.0.77"}} }, "cannot change to router"},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			r := newRouted(t, "0", environmentOptions{})
			nodes := r.nodes(1)
			test.change(r)
			r.restart()
			r.Cloud.RequestLog.Reset()
			_, err := r.engine.Ensure(r.ctx, r.svc, nodes)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			r.writes(0)
		})
	}
}

// Source ranges are enforced by the nodes' security groups. Two Services with the same port cannot have
// different ones.
//
//proves:140
func TestRouter_EnforcesSourceRanges(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	nodes := r.nodes(1)
	r.svc.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	r.wantReach(address, "198.51.100.7", 80, "127.100.1.10")
	r.wantReach(address, "203.0.113.9", 80, "lost at 127.100.1.10")
	other := r.routedService("other")
	if _, err := r.engine.Ensure(r.ctx, other, nodes); err == nil || !strings.Contains(err.Error(), "TCP/80 with other source ranges") {
		t.Errorf("error %v", err)
	}
	r.svc.Status.LoadBalancer = *r.ensure(r.svc, nodes)
	r.options.services.apply(r.svc, other)
	r.restart() // the other one is the first that this process sees
	if _, err := r.engine.Ensure(r.ctx, other, nodes); err == nil || !strings.Contains(err.Error(), "TCP/80 with other source ranges") {
		t.Errorf("error %v after a restart", err)
	}
	r.wantReach(address, "203.0.113.9", 80, "lost at 127.100.1.10")
	r.ensure(r.svc, nodes)
	other.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
	r.ensure(other, nodes)
	r.remove(other)
	r.svc.Spec.Ports[0].Port = 81
	r.ensure(r.svc, nodes)
	r.ensure(r.routedService("open"), nodes)
}

// A node on which source ranges would not be enforced gets no route, and the Service follows its other nodes.
func TestRouter_FollowsNodesBesideOneThatEnforcesNoSourceRanges(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	nodes := r.nodes(3)
	r.unfiltered(nodes[2])
	r.svc.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
	address := r.ensure(r.svc, nodes[:2]).Ingress[0].IP
	r.endpoints.on(r.svc, "1 2")
	r.refused(r.svc, nodes[1:], "follows its nodes or pods")
	r.wantReach(address, "198.51.100.7", 80, "127.100.1.11")
	r.wantReach(address, "203.0.113.9", 80, "lost at 127.100.1.11")
}

// Services of other providers do not depend on the network of VIPs, also if they have VIPs in it.
func TestRouter_LeavesServicesOfOtherProvidersAlone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what   string
		change func(*routed, *v1.Service)
	}{
		{"network of VIPs with a second subnet", func(r *routed, _ *v1.Service) {
			if _, err := r.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{NetworkID: r.pool, CIDR: "127.102.0.0/24"}); err != nil {
				r.T.Fatal(err)
			}
		}},
		{"VIP in the network of VIPs", func(r *routed, svc *v1.Service) {
			svc.Annotations[annotation.NetworkID], svc.Annotations[annotation.Internal] = r.pool, "true"
		}},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			r := newRouted(t, "0", environmentOptions{})
			svc := service("octavia", 1)
			test.change(r, svc)
			nodes := r.nodes(2)
			svc.Status.LoadBalancer = *r.ensure(svc, nodes[:1])
			r.restart()
			r.ensure(svc, nodes)
			r.membersAre(nodes)
		})
	}
}

// A node in the network of VIPs, or with another gateway, is no next hop, and the others serve.
func TestRouter_SkipsNodesThatCannotBeNextHops(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0 1", environmentOptions{})
	nodes := r.nodes(2)
	nodes[0].Status.Addresses[0].Address = "127.101.0.200"
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	r.wantReach(address, "203.0.113.9", 80, "127.100.1.11")
	if events := r.emitted(); !strings.Contains(events, "NodeSkipped") || !strings.Contains(events, "must be without nodes: node-0") {
		t.Errorf("events:\n%s", events)
	}
}

// A port without an address, and a network that is no pool of VIPs any more, hinder no other Service and no deletion.
//
//proves:140
func TestRouter_IgnoresPortsThatServeNobody(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	nodes := r.nodes(1)
	r.ensure(r.svc, nodes)
	bare := r.routedService("bare")
	r.ensure(bare, nodes)
	for _, port := range r.Cloud.Neutron.Ports() {
		if len(port.FixedIPs) > 0 && port.FixedIPs[0].Address == bare.Status.LoadBalancer.Ingress[1].IP {
			if _, err := r.Cloud.Neutron.UpdatePort(port.ID, neutron.PortUpdate{FixedIPs: &[]neutron.FixedIP{}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.repair(bare, nodes)
	r.restart()
	for _, svc := range []*v1.Service{r.svc, bare} {
		r.wantReach(r.ensure(svc, nodes).Ingress[0].IP, "203.0.113.9", 80, "127.100.1.10")
	}
	if len(r.vips()) != 2 {
		t.Errorf("VIPs %v", r.vips())
	}
	if _, err := r.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{NetworkID: r.pool, CIDR: "127.102.0.0/24"}); err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.remove(r.svc)
	r.remove(bare)
	if len(r.vips()) != 0 || len(r.routes()) != 0 {
		t.Errorf("left are VIPs %v and routes %v", r.vips(), r.routes())
	}
}

// A router has room for so many Services as cloud.conf permits, and as Neutron permits.
//
//proves:140
func TestRouter_RefusesServiceBeyondRoutes(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{simulator: simulator.Options{Neutron: func(o *neutron.Options) { o.MaxRoutes = 1 }}})
	nodes := r.nodes(1)
	r.ensure(r.svc, nodes)
	if _, err := r.engine.Ensure(r.ctx, r.routedService("full"), nodes); err == nil || !strings.Contains(err.Error(), "max_routes") {
		t.Errorf("error %v", err)
	}
	r.floatingIPs(1)
	r.Conf.LoadBalancer.RouterMaxRoutes = 1
	r.Cloud.RequestLog.Reset()
	if _, err := r.engine.Ensure(r.ctx, r.routedService("refused"), nodes); err == nil || !strings.Contains(err.Error(), "router-max-routes") {
		t.Errorf("error %v", err)
	}
	r.writes(0)
}

// A refused Service keeps its VIP, which follows the nodes.
//
//proves:140
func TestRouter_KeepsRefusedServiceOnItsNodes(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	nodes := r.nodes(2)
	address := r.ensure(r.svc, nodes).Ingress[0].IP
	r.svc.Annotations[annotation.ProxyProtocol] = "true"
	r.restart()
	r.endpoints.on(r.svc, "1")
	if _, err := r.engine.Ensure(r.ctx, r.svc, nodes); err == nil || !strings.Contains(err.Error(), "PROXY protocol") {
		t.Errorf("error %v", err)
	}
	r.wantReach(address, "203.0.113.9", 80, "127.100.1.11")
	delete(r.svc.Annotations, annotation.Provider)
	if _, err := r.engine.Ensure(r.ctx, r.svc, nodes); err == nil || !strings.Contains(err.Error(), "cannot change to another provider") {
		t.Errorf("error %v", err)
	}
	r.wantReach(address, "203.0.113.9", 80, "127.100.1.11")
}

// A refused Service keeps the ports that are open for it. Its other ports may be those of the nodes, such as SSH, or
// of another Service with other source ranges.
//
//proves:140
func TestRouter_OpensNoPortOfRefusedService(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		for _, port := range []int32{22, 10250, 443} {
			t.Run(fmt.Sprint(mode, port), func(t *testing.T) {
				t.Parallel()
				r := newRouted(t, "0", environmentOptions{})
				r.Conf.LoadBalancer.SecurityGroupMode = mode
				r.restart()
				nodes := r.nodes(2)
				owner := r.routedService("owner")
				owner.Spec.Ports[0].Port = 443
				owner.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
				r.endpoints.on(owner, "0")
				owner.Status.LoadBalancer = *r.ensure(owner, nodes)
				r.svc.Status.LoadBalancer = *r.ensure(r.svc, nodes)
				address := r.svc.Status.LoadBalancer.Ingress[0].IP
				r.svc.Spec.Ports = append(r.svc.Spec.Ports, v1.ServicePort{Name: "more", Protocol: v1.ProtocolTCP, Port: port})
				r.options.services.apply(r.svc, owner)
				for _, restarts := range []bool{false, true} {
					if restarts {
						r.restart()
						r.ensure(owner, nodes)
					}
					if _, err := r.engine.Ensure(r.ctx, r.svc, nodes); err == nil {
						t.Errorf("restarts %v: not refused", restarts)
					}
					r.wantReach(address, "203.0.113.9", int(port), "lost at 127.100.1.10")
					r.wantReach(address, "203.0.113.9", 80, "127.100.1.10")
				}
				r.endpoints.on(r.svc, "1")
				if _, err := r.engine.Ensure(r.ctx, r.svc, nodes); err == nil {
					t.Error("not refused on another node")
				}
				r.wantReach(address, "203.0.113.9", int(port), "lost at 127.100.1.11")
				r.wantReach(address, "203.0.113.9", 80, "127.100.1.11")
				r.endpoints.on(owner, "1")
				r.ensure(owner, nodes) // it still has its port
			})
		}
	}
}

// An internal Service has its VIP only.
func TestRouter_GivesInternalServiceNoFloatingIP(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	nodes := r.nodes(1)
	r.svc.Annotations[annotation.Internal] = "true"
	r.svc.Spec.LoadBalancerIP = "127.101.0.40"
	status := r.ensure(r.svc, nodes)
	if got := addresses(status); !slices.Equal(got, []string{"127.101.0.40"}) {
		t.Errorf("status %v", got)
	}
	r.floatingIPs(0)
	r.wantReach("127.101.0.40", "203.0.113.9", 80, "127.100.1.10")
}

// Changes of other clients are found and reverted: of the port, the routes and the floating IP.
//
//proves:140
func TestRouter_RevertsChangesOfOthers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what   string
		change func(*routed) error
	}{
		{"route removed", func(r *routed) error { return r.Cloud.Neutron.SetRoutes(r.Cloud.Router.ID, nil) }},
		{"second route", func(r *routed) error {
			return r.Cloud.Neutron.SetRoutes(r.Cloud.Router.ID, []neutron.Route{
				{Destination: r.vips()[0] + "/32", NextHop: "127.100.1.10"}, {Destination: r.vips()[0] + "/32", NextHop: "127.100.1.11"},
			})
		}},
		{"floating IP deleted", func(r *routed) error { return r.Cloud.Neutron.ReleaseFloatingIP(r.Cloud.Neutron.FloatingIPs()[0].ID) }},
		{"address pair of the node removed", func(r *routed) error {
			for _, port := range r.Cloud.Neutron.Ports() {
				if len(port.FixedIPs) > 0 && port.FixedIPs[0].Address == "127.100.1.10" {
					_, err := r.Cloud.Neutron.UpdatePort(port.ID, neutron.PortUpdate{AddressPairs: &[]neutron.AddressPair{}})
					return err
				}
			}
			return nil
		}},
		{"port deleted", func(r *routed) error {
			for _, port := range r.Cloud.Neutron.Ports() {
				if port.NetworkID == r.pool && port.DeviceOwner == "" {
					return r.Cloud.Neutron.DeletePort(port.ID)
				}
			}
			return nil
		}},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			r := newRouted(t, "0", environmentOptions{})
			nodes := r.nodes(2)
			r.ensure(r.svc, nodes)
			if err := test.change(r); err != nil {
				t.Fatal(err)
			}
			r.repair(r.svc, nodes)
			r.floatingIPs(1)
			r.wantReach(r.Cloud.Neutron.FloatingIPs()[0].Address, "203.0.113.9", 80, "127.100.1.10")
			if len(r.vips()) != 1 || len(r.routes()) != 1 {
				t.Errorf("VIPs %v, routes %v", r.vips(), r.routes())
			}
		})
	}
}

// A preview has all steps, and writes nothing.
//
//proves:140
func TestRouter_IsPreviewed(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	nodes := r.nodes(1)
	preview, err := r.engine.Preview(r.ctx, r.svc, nodes)
	if err != nil || preview.Refusal != nil {
		t.Fatalf("%+v, %v", preview.Refusal, err)
	}
	var steps []string
	for _, step := range preview.Steps {
		steps = append(steps, step.Text)
	}
	text := strings.Join(steps, "\n")
	for _, want := range []string{"VIP: create in subnet", "VIP made last: next hops [] → [127.100.1.10]", "floating IP: create"} {
		if !strings.Contains(text, want) {
			t.Errorf("steps\n%s\nwant %q", text, want)
		}
	}
	if preview.LoadBalancerChanges() != 0 {
		t.Errorf("%d changes of load balancers", preview.LoadBalancerChanges())
	}
	r.writes(0)
	r.noOctavia()
	r.ensure(r.svc, nodes)
	if preview, err = r.engine.Preview(r.ctx, r.svc, nodes); err != nil || len(preview.Steps) > 0 {
		t.Errorf("afterwards %+v, %v", preview.Steps, err)
	}
}

// A preview counts the writes of each change: tags of the VIP, address pairs on the ports of nodes that have none yet, and
// a request each for routes that come and go.
//
//proves:140
func TestRouter_IsForetold(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{})
	nodes := r.nodes(3)
	for _, change := range []struct {
		name   string
		do     func()
		writes int
	}{
		{"created", func() {}, 13},
		{"its node has no endpoint any more", func() { r.endpoints.on(r.svc, "1") }, 3},
		{"back on a node with an address pair", func() { r.endpoints.on(r.svc, "0") }, 2},
		{"two next hops, after a restart", func() {
			r.Conf.LoadBalancer.RouterNextHops = 2
			r.restart()
			r.endpoints.on(r.svc, "0 2")
		}, 2},
		{"unchanged after a restart", func() { r.restart() }, 0},
		{"internal", func() { r.svc.Annotations[annotation.Internal] = "true" }, 1},
		{"deleted", func() {
			now := nowTime()
			r.svc.DeletionTimestamp = &now
		}, 3},
	} {
		change.do()
		if p := r.foretold(r.svc, nodes); p.Writes() != change.writes {
			t.Errorf("%s: %d writes, want %d: %+v", change.name, p.Writes(), change.writes, p.Steps)
		}
	}
}

// A Service of IPv6 has a VIP of its family, and needs no floating IP. UDP takes the same way.
//
//proves:140
func TestRouter_ServesIPv6AndUDP(t *testing.T) {
	t.Parallel()
	r := newRouted(t, "0", environmentOptions{simulator: simulator.Options{Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"}}})
	subnet, err := r.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{NetworkID: r.pool, CIDR: "fd00:77::/64"})
	if err == nil {
		err = r.Cloud.Neutron.AddRouterInterface(r.Cloud.Router.ID, subnet.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	node := r.node(0)
	server := strings.TrimPrefix(node.Spec.ProviderID, "openstack:///")
	for _, port := range r.Cloud.Neutron.Ports() {
		both := []neutron.FixedIP{{SubnetID: r.Cloud.Subnet.ID, Address: "127.100.1.10"}, {SubnetID: r.Cloud.SubnetV6.ID, Address: "fd00:6::10"}}
		if port.DeviceID == server {
			if _, err := r.Cloud.Neutron.UpdatePort(port.ID, neutron.PortUpdate{FixedIPs: &both}); err != nil {
				t.Fatal(err)
			}
		}
	}
	node.Status.Addresses = append(node.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: "fd00:6::10"})
	v6 := slices.Clone(r.endpoints.of)
	v6[0].Family = v1.IPv6Protocol
	r.endpoints.set(v6)
	r.svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol}
	r.svc.Spec.Ports[0].Protocol = v1.ProtocolUDP
	status := r.ensure(r.svc, []*v1.Node{node})
	if len(status.Ingress) != 1 || !strings.HasPrefix(status.Ingress[0].IP, "fd00:77::") {
		t.Fatalf("status %+v", status)
	}
	if want := []string{status.Ingress[0].IP + "/128 via fd00:6::10"}; !slices.Equal(r.routes(), want) {
		t.Errorf("routes %v, want %v", r.routes(), want)
	}
	r.floatingIPs(0)
}

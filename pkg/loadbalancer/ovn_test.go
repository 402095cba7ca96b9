package loadbalancer_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/books"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// ovnOfZed is a cloud whose provider ovn loses the monitors of full creates, hangs
// when a listener is made beside a monitor, and forgets listeners and pools when
// monitors change.
func ovnOfZed(t *testing.T) *world {
	t.Helper()
	return newWorld(t, worldOptions{
		simulator: simulator.Options{Release: "zed"},
		keys:      map[string]string{"lb-provider": "ovn", "create-monitor": "true"},
	})
}

// sound fails unless everything in the load balancer is ACTIVE, with so many
// monitors.
func (w *world) sound(monitors int) {
	w.t.Helper()
	if unsettled := w.cloud.Octavia.Unsettled(); len(unsettled) > 0 {
		w.t.Fatalf("left in a PENDING state: %v", unsettled)
	}
	for _, pool := range w.loadBalancer().Pools {
		if pool.Monitor != nil {
			monitors--
		}
	}
	if monitors != 0 {
		w.t.Errorf("%d monitors are missing", monitors)
	}
}

// asked counts writes below a collection: "POST healthmonitors" and the like.
func (w *world) asked() map[string]int {
	counts := map[string]int{}
	for _, r := range w.cloud.Books.Requests(books.Writes(), books.Under("/load-balancer")) {
		counts[r.Method+" "+strings.TrimPrefix(r.Route, "/load-balancer/v2.0/lbaas/")]++
	}
	return counts
}

func TestOvnOfZedGetsMonitorsAfterTheLoadBalancer(t *testing.T) {
	t.Parallel()
	w := ovnOfZed(t)
	nodes, svc := w.nodes(2), service("web", 2)
	w.ensure(svc, nodes)
	w.sound(2)
	w.writes(6) // load balancer, floating IP; a monitor and its pool brought back for each port
	w.unchanged(svc, nodes)
}

func TestOvnOfZedGetsNoListenerBesideAMonitor(t *testing.T) {
	t.Parallel()
	w := ovnOfZed(t)
	nodes, svc := w.nodes(2), service("web", 2)
	w.ensure(svc, nodes)
	w.cloud.Books.Reset()
	svc.Spec.Ports = append(svc.Spec.Ports[1:], port(v1.ProtocolTCP, 8080))
	w.ensure(svc, nodes)
	monitors := 2
	for _, r := range w.cloud.Books.Requests() {
		switch r.Method + " " + strings.TrimPrefix(r.Route, "/load-balancer/v2.0/lbaas/") {
		case "POST healthmonitors":
			monitors++
		case "DELETE healthmonitors/{id}":
			monitors--
		case "POST listeners":
			if monitors > 0 {
				t.Errorf("a listener is made while there are %d monitors", monitors)
			}
		}
	}
	w.sound(2)
	w.unchanged(svc, nodes)
}

func TestOvnOfZedGetsAListenerBesideAMonitorOfAnotherProtocol(t *testing.T) {
	t.Parallel()
	w := ovnOfZed(t)
	nodes, svc := w.nodes(2), service("web", 1)
	w.ensure(svc, nodes)
	w.cloud.Books.Reset()
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolUDP, 53))
	w.ensure(svc, nodes)
	if n := w.asked()["DELETE healthmonitors/{id}"]; n > 0 {
		t.Errorf("%d monitors are deleted that are in nobody's way", n)
	}
	w.sound(2)
	w.unchanged(svc, nodes)
}

// A guest's listener would hang the load balancer beside a monitor of the owner.
//
//proves:58
func TestOvnOfZedTakesNoGuestBesideAMonitor(t *testing.T) {
	t.Parallel()
	w := ovnOfZed(t)
	nodes, owner := w.nodes(2), service("owner", 1)
	w.ensure(owner, nodes)
	w.refused(onto("guest", w.loadBalancer(), 443), nodes, "created beside a health monitor, that of listener ")
	udp := onto("guest", w.loadBalancer(), 53)
	udp.Spec.Ports[0].Protocol = v1.ProtocolUDP
	w.ensure(udp, nodes)
	w.sound(2)
	w.unchanged(owner, nodes)
}

func TestOvnOfZedForgetsNothingWhenAServiceChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change   func(*v1.Service)
		monitors int
		writes   int // what changes, and what is brought back
	}{
		"a monitor's delay":      {func(svc *v1.Service) { svc.Annotations[annotation.MonitorDelay] = "30" }, 2, 2 + 2},
		"monitors off":           {func(svc *v1.Service) { svc.Annotations[annotation.Monitor] = "false" }, 0, 2 + 2},
		"a port less":            {func(svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[1:] }, 1, 3 + 4}, // the other monitor went blind
		"another port of a node": {func(svc *v1.Service) { svc.Spec.Ports[0].NodePort = 31000 }, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ovnOfZed(t)
			nodes, svc := w.nodes(2), service("web", 2)
			w.ensure(svc, nodes)
			w.cloud.Books.Reset()
			test.change(svc)
			w.ensure(svc, nodes)
			w.writes(test.writes)
			w.sound(test.monitors)
			w.unchanged(svc, nodes)
		})
	}
}

// Its driver lets all monitors of a transport go blind when one is deleted.
func TestMonitorsOfOvnOfZedSeeAfterAPortIsGone(t *testing.T) {
	t.Parallel()
	w := ovnOfZed(t)
	nodes, svc := w.nodes(2), service("web", 3)
	w.ensure(svc, nodes)
	svc.Spec.Ports = svc.Spec.Ports[1:]
	w.ensure(svc, nodes)
	for _, pool := range w.loadBalancer().Pools {
		if err := w.cloud.Octavia.SetMemberOperatingStatus(pool.Members[0].ID, simoctavia.Error); err != nil {
			t.Fatal(err)
		}
	}
	for _, pool := range w.loadBalancer().Pools {
		if got := pool.Members[0].OperatingStatus; got != simoctavia.Error {
			t.Errorf("member of %s is %s", pool.Name, got)
		}
	}
}

func TestOvnOfZedIsLeftWellAfterACrashAnywhere(t *testing.T) {
	t.Parallel()
	w := ovnOfZed(t)
	w.stuckSoon()
	nodes, svc := w.nodes(2), service("web", 2)
	w.ensure(svc, nodes)
	svc.Annotations[annotation.Monitor] = "false"
	w.ensure(svc, nodes)
	for _, last := range []struct {
		method, route string
		from          int
	}{
		{http.MethodPost, "healthmonitors", 2}, {http.MethodPut, "pools/*", 1}, {http.MethodPut, "pools/*", 2},
	} {
		fault := faultOn(last.method, "/load-balancer/v2.0/lbaas/"+last.route, http.StatusForbidden)
		fault.From = last.from
		w.cloud.Faults.Add(fault)
		svc.Annotations[annotation.Monitor] = "true"
		if _, err := w.engine.Ensure(w.ctx, svc, nodes); err == nil {
			t.Errorf("no crash at %s %s", last.method, last.route)
		}
		w.cloud.Faults.Clear()
		w.restart()
		w.ensure(svc, nodes)
		w.sound(2)
		svc.Annotations[annotation.Monitor] = "false"
		w.ensure(svc, nodes)
		w.sound(0)
	}
}

// A load balancer that somebody made in one request has monitors that ovn of Zed
// never heard of: they do nothing, and changing or deleting one hangs the load
// balancer. Their pools are replaced.
func TestMonitorsThatOvnOfZedLostAreMadeAnew(t *testing.T) {
	t.Parallel()
	w := ovnOfZed(t)
	w.stuckSoon()
	nodes, svc := w.nodes(2), service("web", 2)
	svc.Annotations[annotation.LoadBalancerID] = fullByHand(t, w, svc, nodes)
	w.cloud.Books.Reset()
	w.ensure(svc, nodes)
	for _, r := range w.cloud.Books.Requests(books.Writes()) {
		if strings.Contains(r.Path, "/healthmonitors/") {
			t.Errorf("the load balancer hangs after %s %s", r.Method, r.Path)
		}
	}
	w.sound(2)
	if n := len(w.loadBalancer().Pools); n != 2 {
		t.Errorf("%d pools", n)
	}
	w.unchanged(svc, nodes)
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 8080))
	w.ensure(svc, nodes)
	w.sound(3)
}

// fullByHand makes what a Service needs in one request, monitors included.
func fullByHand(t *testing.T, w *world, svc *v1.Service, nodes []*v1.Node) string {
	t.Helper()
	session, err := openstack.NewSession(w.ctx, w.conf.Global, openstack.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	opts := loadbalancers.CreateOpts{Name: "kube_service_kubernetes_default_web", Provider: "ovn", VipSubnetID: w.cloud.Subnet.ID}
	for _, p := range svc.Spec.Ports {
		pool := pools.CreateOpts{
			Name: "pool_" + p.Name, Protocol: pools.ProtocolTCP, LBMethod: "SOURCE_IP_PORT",
			Monitor: monitors.CreateOpts{Type: "TCP", Delay: 5, Timeout: 3, MaxRetries: 1},
		}
		for _, node := range nodes {
			pool.Members = append(pool.Members, pools.CreateMemberOpts{
				Name: node.Name, Address: node.Status.Addresses[0].Address, ProtocolPort: int(p.NodePort), SubnetID: w.cloud.Subnet.ID,
			})
		}
		opts.Listeners = append(opts.Listeners, listeners.CreateOpts{
			Name: "listener_" + p.Name, Protocol: listeners.ProtocolTCP, ProtocolPort: int(p.Port), DefaultPool: &pool,
			Tags: []string{opts.Name},
		})
	}
	made, err := session.Octavia().CreateLoadBalancer(w.ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

package loadbalancer_test

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simoctavia "github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// ovnOfZed returns a cloud with a provider ovn that loses the monitors of full creations, hangs if
// a listener is created beside a monitor, and forgets listeners and pools when monitors change.
func ovnOfZed(t *testing.T) *environment {
	t.Helper()
	return newEnvironment(t, environmentOptions{
		simulator: simulator.Options{Release: "zed"},
		keys:      map[string]string{"lb-provider": "ovn", "create-monitor": "true"},
	})
}

// sound fails unless all objects of the load balancer are ACTIVE, with so many monitors.
func (env *environment) sound(monitors int) {
	env.T.Helper()
	if unsettled := env.Cloud.Octavia.Unsettled(); len(unsettled) > 0 {
		env.T.Fatalf("left in a PENDING state: %v", unsettled)
	}
	for _, pool := range env.loadBalancer().Pools {
		if pool.Monitor != nil {
			monitors--
		}
	}
	if monitors != 0 {
		env.T.Errorf("%d monitors are missing", monitors)
	}
}

// asked counts writes below collections, by keys such as "POST healthmonitors".
func (env *environment) asked() map[string]int {
	counts := map[string]int{}
	for _, r := range env.Cloud.RequestLog.Requests(requestlog.Writes(), requestlog.Under("/load-balancer")) {
		counts[r.Method+" "+strings.TrimPrefix(r.Route, "/load-balancer/v2.0/lbaas/")]++
	}
	return counts
}

func TestOVN_OfZedGetsMonitorsAfterLoadBalancer(t *testing.T) {
	t.Parallel()
	env := ovnOfZed(t)
	nodes, svc := env.nodes(2), service("web", 2)
	env.ensure(svc, nodes)
	env.sound(2)
	env.writes(6) // load balancer, floating IP; for each port a monitor, and its pool restored
	env.unchanged(svc, nodes)
}

func TestOVN_OfZedGetsNoListenerBesideMonitor(t *testing.T) {
	t.Parallel()
	env := ovnOfZed(t)
	nodes, svc := env.nodes(2), service("web", 2)
	env.ensure(svc, nodes)
	env.Cloud.RequestLog.Reset()
	svc.Spec.Ports = append(svc.Spec.Ports[1:], port(v1.ProtocolTCP, 8080))
	env.ensure(svc, nodes)
	monitors := 2
	for _, r := range env.Cloud.RequestLog.Requests() {
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
	env.sound(2)
	env.unchanged(svc, nodes)
}

func TestOVN_OfZedGetsListenerBesideMonitorOfOtherProtocol(t *testing.T) {
	t.Parallel()
	env := ovnOfZed(t)
	nodes, svc := env.nodes(2), service("web", 1)
	env.ensure(svc, nodes)
	env.Cloud.RequestLog.Reset()
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolUDP, 53))
	env.ensure(svc, nodes)
	if n := env.asked()["DELETE healthmonitors/{id}"]; n > 0 {
		t.Errorf("%d monitors are deleted that are in nobody's way", n)
	}
	env.sound(2)
	env.unchanged(svc, nodes)
}

// Beside a monitor of the owner, a guest's listener would hang the load balancer.
//
//proves:58
func TestOVN_OfZedTakesNoGuestBesideMonitorOfSameProtocol(t *testing.T) {
	t.Parallel()
	env := ovnOfZed(t)
	nodes, owner := env.nodes(2), service("owner", 1)
	env.ensure(owner, nodes)
	env.refused(onto("guest", env.loadBalancer(), 443), nodes, "created beside a health monitor, that of listener ")
	udp := onto("guest", env.loadBalancer(), 53)
	udp.Spec.Ports[0].Protocol = v1.ProtocolUDP
	env.ensure(udp, nodes)
	env.sound(2)
	env.unchanged(owner, nodes)
}

func TestOVN_OfZedForgetsNothingWhenServiceChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change   func(*v1.Service)
		monitors int
		writes   int // of the change itself, and of the restored objects
	}{
		"a monitor's delay":      {func(svc *v1.Service) { svc.Annotations[annotation.MonitorDelay] = "30" }, 2, 2 + 2},
		"monitors off":           {func(svc *v1.Service) { svc.Annotations[annotation.Monitor] = "false" }, 0, 2 + 2},
		"a port less":            {func(svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[1:] }, 1, 3 + 4}, // the other monitor stopped working
		"another port of a node": {func(svc *v1.Service) { svc.Spec.Ports[0].NodePort = 31000 }, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := ovnOfZed(t)
			nodes, svc := env.nodes(2), service("web", 2)
			env.ensure(svc, nodes)
			env.Cloud.RequestLog.Reset()
			test.change(svc)
			env.ensure(svc, nodes)
			env.writes(test.writes)
			env.sound(test.monitors)
			env.unchanged(svc, nodes)
		})
	}
}

// If one monitor is deleted, all monitors of the same transport stop working.
func TestOVN_OfZedMonitorsStillSeeAfterPortIsGone(t *testing.T) {
	t.Parallel()
	env := ovnOfZed(t)
	nodes, svc := env.nodes(2), service("web", 3)
	env.ensure(svc, nodes)
	svc.Spec.Ports = svc.Spec.Ports[1:]
	env.ensure(svc, nodes)
	for _, pool := range env.loadBalancer().Pools {
		if err := env.Cloud.Octavia.SetMemberOperatingStatus(pool.Members[0].ID, simoctavia.Error); err != nil {
			t.Fatal(err)
		}
	}
	for _, pool := range env.loadBalancer().Pools {
		if got := pool.Members[0].OperatingStatus; got != simoctavia.Error {
			t.Errorf("member of %s is %s", pool.Name, got)
		}
	}
}

// A load balancer that was created in one request has monitors that ovn of Zed does not know. They
// have no effect, and a change or deletion of one hangs the load balancer. Their pools are
// replaced.
func TestOVN_OfZedHasLostMonitorsRecreated(t *testing.T) {
	t.Parallel()
	env := ovnOfZed(t)
	env.stuckSoon()
	nodes, svc := env.nodes(2), service("web", 2)
	svc.Annotations[annotation.LoadBalancerID] = fullByHand(t, env, svc, nodes)
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	for _, r := range env.Cloud.RequestLog.Requests(requestlog.Writes()) {
		if strings.Contains(r.Path, "/healthmonitors/") {
			t.Errorf("the load balancer hangs after %s %s", r.Method, r.Path)
		}
	}
	env.sound(2)
	if n := len(env.loadBalancer().Pools); n != 2 {
		t.Errorf("%d pools", n)
	}
	env.unchanged(svc, nodes)
	svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 8080))
	env.ensure(svc, nodes)
	env.sound(3)
}

// With drift-policy=report a take-over writes nothing, so that lost monitors stay, too. The event
// lists their repair, which is made once the key is removed.
func TestOVN_OfZedLostMonitorsStayAtTakeOverThatOnlyReports(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{
		simulator: simulator.Options{Release: "zed"},
		keys:      map[string]string{"lb-provider": "ovn", "create-monitor": "true", "internal-lb": "true", "drift-policy": "report"},
	})
	env.stuckSoon()
	nodes, svc := env.nodes(2), service("web", 2)
	svc.Annotations[annotation.LoadBalancerID] = fullByHand(t, env, svc, nodes)
	svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: env.Cloud.Octavia.Snapshot()[0].VIP.Address}}
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.writes(0)
	if emitted := env.emitted(); !strings.Contains(emitted, "LoadBalancerDrifted") || !strings.Contains(emitted, "pool TCP/80: create") {
		t.Errorf("events:\n%s", emitted)
	}
	env.Conf.LoadBalancer.DriftPolicy = "repair"
	env.restart()
	env.ensure(svc, nodes)
	env.sound(2)
	env.unchanged(svc, nodes)
}

// fullByHand creates all objects of a Service in one request, monitors included.
func fullByHand(t *testing.T, env *environment, svc *v1.Service, nodes []*v1.Node) string {
	t.Helper()
	session, err := openstack.NewSession(env.ctx, env.Conf.Global, openstack.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	opts := octavia.LoadBalancer{Name: "kube_service_kubernetes_default_web", Provider: "ovn", VIPSubnetID: env.Cloud.Subnet.ID}
	for _, p := range svc.Spec.Ports {
		pool := octavia.NewPool{Pool: octavia.Pool{
			Name: "pool_" + p.Name, Protocol: "TCP", Algorithm: "SOURCE_IP_PORT",
			Monitor: &octavia.HealthMonitor{Type: "TCP", Delay: 5, Timeout: 3, MaxRetries: 1},
		}}
		for _, node := range nodes {
			pool.Members = append(pool.Members, octavia.Member{
				Name: node.Name, Address: node.Status.Addresses[0].Address, Port: int(p.NodePort), SubnetID: env.Cloud.Subnet.ID,
			})
		}
		opts.Listeners = append(opts.Listeners, octavia.Listener{
			Name: "listener_" + p.Name, Protocol: "TCP", Port: int(p.Port), DefaultPool: &pool,
			Tags: []string{opts.Name},
		})
	}
	made, err := session.Octavia().CreateLoadBalancer(env.ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// OVN has a load balancer for each transport. One that is created while another gets the floating IP does not get it.
func TestOVN_AssociatesFloatingIPAfterListenersOfBothTransports(t *testing.T) {
	t.Parallel()
	slow := simoctavia.Delays{Create: time.Millisecond, Children: 50 * time.Millisecond, Update: time.Millisecond, Delete: time.Millisecond}
	for name, change := range map[string]func(*v1.Service){
		"any":                   func(*v1.Service) {},
		"with an address asked": func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "127.200.9.9" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{
				simulator: simulator.Options{
					Release: "2025.1", Topology: simulator.Topology{FloatingIPAddressByMembers: true}, Delays: map[string]simoctavia.Delays{simoctavia.ProviderOVN: slow},
				},
				keys: map[string]string{"lb-provider": "ovn"},
			})
			svc := service("dns", 0)
			svc.Spec.Ports = []v1.ServicePort{port(v1.ProtocolTCP, 53), port(v1.ProtocolUDP, 53)}
			change(svc)
			env.ensure(svc, env.nodes(2))
			env.floatingIPs(1)
			if lb := env.loadBalancer(); len(lb.NotFloating) > 0 {
				t.Errorf("the floating IP does not lead to %v", lb.NotFloating)
			}
		})
	}
}

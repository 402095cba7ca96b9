package loadbalancer_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// TestChangesOfAServiceAreAppliedAndThenNothingDiffers, each with as many writes as
// it needs.
//
//proves:25,37,43,51
func TestChangesOfAServiceAreAppliedAndThenNothingDiffers(t *testing.T) {
	t.Parallel()
	local := func(svc *v1.Service) {
		svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	}
	monitored := func(svc *v1.Service) { svc.Annotations[annotation.Monitor] = "true" }
	for name, c := range map[string]struct {
		before, after func(*v1.Service)
		writes        int
		check         func(octavia.LoadBalancer) bool
	}{
		"a port more": {
			after:  func(svc *v1.Service) { svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolUDP, 53)) },
			writes: 3, // pool, members, listener
			check:  func(lb octavia.LoadBalancer) bool { return len(lb.Listeners) == 3 && len(lb.Pools) == 3 },
		},
		"a port more, with monitor": {
			before: monitored,
			after:  func(svc *v1.Service) { svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolUDP, 53)) },
			writes: 4,
			check:  func(lb octavia.LoadBalancer) bool { return len(lb.Listeners) == 3 && len(lb.Pools) == 3 },
		},
		"a port less": {
			after:  func(svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[1:] },
			writes: 2,
			check:  func(lb octavia.LoadBalancer) bool { return len(lb.Listeners) == 1 && len(lb.Pools) == 1 },
		},
		"another protocol on a port": {
			after:  func(svc *v1.Service) { svc.Spec.Ports[0].Protocol = v1.ProtocolUDP },
			writes: 5,
			check: func(lb octavia.LoadBalancer) bool {
				return slices.ContainsFunc(lb.Listeners, func(l *octavia.Listener) bool { return l.Protocol == "UDP" && l.ProtocolPort == 80 })
			},
		},
		"another node port": {
			after:  func(svc *v1.Service) { svc.Spec.Ports[0].NodePort = 31999 },
			writes: 1,
			check: func(lb octavia.LoadBalancer) bool {
				return slices.ContainsFunc(lb.Pools, func(p *octavia.Pool) bool { return len(p.Members) == 3 && p.Members[0].ProtocolPort == 31999 })
			},
		},
		"session affinity": {
			after:  func(svc *v1.Service) { svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP },
			writes: 2,
			check: func(lb octavia.LoadBalancer) bool {
				return lb.Pools[0].Persistence != nil && lb.Pools[0].Persistence.Type == "SOURCE_IP"
			},
		},
		"no session affinity any more": {
			before: func(svc *v1.Service) { svc.Spec.SessionAffinity = v1.ServiceAffinityClientIP },
			after:  func(svc *v1.Service) { svc.Spec.SessionAffinity = v1.ServiceAffinityNone },
			writes: 2,
			check:  func(lb octavia.LoadBalancer) bool { return lb.Pools[0].Persistence == nil },
		},
		"source ranges": {
			after:  func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.1.2.3/8"} },
			writes: 2,
			check: func(lb octavia.LoadBalancer) bool {
				return slices.Equal(lb.Listeners[1].AllowedCIDRs, []string{"10.0.0.0/8"})
			},
		},
		"no source ranges any more": {
			before: func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} },
			after:  func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"0.0.0.0/0"} },
			writes: 2,
			check:  func(lb octavia.LoadBalancer) bool { return len(lb.Listeners[0].AllowedCIDRs) == 0 },
		},
		"another algorithm": {
			after:  func(svc *v1.Service) { svc.Annotations[annotation.Method] = "LEAST_CONNECTIONS" },
			writes: 2,
			check:  func(lb octavia.LoadBalancer) bool { return lb.Pools[0].Algorithm == "LEAST_CONNECTIONS" },
		},
		"monitors": {
			after:  monitored,
			writes: 2,
			check: func(lb octavia.LoadBalancer) bool {
				return lb.Pools[0].Monitor != nil && lb.Pools[0].Monitor.Type == "TCP"
			},
		},
		"monitors that ask more seldom": {
			before: monitored,
			after:  func(svc *v1.Service) { svc.Annotations[annotation.MonitorDelay] = "30" },
			writes: 2,
			check:  func(lb octavia.LoadBalancer) bool { return lb.Pools[0].Monitor.Delay == 30 },
		},
		"externalTrafficPolicy Local": {
			after:  local,
			writes: 4, // members and monitor of two pools
			check: func(lb octavia.LoadBalancer) bool {
				p := lb.Pools[0]
				return p.Monitor.Type == "HTTP" && p.Monitor.URLPath == "/healthz" && p.Members[0].MonitorPort == 32000
			},
		},
		"externalTrafficPolicy Cluster again": {
			before: local,
			after: func(svc *v1.Service) {
				svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyCluster, 0
			},
			writes: 4,
			check: func(lb octavia.LoadBalancer) bool {
				return lb.Pools[0].Monitor == nil && lb.Pools[0].Members[0].MonitorPort == 0
			},
		},
		"externalTrafficPolicy Local instead of TCP monitors": {
			before: monitored,
			after:  local,
			writes: 6,
			check:  func(lb octavia.LoadBalancer) bool { return lb.Pools[1].Monitor.Type == "HTTP" },
		},
		"internal": {
			after:  func(svc *v1.Service) { svc.Annotations[annotation.Internal] = "true" },
			writes: 1,
			check:  func(octavia.LoadBalancer) bool { return true },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{})
			nodes, svc := w.nodes(3), service("web", 2)
			if c.before != nil {
				c.before(svc)
			}
			w.ensure(svc, nodes)
			w.cloud.Books.Reset()

			c.after(svc)
			w.ensure(svc, nodes)

			w.writes(c.writes)
			if lb := w.loadBalancer(); !c.check(lb) {
				t.Errorf("the load balancer is\n%+v", lb)
			}
			w.unchanged(svc, nodes)
		})
	}
}

//proves:25
func TestInternalServiceGetsNoFloatingIPAndPublishesTheVIP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	nodes, svc := w.nodes(2), service("web", 1)
	svc.Annotations[annotation.Internal] = "true"

	status := w.ensure(svc, nodes)

	w.floatingIPs(0)
	if got, want := status.Ingress[0].IP, w.loadBalancer().VIP.Address; got != want {
		t.Errorf("published %s, want the VIP %s", got, want)
	}
	if mode := status.Ingress[0].IPMode; mode == nil || *mode != v1.LoadBalancerIPModeVIP {
		t.Errorf("ipMode %v, want VIP", mode)
	}
	w.unchanged(svc, nodes)
	delete(svc.Annotations, annotation.Internal)
	external := w.ensure(svc, nodes)
	if external.Ingress[0].IP == status.Ingress[0].IP {
		t.Error("still publishes the VIP after becoming external")
	}
	w.floatingIPs(1)
}

func TestServiceOfOvn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: map[string]string{"lb-provider": "ovn", "create-monitor": "true"}})
	nodes, svc := w.nodes(4), service("web", 2)
	svc.Spec.Ports[1].Protocol = v1.ProtocolUDP
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	w.ensure(svc, nodes[:3])

	lb := w.loadBalancer()
	if n := w.cloud.Books.PendingCycles(lb.ID); n != 1 {
		t.Errorf("%d PENDING cycles, want 1", n)
	}
	types := map[string]string{}
	for _, p := range lb.Pools {
		types[p.Protocol] = p.Monitor.Type
		if p.Algorithm != "SOURCE_IP_PORT" {
			t.Errorf("algorithm %s", p.Algorithm)
		}
		if p.Members[0].MonitorPort != 0 {
			t.Error("members have a monitor_port, which ovn refuses")
		}
	}
	if types["TCP"] != "TCP" || types["UDP"] != "UDP-CONNECT" {
		t.Errorf("monitors %v", types)
	}
	w.unchanged(svc, nodes[:3])
	w.ensure(svc, nodes)
	w.ensure(svc, nodes[2:])
	w.unchanged(svc, nodes[2:])
	w.delete(svc)
	w.loadBalancers(0)
}

func TestOldOctaviaIsReadWithoutListsOfMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{simulator: simulator.Options{Release: "zed"}})
	nodes, svc := w.nodes(3), service("web", 2)
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	w.ensure(svc, nodes)
	w.unchanged(svc, nodes)
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyCluster, 0
	w.restart()
	w.ensure(svc, nodes)
	w.unchanged(svc, nodes)
	for _, r := range w.cloud.Books.Requests() {
		if strings.HasSuffix(r.Route, "/members") && r.Method == http.MethodGet && !strings.Contains(r.Path, "address=") && !strings.Contains(r.Path, "weight=0") {
			t.Errorf("lists members: %s", r.Path)
		}
	}
}

func TestVIPAndMembersAreFoundFromTheNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{simulator: simulator.Options{
		Config: simulator.Config{OmitSubnet: true, OmitFloatingNetwork: true},
	}})
	nodes, svc := w.nodes(3), service("web", 1)
	w.ensure(svc, nodes)
	lb := w.loadBalancer()
	if lb.VIP.SubnetID != w.cloud.Subnet.ID {
		t.Errorf("VIP on subnet %s, want %s", lb.VIP.SubnetID, w.cloud.Subnet.ID)
	}
	if got := lb.Pools[0].Members[0].SubnetID; got != w.cloud.Subnet.ID {
		t.Errorf("members on subnet %s, want %s", got, w.cloud.Subnet.ID)
	}
	w.floatingIPs(1)
	w.unchanged(svc, nodes)
}

// What does not fit into the one creation follows in batches.
//
//proves:68,70
func TestThousandNodesAreCreatedInPartsThatFitARequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	var nodes []*v1.Node
	first := w.node(0)
	for i := range 1000 {
		node := first.DeepCopy()
		node.Name = "worker-with-a-name-" + strings.Repeat("x", i%7) + string(rune('a'+i%26))
		node.Status.Addresses[0].Address = "127.100." + itoa(i/200+10) + "." + itoa(i%200+1)
		nodes = append(nodes, node)
	}
	svc := service("web", 3)
	w.ensure(svc, nodes)
	for _, pool := range w.loadBalancer().Pools {
		if len(pool.Members) != 1000 {
			t.Errorf("%d members, want 1000", len(pool.Members))
		}
	}
	w.writes(3) // load balancer with the members of two pools, floating IP, a batch for the third
	svc.Spec.Ports[0].NodePort = 31999
	w.cloud.Books.Reset()
	w.ensure(svc, nodes)
	w.writes(1)
	for _, r := range w.cloud.Books.Requests() {
		if r.Status == http.StatusRequestEntityTooLarge {
			t.Errorf("%s %s is too large", r.Method, r.Path)
		}
	}
	w.unchanged(svc, nodes)
}

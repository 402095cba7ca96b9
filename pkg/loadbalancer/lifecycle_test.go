package loadbalancer_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// TestEnsure_AppliesChangesOfServiceUntilNothingDiffers checks the number of writes of each change.
//
//proves:25,37,43,51
func TestEnsure_AppliesChangesOfServiceUntilNothingDiffers(t *testing.T) {
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
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := env.nodes(3), service("web", 2)
			if c.before != nil {
				c.before(svc)
			}
			env.ensure(svc, nodes)
			env.Cloud.RequestLog.Reset()

			c.after(svc)
			env.ensure(svc, nodes)

			env.writes(c.writes)
			if lb := env.loadBalancer(); !c.check(lb) {
				t.Errorf("the load balancer is\n%+v", lb)
			}
			env.unchanged(svc, nodes)
		})
	}
}

//proves:25
func TestVIP_IsPublishedWithoutFloatingIPForInternalService(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	nodes, svc := env.nodes(2), service("web", 1)
	svc.Annotations[annotation.Internal] = "true"

	status := env.ensure(svc, nodes)

	env.floatingIPs(0)
	if got, want := status.Ingress[0].IP, env.loadBalancer().VIP.Address; got != want {
		t.Errorf("published %s, want the VIP %s", got, want)
	}
	if mode := status.Ingress[0].IPMode; mode == nil || *mode != v1.LoadBalancerIPModeVIP {
		t.Errorf("ipMode %v, want VIP", mode)
	}
	env.unchanged(svc, nodes)
	delete(svc.Annotations, annotation.Internal)
	external := env.ensure(svc, nodes)
	if external.Ingress[0].IP == status.Ingress[0].IP {
		t.Error("still publishes the VIP after becoming external")
	}
	env.floatingIPs(1)
}

func TestOVN_ServesServiceWithItsAlgorithmAndMonitors(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"lb-provider": "ovn", "create-monitor": "true"}})
	nodes, svc := env.nodes(4), service("web", 2)
	svc.Spec.Ports[1].Protocol = v1.ProtocolUDP
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	env.ensure(svc, nodes[:3])

	lb := env.loadBalancer()
	if n := env.Cloud.RequestLog.PendingCycles(lb.ID); n != 1 {
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
	env.unchanged(svc, nodes[:3])
	env.ensure(svc, nodes)
	env.ensure(svc, nodes[2:])
	env.unchanged(svc, nodes[2:])
	env.delete(svc)
	env.loadBalancers(0)
}

// A list of a thousand members takes Octavia before 16.0 half a minute, one of a hundred a quarter
// of a second.
func TestRestart_ListsMembersOfNoLargePoolOfOldOctavia(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Release: "zed"}})
	nodes, svc := manyNodes(env, 101), service("web", 2)
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	env.ensure(svc, nodes)
	env.unchanged(svc, nodes)
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyCluster, 0
	env.restart()
	env.ensure(svc, nodes)
	env.unchanged(svc, nodes)
	for _, r := range env.Cloud.RequestLog.Requests() {
		short := slices.ContainsFunc([]string{"address=", "weight=0", "backup=1", "limit=1&sort="}, func(of string) bool { return strings.Contains(r.Path, of) })
		if strings.HasSuffix(r.Route, "/members") && r.Method == http.MethodGet && !short {
			t.Errorf("lists members: %s", r.Path)
		}
	}
}

func TestVIP_AndMembersAreInSubnetFoundFromNodes(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{
		Config: simulator.Config{OmitSubnet: true, OmitFloatingNetwork: true},
	}})
	nodes, svc := env.nodes(3), service("web", 1)
	env.ensure(svc, nodes)
	lb := env.loadBalancer()
	if lb.VIP.SubnetID != env.Cloud.Subnet.ID {
		t.Errorf("VIP on subnet %s, want %s", lb.VIP.SubnetID, env.Cloud.Subnet.ID)
	}
	if got := lb.Pools[0].Members[0].SubnetID; got != env.Cloud.Subnet.ID {
		t.Errorf("members on subnet %s, want %s", got, env.Cloud.Subnet.ID)
	}
	env.floatingIPs(1)
	env.unchanged(svc, nodes)
}

// Members that do not fit into the creation follow in batches.
//
//proves:68,70
func TestMembers_OfThousandNodesAreCreatedInPartsThatFitRequest(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	var nodes []*v1.Node
	first := env.node(0)
	for i := range 1000 {
		node := first.DeepCopy()
		node.Name = "worker-with-a-name-" + strings.Repeat("x", i%7) + string(rune('a'+i%26))
		node.Status.Addresses[0].Address = "127.100." + itoa(i/200+10) + "." + itoa(i%200+1)
		nodes = append(nodes, node)
	}
	svc := service("web", 3)
	env.ensure(svc, nodes)
	for _, pool := range env.loadBalancer().Pools {
		if len(pool.Members) != 1000 {
			t.Errorf("%d members, want 1000", len(pool.Members))
		}
	}
	env.writes(3) // load balancer with the members of two pools, floating IP, a batch for the third
	svc.Spec.Ports[0].NodePort = 31999
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, nodes)
	env.writes(1)
	for _, r := range env.Cloud.RequestLog.Requests() {
		if r.Status == http.StatusRequestEntityTooLarge {
			t.Errorf("%s %s is too large", r.Method, r.Path)
		}
	}
	env.unchanged(svc, nodes)
}

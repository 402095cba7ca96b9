package loadbalancer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// pooled returns the target of each listener, and how its members are probed.
func pooled(lb octavia.LoadBalancer) string {
	var all []string
	for _, l := range lb.Listeners {
		pool := lb.Pools[slices.IndexFunc(lb.Pools, func(p *octavia.Pool) bool { return p.ID == l.DefaultPoolID })]
		text := fmt.Sprintf("%s/%d", l.Protocol, l.ProtocolPort)
		seen := map[string]int{}
		for _, m := range pool.Members {
			at := fmt.Sprintf(" at %d", m.ProtocolPort)
			if m.MonitorPort != 0 {
				at += fmt.Sprintf(" asked at %d", m.MonitorPort)
			}
			seen[at]++
		}
		for at, n := range seen {
			text += fmt.Sprintf(" %d%s", n, at)
		}
		if pool.Monitor != nil {
			text += " by " + pool.Monitor.Type
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func policy(policy v1.ServiceExternalTrafficPolicy, healthPort int32) func(*v1.Service) {
	return func(svc *v1.Service) {
		svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = policy, healthPort
	}
}

// Kube-proxy follows a Service at once, independently of errors in its annotations. So does the
// kept load balancer.
//
//proves:138
func TestRefusal_GoesWhereKubeProxyServes(t *testing.T) {
	t.Parallel()
	local, cluster := v1.ServiceExternalTrafficPolicyLocal, v1.ServiceExternalTrafficPolicyCluster
	nodePort := func(i int, number int32) func(*v1.Service) {
		return func(svc *v1.Service) { svc.Spec.Ports[i].NodePort = number }
	}
	for name, c := range map[string]struct {
		keys            map[string]string
		before, change  func(*v1.Service)
		want, restarted string // the latter if it differs
	}{
		"another NodePort": {change: nodePort(0, 31080), want: "TCP/80 2 at 31080, TCP/81 2 at 30081"},
		"a port renamed": {change: func(svc *v1.Service) { svc.Spec.Ports[0].Name, svc.Spec.Ports[0].NodePort = "other", 31080 },
			want: "TCP/80 2 at 31080, TCP/81 2 at 30081"},
		"another number": {change: func(svc *v1.Service) { svc.Spec.Ports[0].Port, svc.Spec.Ports[0].NodePort = 8080, 31080 },
			want: "TCP/80 2 at 31080, TCP/81 2 at 30081", restarted: "TCP/80 2 at 30080, TCP/81 2 at 30081"},
		"two numbers exchanged": {change: func(svc *v1.Service) { svc.Spec.Ports[0].Port, svc.Spec.Ports[1].Port = 81, 80 },
			want: "TCP/80 2 at 30081, TCP/81 2 at 30080"},
		"another protocol": {change: func(svc *v1.Service) { svc.Spec.Ports[0].Protocol, svc.Spec.Ports[1].NodePort = v1.ProtocolUDP, 31081 },
			want: "TCP/80 2 at 30080, TCP/81 2 at 31081"},
		"one removed, one added": {change: func(svc *v1.Service) {
			svc.Spec.Ports = []v1.ServicePort{svc.Spec.Ports[1], port(v1.ProtocolTCP, 443)}
			svc.Spec.Ports[0].NodePort = 31081
		}, want: "TCP/80 2 at 30080, TCP/81 2 at 31081"},
		"no NodePorts any more": {change: func(svc *v1.Service) { nodePort(0, 0)(svc); nodePort(1, 0)(svc) }, want: "TCP/80 2 at 30080, TCP/81 2 at 30081"},
		"another health check port": {before: policy(local, 32100), change: policy(local, 32200),
			want: "TCP/80 2 at 30080 asked at 32200 by HTTP, TCP/81 2 at 30081 asked at 32200 by HTTP"},
		"Local becomes Cluster": {before: policy(local, 32100), change: policy(cluster, 0), want: "TCP/80 2 at 30080, TCP/81 2 at 30081"},
		"Local becomes Cluster, with monitors": {keys: map[string]string{"create-monitor": "true"}, before: policy(local, 32100), change: policy(cluster, 0),
			want: "TCP/80 2 at 30080 by TCP, TCP/81 2 at 30081 by TCP"},
		"Cluster becomes Local": {change: policy(local, 32100),
			want: "TCP/80 2 at 30080 asked at 32100 by HTTP, TCP/81 2 at 30081 asked at 32100 by HTTP"},
		"Cluster becomes Local, with monitors": {keys: map[string]string{"create-monitor": "true"}, change: policy(local, 32100),
			want:      "TCP/80 2 at 30080 asked at 32100 by HTTP, TCP/81 2 at 30081 asked at 32100 by HTTP",
			restarted: "TCP/80 2 at 30080 by TCP, TCP/81 2 at 30081 by TCP"},
		"Cluster becomes Local, with kube-proxy's monitors": {keys: map[string]string{"create-monitor": "true", "monitor-kube-proxy": "true"}, change: policy(local, 32100),
			want: "TCP/80 2 at 30080 asked at 32100 by HTTP, TCP/81 2 at 30081 asked at 32100 by HTTP"},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", after a restart"}[restart], func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{keys: c.keys})
				nodes, svc := env.nodes(2), service("web", 2)
				if c.before != nil {
					c.before(svc)
				}
				env.ensure(svc, nodes)
				svc = svc.DeepCopy()
				c.change(svc)
				svc.Annotations[annotation.MaxMembers] = "many"
				want := c.want
				if restart {
					env.restart()
					if c.restarted != "" {
						want = c.restarted
					}
				}
				env.refused(svc, nodes, "follows its nodes or pods")
				if got := pooled(env.loadBalancer()); got != want {
					t.Errorf("it has   %s\nwant     %s", got, want)
				}
				env.Cloud.RequestLog.Reset()
				env.refused(svc, nodes, "follows its nodes or pods")
				env.writes(0)
			})
		}
	}
}

// A guest's listeners follow as well, and those of the owner stay.
//
//proves:138
func TestRefusal_GoesWhereKubeProxyServesOnSharedLoadBalancer(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(map[bool]string{false: "same process", true: "after a restart"}[restart], func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes := env.nodes(2)
			env.ensure(service("owner", 1), nodes)
			guest := onto("guest", env.loadBalancer(), 443)
			policy(v1.ServiceExternalTrafficPolicyLocal, 32100)(guest)
			env.ensure(guest, nodes)
			guest = guest.DeepCopy()
			guest.Spec.Ports[0].NodePort, guest.Spec.HealthCheckNodePort = 31443, 32200
			guest.Annotations[annotation.MaxMembers] = "many"
			if restart {
				env.restart()
			}
			env.refused(guest, nodes, "follows its nodes or pods")
			if got, want := pooled(env.loadBalancer()), "TCP/443 2 at 31443 asked at 32200 by HTTP, TCP/80 2 at 30080"; got != want {
				t.Errorf("it has %s, want %s", got, want)
			}
		})
	}
}

// With managed security groups, the new ports are opened to the load balancer, and the old ones
// closed.
//
//proves:138
func TestRefusal_OpensPortsThatKubeProxyServes(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(map[bool]string{false: "same process", true: "after a restart"}[restart], func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed("per-service", "create-monitor", "true")})
			nodes, svc := env.nodes(2), service("web", 1)
			policy(v1.ServiceExternalTrafficPolicyLocal, 32100)(svc)
			env.ensure(svc, nodes)
			svc = svc.DeepCopy()
			policy(v1.ServiceExternalTrafficPolicyCluster, 0)(svc)
			svc.Spec.Ports[0].NodePort = 31080
			svc.Annotations[annotation.MaxMembers] = "many"
			if restart {
				env.restart()
			}
			env.refused(svc, nodes, "follows its nodes or pods")
			rules := strings.Join(rulesOf(env.group()), "\n")
			if !strings.Contains(rules, "31080") || strings.Contains(rules, "30080") || strings.Contains(rules, "32100") {
				t.Errorf("rules:\n%s", rules)
			}
		})
	}
}

// If a quota refuses the monitors that the policy Local requires, members still follow the nodes.
//
//proves:138
func TestRefusal_FollowsNodesWithoutQuotaForMonitors(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		t.Run(map[bool]string{false: "same process", true: "after a restart"}[restart], func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{})
			nodes, svc := env.nodes(2), service("web", 1)
			env.ensure(svc, nodes)
			svc = svc.DeepCopy()
			policy(v1.ServiceExternalTrafficPolicyLocal, 32100)(svc)
			svc.Annotations[annotation.MaxMembers] = "many"
			env.Cloud.Octavia.SetQuota(env.Cloud.Account.ProjectID, "healthmonitor", 0)
			if restart {
				env.restart()
			}
			nodes = append(nodes, env.node(2))[1:]
			env.refused(svc, nodes, "follows its nodes or pods")
			env.membersAre(nodes)
		})
	}
}

package loadbalancer_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

const (
	groupsRoute = "/network/v2.0/security-groups"
	rulesRoute  = "/network/v2.0/security-group-rules"
	portRoute   = "/network/v2.0/ports/{id}"
)

// managed returns cloud.conf with managed security groups.
func managed(mode string, more ...string) map[string]string {
	keys := map[string]string{"manage-security-groups": "true", "security-group-mode": mode}
	for i := 0; i < len(more); i += 2 {
		keys[more[i]] = more[i+1]
	}
	return keys
}

// groups returns the security groups except the project's default one.
func (env *environment) groups() []neutron.SecurityGroup {
	return slices.DeleteFunc(env.Cloud.Neutron.SecurityGroups(), func(g neutron.SecurityGroup) bool { return g.Name == "default" })
}

// group returns the only group.
func (env *environment) group() neutron.SecurityGroup {
	env.T.Helper()
	all := env.groups()
	if len(all) != 1 {
		env.T.Fatalf("the cloud has the security groups %v, want one", all)
	}
	return all[0]
}

// rulesOf returns the rules of a group as text, sorted.
func rulesOf(g neutron.SecurityGroup) []string {
	var all []string
	for _, r := range g.Rules {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %d-%d %s", r.Direction, r.EtherType, r.Protocol, r.PortRangeMin, r.PortRangeMax, r.RemoteIPPrefix)))
	}
	slices.Sort(all)
	return all
}

// uses checks which nodes have ports with the group, and that each port still has the project's
// default group.
func (env *environment) uses(groupID string, nodes ...*v1.Node) {
	env.T.Helper()
	var want, got []string
	for _, node := range nodes {
		want = append(want, node.Status.Addresses[0].Address)
	}
	for _, port := range env.Cloud.Neutron.Ports() {
		if slices.Contains(port.SecurityGroups, groupID) {
			got = append(got, port.FixedIPs[0].Address)
		}
		if port.ProjectID == env.Cloud.Account.ProjectID && strings.HasPrefix(port.DeviceOwner, "compute") && !slices.Contains(port.SecurityGroups, env.defaultGroup()) {
			env.T.Errorf("port %s has lost the group that it had: %v", port.FixedIPs[0].Address, port.SecurityGroups)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		env.T.Errorf("ports %v use the group, want %v", got, want)
	}
}

func (env *environment) defaultGroup() string {
	for _, g := range env.Cloud.Neutron.SecurityGroups() {
		if g.Name == "default" && g.ProjectID == env.Cloud.Account.ProjectID {
			return g.ID
		}
	}
	env.T.Fatal("no default group")
	return ""
}

func (env *environment) rules(g neutron.SecurityGroup, want ...string) {
	env.T.Helper()
	slices.Sort(want)
	if got := rulesOf(g); !slices.Equal(got, want) {
		env.T.Errorf("rules:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// goneWithGroups checks that Get returns false, and that no group is left.
func (env *environment) goneWithGroups(svc *v1.Service) {
	env.T.Helper()
	leaving := svc.DeepCopy()
	leaving.Spec.Type = v1.ServiceTypeClusterIP
	if _, exists, err := env.engine.Get(env.ctx, leaving); exists || err != nil {
		env.T.Errorf("Get: exists %v, error %v after everything is gone", exists, err)
	}
	if left := env.groups(); len(left) > 0 {
		env.T.Errorf("security groups are left: %v", left)
	}
}

func nodePort(env *environment, protocol string, port int) string {
	return fmt.Sprintf("ingress IPv4 %s %d-%d %s", protocol, port, port, env.Cloud.Subnet.CIDR)
}

//proves:87
func TestSecurityGroups_PerServiceAreOnPortsOfItsNodes(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("per-service")})
	nodes, svc := env.nodes(3), service("web", 2)
	svc.Spec.Ports[1].Protocol = v1.ProtocolUDP
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000

	env.ensure(svc, nodes)

	g := env.group()
	if g.Name != "lb-sg-uid-of-web-default-web" || g.Description != "Security Group for default/web Service LoadBalancer in cluster kubernetes" {
		t.Errorf("group %q, described as %q", g.Name, g.Description)
	}
	env.rules(g, nodePort(env, "tcp", 30080), nodePort(env, "udp", 30081), nodePort(env, "tcp", 32000))
	env.uses(g.ID, nodes...)
	if n := env.Cloud.RequestLog.Count(http.MethodPost, rulesRoute); n != 1 {
		t.Errorf("%d requests add rules, want 1", n)
	}
	env.unchanged(svc, nodes)
	env.delete(svc)
	env.uses(g.ID)
	env.goneWithGroups(svc)
}

//proves:86
func TestSecurityGroups_SharedTakeRulesOfAllServices(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("shared")})
	nodes, first, second := env.nodes(3), service("web", 2), service("dns", 1)
	second.Spec.Ports[0] = port(v1.ProtocolUDP, 53)
	env.ensure(first, nodes)
	env.Cloud.RequestLog.Reset()

	env.ensure(second, nodes)

	if n := env.Cloud.RequestLog.Count(http.MethodPut, portRoute); n != 0 {
		t.Errorf("the second Service changes %d ports of nodes, want none", n)
	}
	if n := env.Cloud.RequestLog.Count(http.MethodPost, rulesRoute); n != 1 {
		t.Errorf("%d requests add rules, want 1", n)
	}
	env.writes(3) // rules, load balancer, floating IP
	g := env.group()
	env.rules(g, nodePort(env, "tcp", 30080), nodePort(env, "tcp", 30081), nodePort(env, "udp", 30053))
	env.uses(g.ID, nodes...)
	env.unchanged(first, nodes)
	env.unchanged(second, nodes)

	env.delete(first)
	g = env.group()
	env.rules(g, nodePort(env, "udp", 30053))
	env.uses(g.ID, nodes...)
	env.delete(second)
	env.uses(g.ID)
	env.goneWithGroups(second)
	env.goneWithGroups(first)
}

//proves:85,86
func TestSecurityGroups_CostOnePortChangeWhenNodeComesOrGoes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			nodes, svc := env.nodes(4), service("web", 1)
			env.ensure(svc, nodes[:3])
			g := env.group()
			env.uses(g.ID, nodes[:3]...)
			for _, now := range [][]*v1.Node{nodes, nodes[1:]} {
				env.Cloud.RequestLog.Reset()
				if err := env.engine.Update(env.ctx, svc, now); err != nil {
					t.Fatal(err)
				}
				env.uses(g.ID, now...)
				env.writes(2) // member, port
				env.unchanged(svc, now)
			}
			// A label excludes nodes, too.
			nodes[2].Labels = map[string]string{"role": "edge"}
			if mode == "per-service" {
				svc.Annotations[annotation.NodeSelector] = "role=edge"
				env.ensure(svc, nodes[1:])
				env.uses(g.ID, nodes[2])
				env.unchanged(svc, nodes[1:])
			}
			env.delete(svc)
			env.goneWithGroups(svc)
		})
	}
}

//proves:87
func TestSecurityGroups_ChangeRulesWithService(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			nodes, svc := env.nodes(2), service("web", 2)
			env.ensure(svc, nodes)
			svc.Spec.Ports = svc.Spec.Ports[:1]
			svc.Spec.Ports[0].NodePort = 31999
			env.Cloud.RequestLog.Reset()
			env.ensure(svc, nodes)
			env.rules(env.group(), nodePort(env, "tcp", 31999))
			if n := env.Cloud.RequestLog.Count(http.MethodPut, portRoute); n != 0 {
				t.Errorf("%d ports of nodes change, want none", n)
			}
			env.unchanged(svc, nodes)
		})
	}
}

//proves:44
func TestSecurityGroups_EnforceSourceRangesOfOVN(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode, "lb-provider", "ovn", "create-monitor", "true")})
			nodes, svc := env.nodes(2), service("web", 1)
			env.ensure(svc, nodes)
			everybody, monitors := "ingress IPv4 tcp 30080-30080 0.0.0.0/0", nodePort(env, "tcp", 30080)
			env.rules(env.group(), everybody)
			env.unchanged(svc, nodes)

			svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24", "198.51.100.7/32"}
			env.ensure(svc, nodes)
			env.rules(env.group(), monitors, "ingress IPv4 tcp 30080-30080 192.0.2.0/24", "ingress IPv4 tcp 30080-30080 198.51.100.7/32")
			env.unchanged(svc, nodes)

			svc.Spec.LoadBalancerSourceRanges = nil
			env.ensure(svc, nodes)
			env.rules(env.group(), everybody)
			env.delete(svc)
			env.goneWithGroups(svc)
		})
	}
}

//proves:44
func TestEnsure_RefusesSourceRangesThatNothingEnforces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys  map[string]string
		spoil func(env *environment, nodes []*v1.Node)
		want  string
	}{
		"security groups are not managed": {
			keys: map[string]string{"lb-provider": "ovn"},
			want: "spec.loadBalancerSourceRanges: Forbidden: cannot be enforced",
		},
		"a port without port security": {
			keys: managed("per-service", "lb-provider", "ovn"),
			spoil: func(env *environment, nodes []*v1.Node) {
				for _, p := range env.Cloud.Neutron.Ports() {
					if p.FixedIPs[0].Address == nodes[1].Status.Addresses[0].Address {
						off := false
						if _, err := env.Cloud.Neutron.UpdatePort(p.ID, neutron.PortUpdate{SecurityGroups: &[]string{}, PortSecurity: &off}); err != nil {
							env.T.Fatal(err)
						}
					}
				}
			},
			want: "port security is off at the ports of node-1",
		},
		"a node whose port cannot be found": {
			keys: managed("shared", "lb-provider", "ovn"),
			spoil: func(_ *environment, nodes []*v1.Node) {
				nodes[1].Spec.ProviderID, nodes[1].Status.Addresses[0].Address = "other:///1", "127.100.77.77"
			},
			want: "no port of this project has the address of node-1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: c.keys})
			nodes, svc := env.nodes(2), service("web", 1)
			svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
			if c.spoil != nil {
				c.spoil(env, nodes)
			}
			env.Cloud.RequestLog.Reset()
			env.refused(svc, nodes, c.want)
			env.writes(0)
		})
	}
}

//proves:87
func TestSecurityGroups_OpenSubnetOfVIPBesideThatOfMembers(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("per-service")})
	nodes, svc := env.nodes(1), service("web", 1)
	second, err := env.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{
		ProjectID: env.Cloud.Account.ProjectID, NetworkID: env.Cloud.Network.ID, Name: "vip", CIDR: "127.101.0.0/16",
	})
	if err != nil {
		t.Fatal(err)
	}
	svc.Annotations[annotation.Internal] = "true"
	svc.Annotations[annotation.SubnetID], svc.Annotations[annotation.MemberSubnetID] = second.ID, env.Cloud.Subnet.ID
	env.ensure(svc, nodes)
	env.rules(env.group(), nodePort(env, "tcp", 30080), "ingress IPv4 tcp 30080-30080 127.101.0.0/16")
	env.unchanged(svc, nodes)
}

// Members that stay in their subnet, because no setting moves them, are reached from there.
//
//proves:87
func TestSecurityGroups_OpenSubnetThatMembersStayIn(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("per-service")})
	other := env.subnet("127.101.0.0/16")
	nodes, svc := env.nodes(2), service("web", 1)
	svc.Annotations[annotation.MemberSubnetID] = other
	env.ensure(svc, nodes[:1])
	want := []string{nodePort(env, "tcp", 30080), "ingress IPv4 tcp 30080-30080 127.101.0.0/16"}
	env.rules(env.group(), want...)
	delete(svc.Annotations, annotation.MemberSubnetID)
	env.ensure(svc, nodes)
	env.rules(env.group(), want...)
	env.unchanged(svc, nodes)
	svc.Annotations[annotation.MemberSubnetID] = env.Cloud.Subnet.ID
	env.ensure(svc, nodes)
	env.rules(env.group(), want[0])
	env.unchanged(svc, nodes)
}

//proves:87
func TestSecurityGroups_OpenIPv6ForIPv6Services(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{
		simulator: simulator.Options{Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"}},
		keys:      managed("per-service"),
	})
	nodes, svc := env.nodes(1), service("web", 1)
	svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol}
	svc.Annotations[annotation.SubnetID] = env.Cloud.SubnetV6.ID
	for _, p := range env.Cloud.Neutron.Ports() {
		if p.FixedIPs[0].Address == nodes[0].Status.Addresses[0].Address {
			fixed := append(p.FixedIPs[:1:1], neutron.FixedIP{SubnetID: env.Cloud.SubnetV6.ID, Address: "fd00:6::42"})
			if _, err := env.Cloud.Neutron.UpdatePort(p.ID, neutron.PortUpdate{FixedIPs: &fixed}); err != nil {
				t.Fatal(err)
			}
		}
	}
	nodes[0].Status.Addresses = append(nodes[0].Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: "fd00:6::42"})
	env.ensure(svc, nodes)
	g := env.group()
	env.rules(g, "ingress IPv6 tcp 30080-30080 fd00:6::/64")
	env.uses(g.ID, nodes...)
	env.unchanged(svc, nodes)
}

//proves:86,87
func TestSecurityGroups_OpenMonitorPortOfSeveralServicesOnce(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode, "create-monitor", "true", "monitor-kube-proxy", "true")})
			nodes, first, second := env.nodes(2), service("web", 1), service("api", 1)
			second.Spec.Ports[0] = port(v1.ProtocolTCP, 443)
			ping := service("ping", 1)
			ping.Spec.Ports[0] = port(v1.ProtocolTCP, 444)
			ping.Annotations[annotation.MonitorType] = "PING"
			all := []*v1.Service{first, second, ping}
			for _, svc := range all {
				env.ensure(svc, nodes)
			}
			kubeProxy, echo := nodePort(env, "tcp", 10256), "ingress IPv4 icmp 0-0 "+env.Cloud.Subnet.CIDR
			if mode == "shared" {
				env.rules(env.group(), nodePort(env, "tcp", 30080), nodePort(env, "tcp", 30443), nodePort(env, "tcp", 30444), kubeProxy, echo)
			} else {
				groups := env.groups()
				env.rules(groups[0], nodePort(env, "tcp", 30080), kubeProxy)
				env.rules(groups[1], nodePort(env, "tcp", 30443), kubeProxy)
				env.rules(groups[2], nodePort(env, "tcp", 30444), echo)
			}
			for _, svc := range all {
				env.unchanged(svc, nodes)
			}
			env.delete(first)
			for _, svc := range all[1:] {
				env.unchanged(svc, nodes)
				env.delete(svc)
			}
			env.goneWithGroups(ping)
		})
	}
}

// With cloud-provider-openstack, the second sync of such a Service panics or fails.
//
//proves:87
func TestSecurityGroups_AreMadeWhenNetworkIsNamedWithoutSubnet(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{
		simulator: simulator.Options{Config: simulator.Config{OmitSubnet: true}},
		keys:      managed("per-service"),
	})
	nodes, svc := env.nodes(2), service("web", 1)
	svc.Annotations[annotation.NetworkID] = env.Cloud.Network.ID
	env.ensure(svc, nodes)
	g := env.group()
	env.rules(g, nodePort(env, "tcp", 30080))
	env.uses(g.ID, nodes...)
	env.unchanged(svc, nodes)
}

//proves:89
func TestSecurityGroups_ChangedByOthersAreOnlyReportedByPolicyReport(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("per-service", "drift-policy", "report")})
	nodes, svc := env.nodes(1), service("web", 1)
	env.ensure(svc, nodes)
	if err := somebody(t, env).DeleteSecurityGroupRule(env.ctx, env.group().Rules[0].ID); err != nil {
		t.Fatal(err)
	}
	env.emitted()
	env.Cloud.RequestLog.Reset()
	env.repair(svc, nodes)
	env.writes(0)
	if emitted := env.emitted(); !strings.Contains(emitted, "LoadBalancerDrifted") || strings.Contains(emitted, "ChangingLoadBalancer") {
		t.Errorf("emitted:\n%s", emitted)
	}
}

// A Node is a member as soon as it exists. Its server and port are known when it is initialized.
// Until then nothing can be done about it.
func TestSecurityGroups_WarnOfNoNodeThatAwaitsInitialization(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("per-service")})
	nodes, svc := env.nodes(2), service("web", 1)
	id := nodes[1].Spec.ProviderID
	nodes[1] = nodes[1].DeepCopy()
	nodes[1].Spec.ProviderID = ""
	nodes[1].Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
	nodes[1].Status.Addresses[0].Address = "127.100.1.98" // the port is not in Neutron yet
	env.ensure(svc, nodes)
	if emitted := env.emitted(); strings.Contains(emitted, "Warning") {
		t.Errorf("warned of a new node:\n%s", emitted)
	}
	nodes[1] = nodes[1].DeepCopy()
	nodes[1].Spec.ProviderID, nodes[1].Spec.Taints = id, nil
	nodes[1].Status.Addresses[0].Address = "127.100.1.11"
	env.ensure(svc, nodes)
	env.uses(env.group().ID, nodes...)
	nodes[1] = nodes[1].DeepCopy()
	nodes[1].Spec.ProviderID = "" // this one is never initialized, and its address is on no port
	nodes[1].Status.Addresses[0].Address = "127.100.1.99"
	env.ensure(svc, nodes)
	if emitted := env.emitted(); !strings.Contains(emitted, "has the address of node-1") {
		t.Errorf("emitted:\n%s", emitted)
	}
}

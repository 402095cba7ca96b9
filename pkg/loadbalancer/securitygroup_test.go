package loadbalancer_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

const (
	groupsRoute = "/network/v2.0/security-groups"
	rulesRoute  = "/network/v2.0/security-group-rules"
	portRoute   = "/network/v2.0/ports/{id}"
)

// managed is cloud.conf with security groups.
func managed(mode string, more ...string) map[string]string {
	keys := map[string]string{"manage-security-groups": "true", "security-group-mode": mode}
	for i := 0; i < len(more); i += 2 {
		keys[more[i]] = more[i+1]
	}
	return keys
}

// groups gives the security groups but the project's default one.
func (w *world) groups() []neutron.SecurityGroup {
	return slices.DeleteFunc(w.cloud.Neutron.SecurityGroups(), func(g neutron.SecurityGroup) bool { return g.Name == "default" })
}

// group gives the only group.
func (w *world) group() neutron.SecurityGroup {
	w.t.Helper()
	all := w.groups()
	if len(all) != 1 {
		w.t.Fatalf("the cloud has the security groups %v, want one", all)
	}
	return all[0]
}

// rulesOf prints the rules of a group, sorted.
func rulesOf(g neutron.SecurityGroup) []string {
	var all []string
	for _, r := range g.Rules {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %d-%d %s", r.Direction, r.EtherType, r.Protocol, r.PortRangeMin, r.PortRangeMax, r.RemoteIPPrefix)))
	}
	slices.Sort(all)
	return all
}

// uses checks which nodes' ports use a group, and that each has the project's default
// group, as before.
func (w *world) uses(groupID string, nodes ...*v1.Node) {
	w.t.Helper()
	var want, got []string
	for _, node := range nodes {
		want = append(want, node.Status.Addresses[0].Address)
	}
	for _, port := range w.cloud.Neutron.Ports() {
		if slices.Contains(port.SecurityGroups, groupID) {
			got = append(got, port.FixedIPs[0].Address)
		}
		if strings.HasPrefix(port.DeviceOwner, "compute") && !slices.Contains(port.SecurityGroups, w.defaultGroup()) {
			w.t.Errorf("port %s has lost the group that it had: %v", port.FixedIPs[0].Address, port.SecurityGroups)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		w.t.Errorf("ports %v use the group, want %v", got, want)
	}
}

func (w *world) defaultGroup() string {
	for _, g := range w.cloud.Neutron.SecurityGroups() {
		if g.Name == "default" && g.ProjectID == w.cloud.Account.ProjectID {
			return g.ID
		}
	}
	w.t.Fatal("no default group")
	return ""
}

func (w *world) rules(g neutron.SecurityGroup, want ...string) {
	w.t.Helper()
	slices.Sort(want)
	if got := rulesOf(g); !slices.Equal(got, want) {
		w.t.Errorf("rules:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// gone checks that Get says no, and that no group is left.
func (w *world) goneWithGroups(svc *v1.Service) {
	w.t.Helper()
	leaving := svc.DeepCopy()
	leaving.Spec.Type = v1.ServiceTypeClusterIP
	if _, exists, err := w.engine.Get(w.ctx, leaving); exists || err != nil {
		w.t.Errorf("Get: exists %v, error %v after everything is gone", exists, err)
	}
	if left := w.groups(); len(left) > 0 {
		w.t.Errorf("security groups are left: %v", left)
	}
}

func nodePort(w *world, protocol string, port int) string {
	return fmt.Sprintf("ingress IPv4 %s %d-%d %s", protocol, port, port, w.cloud.Subnet.CIDR)
}

//proves:87
func TestAServiceGetsAGroupOfItsOwnOnThePortsOfItsNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: managed("per-service")})
	nodes, svc := w.nodes(3), service("web", 2)
	svc.Spec.Ports[1].Protocol = v1.ProtocolUDP
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000

	w.ensure(svc, nodes)

	g := w.group()
	if g.Name != "lb-sg-uid-of-web-default-web" || g.Description != "Security Group for default/web Service LoadBalancer in cluster kubernetes" {
		t.Errorf("group %q, described as %q", g.Name, g.Description)
	}
	w.rules(g, nodePort(w, "tcp", 30080), nodePort(w, "udp", 30081), nodePort(w, "tcp", 32000))
	w.uses(g.ID, nodes...)
	if n := w.cloud.Books.Count(http.MethodPost, rulesRoute); n != 1 {
		t.Errorf("%d requests add rules, want 1", n)
	}
	w.unchanged(svc, nodes)
	w.delete(svc)
	w.uses(g.ID)
	w.goneWithGroups(svc)
}

//proves:86
func TestTheSharedGroupTakesTheRulesOfAllServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: managed("shared")})
	nodes, first, second := w.nodes(3), service("web", 2), service("dns", 1)
	second.Spec.Ports[0] = port(v1.ProtocolUDP, 53)
	w.ensure(first, nodes)
	w.cloud.Books.Reset()

	w.ensure(second, nodes)

	if n := w.cloud.Books.Count(http.MethodPut, portRoute); n != 0 {
		t.Errorf("the second Service changes %d ports of nodes, want none", n)
	}
	if n := w.cloud.Books.Count(http.MethodPost, rulesRoute); n != 1 {
		t.Errorf("%d requests add rules, want 1", n)
	}
	w.writes(3) // rules, load balancer, floating IP
	g := w.group()
	w.rules(g, nodePort(w, "tcp", 30080), nodePort(w, "tcp", 30081), nodePort(w, "udp", 30053))
	w.uses(g.ID, nodes...)
	w.unchanged(first, nodes)
	w.unchanged(second, nodes)

	w.delete(first)
	g = w.group()
	w.rules(g, nodePort(w, "udp", 30053))
	w.uses(g.ID, nodes...)
	w.delete(second)
	w.uses(g.ID)
	w.goneWithGroups(second)
	w.goneWithGroups(first)
}

//proves:85,86
func TestANodeThatComesOrGoesCostsOneChangeOfItsPort(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode)})
			nodes, svc := w.nodes(4), service("web", 1)
			w.ensure(svc, nodes[:3])
			g := w.group()
			w.uses(g.ID, nodes[:3]...)
			for _, now := range [][]*v1.Node{nodes, nodes[1:]} {
				w.cloud.Books.Reset()
				if err := w.engine.Update(w.ctx, svc, now); err != nil {
					t.Fatal(err)
				}
				w.uses(g.ID, now...)
				w.writes(2) // member, port
				w.unchanged(svc, now)
			}
			// Nodes are left out by a label, too.
			nodes[2].Labels = map[string]string{"role": "edge"}
			if mode == "per-service" {
				svc.Annotations[annotation.NodeSelector] = "role=edge"
				w.ensure(svc, nodes[1:])
				w.uses(g.ID, nodes[2])
				w.unchanged(svc, nodes[1:])
			}
			w.delete(svc)
			w.goneWithGroups(svc)
		})
	}
}

//proves:87
func TestChangesOfAServiceChangeTheRules(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode)})
			nodes, svc := w.nodes(2), service("web", 2)
			w.ensure(svc, nodes)
			svc.Spec.Ports = svc.Spec.Ports[:1]
			svc.Spec.Ports[0].NodePort = 31999
			w.cloud.Books.Reset()
			w.ensure(svc, nodes)
			w.rules(w.group(), nodePort(w, "tcp", 31999))
			if n := w.cloud.Books.Count(http.MethodPut, portRoute); n != 0 {
				t.Errorf("%d ports of nodes change, want none", n)
			}
			w.unchanged(svc, nodes)
		})
	}
}

//proves:44
func TestSourceRangesOfOvnAreEnforcedByTheNodesGroups(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode, "lb-provider", "ovn", "create-monitor", "true")})
			nodes, svc := w.nodes(2), service("web", 1)
			w.ensure(svc, nodes)
			everybody, monitors := "ingress IPv4 tcp 30080-30080 0.0.0.0/0", nodePort(w, "tcp", 30080)
			w.rules(w.group(), everybody)
			w.unchanged(svc, nodes)

			svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24", "198.51.100.7/32"}
			w.ensure(svc, nodes)
			w.rules(w.group(), monitors, "ingress IPv4 tcp 30080-30080 192.0.2.0/24", "ingress IPv4 tcp 30080-30080 198.51.100.7/32")
			w.unchanged(svc, nodes)

			svc.Spec.LoadBalancerSourceRanges = nil
			w.ensure(svc, nodes)
			w.rules(w.group(), everybody)
			w.delete(svc)
			w.goneWithGroups(svc)
		})
	}
}

//proves:44
func TestSourceRangesThatNothingEnforcesAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys  map[string]string
		spoil func(w *world, nodes []*v1.Node)
		want  string
	}{
		"security groups are not managed": {
			keys: map[string]string{"lb-provider": "ovn"},
			want: "spec.loadBalancerSourceRanges: Forbidden: cannot be enforced",
		},
		"a port without port security": {
			keys: managed("per-service", "lb-provider", "ovn"),
			spoil: func(w *world, nodes []*v1.Node) {
				for _, p := range w.cloud.Neutron.Ports() {
					if p.FixedIPs[0].Address == nodes[1].Status.Addresses[0].Address {
						off := false
						if _, err := w.cloud.Neutron.UpdatePort(p.ID, neutron.PortUpdate{SecurityGroups: &[]string{}, PortSecurity: &off}); err != nil {
							w.t.Fatal(err)
						}
					}
				}
			},
			want: "port security is off at the ports of node-1",
		},
		"a node whose port cannot be found": {
			keys:  managed("shared", "lb-provider", "ovn"),
			spoil: func(_ *world, nodes []*v1.Node) { nodes[1].Spec.ProviderID = "other:///1" },
			want:  "no port of this project has the address of node-1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: c.keys})
			nodes, svc := w.nodes(2), service("web", 1)
			svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
			if c.spoil != nil {
				c.spoil(w, nodes)
			}
			w.cloud.Books.Reset()
			w.refused(svc, nodes, c.want)
			w.writes(0)
		})
	}
}

//proves:87
func TestTheSubnetOfTheVIPIsOpenedBesideThatOfTheMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: managed("per-service")})
	nodes, svc := w.nodes(1), service("web", 1)
	second, err := w.cloud.Neutron.AddSubnet(neutron.SubnetSpec{
		ProjectID: w.cloud.Account.ProjectID, NetworkID: w.cloud.Network.ID, Name: "vip", CIDR: "127.101.0.0/16",
	})
	if err != nil {
		t.Fatal(err)
	}
	svc.Annotations[annotation.Internal] = "true"
	svc.Annotations[annotation.SubnetID], svc.Annotations[annotation.MemberSubnetID] = second.ID, w.cloud.Subnet.ID
	w.ensure(svc, nodes)
	w.rules(w.group(), nodePort(w, "tcp", 30080), "ingress IPv4 tcp 30080-30080 127.101.0.0/16")
	w.unchanged(svc, nodes)
}

// Members that stay in their subnet, as nobody asks them to move, are reached from there.
//
//proves:87
func TestTheSubnetThatMembersStayInIsOpened(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: managed("per-service")})
	other := w.subnet("127.101.0.0/16")
	nodes, svc := w.nodes(2), service("web", 1)
	svc.Annotations[annotation.MemberSubnetID] = other
	w.ensure(svc, nodes[:1])
	want := []string{nodePort(w, "tcp", 30080), "ingress IPv4 tcp 30080-30080 127.101.0.0/16"}
	w.rules(w.group(), want...)
	delete(svc.Annotations, annotation.MemberSubnetID)
	w.ensure(svc, nodes)
	w.rules(w.group(), want...)
	w.unchanged(svc, nodes)
	svc.Annotations[annotation.MemberSubnetID] = w.cloud.Subnet.ID
	w.ensure(svc, nodes)
	w.rules(w.group(), want[0])
	w.unchanged(svc, nodes)
}

//proves:87
func TestIPv6ServicesOpenIPv6(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{
		simulator: simulator.Options{Topology: simulator.Topology{IPv6CIDR: "fd00:6::/64"}},
		keys:      managed("per-service"),
	})
	nodes, svc := w.nodes(1), service("web", 1)
	svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv6Protocol}
	svc.Annotations[annotation.SubnetID] = w.cloud.SubnetV6.ID
	for _, p := range w.cloud.Neutron.Ports() {
		if p.FixedIPs[0].Address == nodes[0].Status.Addresses[0].Address {
			fixed := append(p.FixedIPs[:1:1], neutron.FixedIP{SubnetID: w.cloud.SubnetV6.ID, Address: "fd00:6::42"})
			if _, err := w.cloud.Neutron.UpdatePort(p.ID, neutron.PortUpdate{FixedIPs: &fixed}); err != nil {
				t.Fatal(err)
			}
		}
	}
	nodes[0].Status.Addresses = append(nodes[0].Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: "fd00:6::42"})
	w.ensure(svc, nodes)
	g := w.group()
	w.rules(g, "ingress IPv6 tcp 30080-30080 fd00:6::/64")
	w.uses(g.ID, nodes...)
	w.unchanged(svc, nodes)
}

//proves:86,87
func TestPortsThatMonitorsOfSeveralServicesAskAreOpenedOnce(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldOptions{keys: managed(mode, "create-monitor", "true", "monitor-kube-proxy", "true")})
			nodes, first, second := w.nodes(2), service("web", 1), service("api", 1)
			second.Spec.Ports[0] = port(v1.ProtocolTCP, 443)
			ping := service("ping", 1)
			ping.Spec.Ports[0] = port(v1.ProtocolTCP, 444)
			ping.Annotations[annotation.MonitorType] = "PING"
			all := []*v1.Service{first, second, ping}
			for _, svc := range all {
				w.ensure(svc, nodes)
			}
			kubeProxy, echo := nodePort(w, "tcp", 10256), "ingress IPv4 icmp 0-0 "+w.cloud.Subnet.CIDR
			if mode == "shared" {
				w.rules(w.group(), nodePort(w, "tcp", 30080), nodePort(w, "tcp", 30443), nodePort(w, "tcp", 30444), kubeProxy, echo)
			} else {
				groups := w.groups()
				w.rules(groups[0], nodePort(w, "tcp", 30080), kubeProxy)
				w.rules(groups[1], nodePort(w, "tcp", 30443), kubeProxy)
				w.rules(groups[2], nodePort(w, "tcp", 30444), echo)
			}
			for _, svc := range all {
				w.unchanged(svc, nodes)
			}
			w.delete(first)
			for _, svc := range all[1:] {
				w.unchanged(svc, nodes)
				w.delete(svc)
			}
			w.goneWithGroups(ping)
		})
	}
}

// With cloud-provider-openstack, the second sync of such a Service panics or fails.
//
//proves:87
func TestServiceInANetworkWithoutASubnetNamedGetsItsGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{
		simulator: simulator.Options{Config: simulator.Config{OmitSubnet: true}},
		keys:      managed("per-service"),
	})
	nodes, svc := w.nodes(2), service("web", 1)
	svc.Annotations[annotation.NetworkID] = w.cloud.Network.ID
	w.ensure(svc, nodes)
	g := w.group()
	w.rules(g, nodePort(w, "tcp", 30080))
	w.uses(g.ID, nodes...)
	w.unchanged(svc, nodes)
}

//proves:89
func TestPolicyReportOnlyTellsOfSecurityGroupsThatSomebodyElseChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: managed("per-service", "drift-policy", "report")})
	nodes, svc := w.nodes(1), service("web", 1)
	w.ensure(svc, nodes)
	if err := somebody(t, w).DeleteSecurityGroupRule(w.ctx, w.group().Rules[0].ID); err != nil {
		t.Fatal(err)
	}
	w.told()
	w.cloud.Books.Reset()
	w.repair(svc, nodes)
	w.writes(0)
	if told := w.told(); !strings.Contains(told, "LoadBalancerDrifted") || strings.Contains(told, "ChangingLoadBalancer") {
		t.Errorf("told:\n%s", told)
	}
}

// A Node is a member as soon as it is there. Its server, and so its port, is known when
// it is initialized: until then there is nothing to do about it.
func TestANodeThatWaitsToBeInitializedIsNotToldAsUnreached(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{keys: managed("per-service")})
	nodes, svc := w.nodes(2), service("web", 1)
	id := nodes[1].Spec.ProviderID
	nodes[1].Spec.ProviderID = ""
	nodes[1].Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
	w.ensure(svc, nodes)
	if told := w.told(); strings.Contains(told, "Warning") {
		t.Errorf("warned of a new node:\n%s", told)
	}
	nodes[1].Spec.ProviderID, nodes[1].Spec.Taints = id, nil
	w.ensure(svc, nodes)
	w.uses(w.group().ID, nodes...)
	nodes[1].Spec.ProviderID = "" // nobody will ever initialize this one
	w.ensure(svc, nodes)
	if told := w.told(); !strings.Contains(told, "has the address of node-1") {
		t.Errorf("told:\n%s", told)
	}
}

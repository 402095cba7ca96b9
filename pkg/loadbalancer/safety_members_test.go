package loadbalancer_test

import (
	"net/netip"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// A node that is about to be deleted, but is the only one with endpoints, still admits the traffic.
//
//proves:55
func TestSecurityGroups_StayOnLastMemberThatIsAboutToBeDeleted(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{annotation.MembersEndpointNodes, annotation.MembersPods} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			f := &fakeEndpoints{}
			env := newEnvironment(t, environmentOptions{keys: managed("per-service", "lb-provider", "ovn", "members", mode), endpoints: f, simulator: simulator.Options{Release: "2025.1"}})
			nodes, svc := env.nodes(3), service("web", 1)
			policyLocal(svc)
			env.routePods(0, 1, 2)
			f.pods(svc, "0:11")
			env.ensure(svc, nodes)
			going := states(nodes[:1], tainted)
			env.ensure(svc, []*v1.Node{going[0], nodes[1], nodes[2]})
			env.areOnNodes("0")
			found := false
			for _, port := range env.Cloud.Neutron.Ports() {
				if port.FixedIPs[0].Address == nodes[0].Status.Addresses[0].Address {
					found = strings.Contains(strings.Join(port.SecurityGroups, " "), env.group().ID)
				}
			}
			if !found {
				t.Error("the only member does not admit the traffic")
			}
		})
	}
}

// Source ranges that the security groups of the nodes enforce are refused with a pod that has a
// port of its own.
//
//proves:44
func TestPods_WithOwnPortAreRefusedWithSourceRangesOfNodes(t *testing.T) {
	t.Parallel()
	f := &fakeEndpoints{}
	env := newEnvironment(t, environmentOptions{keys: managed("per-service", "lb-provider", "ovn", "members", "pods"), endpoints: f, simulator: simulator.Options{Release: "2025.1"}})
	nodes, svc := env.nodes(2), service("web", 1)
	svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
	spec := simneutron.PortSpec{ProjectID: env.Cloud.Account.ProjectID, SubnetID: env.Cloud.Subnet.ID, Address: "127.100.1.99"}
	if _, err := env.Cloud.Neutron.CreatePort(spec); err != nil {
		t.Fatal(err)
	}
	f.pods(svc, "0:11")
	f.of[0].Endpoints[0].Address = netip.MustParseAddr("127.100.1.99")
	env.Cloud.RequestLog.Reset()
	env.refused(svc, nodes, "cannot be enforced")
	env.writes(0)
}

// A Service that may not have pods as members does not get them after a restart either.
//
//proves:56
func TestPods_OpenNoPortsWhileRefused(t *testing.T) {
	t.Parallel()
	env, f, svc, nodes := withPods(t, managed("per-service"), 1, "")
	svc.Spec.Ports[0].NodePort = 30080
	svc.Annotations[annotation.Members] = annotation.MembersEndpointNodes
	env.ensure(svc, nodes)
	env.areOnNodes("")
	svc.Annotations[annotation.Members] = annotation.MembersPods
	env.refused(svc, nodes, "security groups would open")
	env.restart()
	f.of = members.Endpoints{{
		Family: v1.IPv4Protocol, Ports: []string{svc.Spec.Ports[0].Name}, Numbers: []int{10250},
		Endpoints: []members.Endpoint{{Address: netip.MustParseAddr(nodes[0].Status.Addresses[0].Address), Ready: true, Serving: true}},
	}}
	env.refused(svc, nodes, "security groups would open")
	if rules := strings.Join(rulesOf(env.group()), " "); strings.Contains(rules, "10250") {
		t.Errorf("rules %s", rules)
	}
	for _, m := range env.loadBalancer().Pools[0].Members {
		if m.ProtocolPort != 30080 {
			t.Errorf("member %s:%d", m.Address, m.ProtocolPort)
		}
	}
}

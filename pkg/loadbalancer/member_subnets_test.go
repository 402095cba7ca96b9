package loadbalancer_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// roll replaces all nodes, one after another, and restarts the controller half way; it may
// have written down what it knows, which takes seconds.
func (w *world) roll(svc *v1.Service, nodes []*v1.Node, written bool) []*v1.Node {
	w.t.Helper()
	for i := range nodes {
		nodes = append(nodes[1:len(nodes):len(nodes)], w.node(100+i))
		w.ensure(svc, nodes)
		if i == len(nodes)/2 {
			if written {
				w.writeDown(svc)
			}
			w.restart()
		}
	}
	return nodes
}

// inOneSubnet checks that all members are in one subnet, and the VIP in one.
func (w *world) inOneSubnet(members, vip string) {
	w.t.Helper()
	lb := w.loadBalancer()
	if lb.VIP.SubnetID != vip {
		w.t.Errorf("the VIP is in subnet %s, want %s", lb.VIP.SubnetID, vip)
	}
	for _, pool := range lb.Pools {
		for _, m := range pool.Members {
			if m.SubnetID != members {
				w.t.Errorf("member %s of %s is in subnet %s, want %s", m.Name, pool.Name, m.SubnetID, members)
			}
		}
	}
}

// The VIP of a Service, or of its class, can be in another subnet than cloud.conf names:
// members are in that of cloud.conf, as with cloud-provider-openstack, also those that it
// has not made.
//
//proves:33
func TestMembersAreInTheSubnetOfCloudConfWhereverTheVIPIs(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"the Service", "its class"} {
		for _, release := range []string{"2024.2", "2026.1"} {
			t.Run(by+" "+release, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, worldOptions{simulator: simulator.Options{Release: release}})
				dmz := w.subnet("127.101.0.0/16")
				nodes, svc := w.nodes(3), service("web", 1)
				svc.Annotations = map[string]string{annotation.Internal: "true", annotation.SubnetID: dmz}
				if by == "its class" {
					w.conf.LoadBalancerClass = map[string]*config.LoadBalancerClass{"dmz": {SubnetID: dmz}}
					w.restart()
					svc.Annotations = map[string]string{annotation.Internal: "true", annotation.Class: "dmz"}
				}
				w.ensure(svc, nodes)
				w.inOneSubnet(w.cloud.Subnet.ID, dmz)
				nodes = w.roll(svc, nodes, false)
				w.inOneSubnet(w.cloud.Subnet.ID, dmz)
				w.unchanged(svc, nodes)
			})
		}
	}
}

// The VIP of a load balancer cannot move, and nor do its members: a Service that names
// another subnet later goes on in the one that it has, whoever made the load balancer.
//
//proves:33
func TestMembersStayTogetherWhenTheServiceNamesAnotherSubnet(t *testing.T) {
	t.Parallel()
	for _, maker := range []string{"us", "cloud-provider-openstack"} {
		for _, release := range []string{"2024.2", "2026.1"} {
			t.Run(maker+" "+release, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, worldOptions{simulator: simulator.Options{Release: release, Config: simulator.Config{OmitSubnet: true}}})
				other := w.subnet("127.101.0.0/16")
				nodes, svc := w.nodes(3), service("web", 1)
				if maker != "us" {
					w.inherit(peers("kubernetes", svc), svc, nodes)
				}
				w.ensure(svc, nodes)
				svc.Annotations[annotation.SubnetID] = other
				w.ensure(svc, nodes)
				nodes = w.roll(svc, nodes, maker == "us" && release == "2024.2")
				w.inOneSubnet(w.cloud.Subnet.ID, w.cloud.Subnet.ID)
				svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443))
				svc.Annotations[annotation.ProxyProtocol] = "true" // another pool
				w.ensure(svc, nodes)
				w.inOneSubnet(w.cloud.Subnet.ID, w.cloud.Subnet.ID)
				w.unchanged(svc, nodes)
				svc.Annotations[annotation.MemberSubnetID] = other // who asks for it gets it
				w.ensure(svc, nodes)
				w.inOneSubnet(other, w.cloud.Subnet.ID)
				w.unchanged(svc, nodes)
			})
		}
	}
}

// Without a subnet for the VIP it is that of most nodes, and told; members are each in
// its node's.
//
//proves:33
func TestNodesInTwoSubnetsAreServedAndTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{simulator: simulator.Options{Config: simulator.Config{OmitSubnet: true}}})
	other := w.subnet("127.101.0.0/16")
	nodes := []*v1.Node{w.nodeAt("a", "127.100.1.1"), w.nodeAt("b", "127.101.1.2"), w.nodeAt("c", "127.101.1.3")}
	svc := service("web", 1)
	svc.Annotations[annotation.Internal] = "true"
	w.ensure(svc, nodes)
	lb := w.loadBalancer()
	if lb.VIP.SubnetID != other {
		t.Errorf("the VIP is in subnet %s, want %s", lb.VIP.SubnetID, other)
	}
	for _, m := range lb.Pools[0].Members {
		if want := map[bool]string{true: w.cloud.Subnet.ID, false: other}[m.Name == "a"]; m.SubnetID != want {
			t.Errorf("member %s is in subnet %s, want %s", m.Name, m.SubnetID, want)
		}
	}
	if told := w.told(); strings.Count(told, "Normal LoadBalancerSubnetChosen The VIP is in subnet "+other) != 1 {
		t.Errorf("events:\n%s", told)
	}
	w.unchanged(svc, nodes)
}

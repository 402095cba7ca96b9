package loadbalancer_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// roll replaces all nodes, one after another, and restarts the controller half way, optionally
// after it has written its record, which takes seconds.
func (env *environment) roll(svc *v1.Service, nodes []*v1.Node, written bool) []*v1.Node {
	env.T.Helper()
	for i := range nodes {
		nodes = append(nodes[1:len(nodes):len(nodes)], env.node(100+i))
		env.ensure(svc, nodes)
		if i == len(nodes)/2 {
			if written {
				env.writeDown(svc)
			}
			env.restart()
		}
	}
	return nodes
}

// inOneSubnet checks the subnet of all members, and that of the VIP.
func (env *environment) inOneSubnet(members, vip string) {
	env.T.Helper()
	lb := env.loadBalancer()
	if lb.VIP.SubnetID != vip {
		env.T.Errorf("the VIP is in subnet %s, want %s", lb.VIP.SubnetID, vip)
	}
	for _, pool := range lb.Pools {
		for _, m := range pool.Members {
			if m.SubnetID != members {
				env.T.Errorf("member %s of %s is in subnet %s, want %s", m.Name, pool.Name, m.SubnetID, members)
			}
		}
	}
}

// The VIP of a Service, or of its class, can be in another subnet than that of cloud.conf. Members
// are in that of cloud.conf, as with cloud-provider-openstack, also on a load balancer that
// cloud-provider-openstack has not created.
//
//proves:33
func TestMembers_AreInSubnetOfCloudConfWhereverVIPIs(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"the Service", "its class"} {
		for _, release := range []string{"2024.2", "2026.1"} {
			t.Run(by+" "+release, func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Release: release}})
				dmz := env.subnet("127.101.0.0/16")
				nodes, svc := env.nodes(3), service("web", 1)
				svc.Annotations = map[string]string{annotation.Internal: "true", annotation.SubnetID: dmz}
				if by == "its class" {
					env.Conf.LoadBalancerClass = map[string]*config.LoadBalancerClass{"dmz": {SubnetID: dmz}}
					env.restart()
					svc.Annotations = map[string]string{annotation.Internal: "true", annotation.Class: "dmz"}
				}
				env.ensure(svc, nodes)
				env.inOneSubnet(env.Cloud.Subnet.ID, dmz)
				nodes = env.roll(svc, nodes, false)
				env.inOneSubnet(env.Cloud.Subnet.ID, dmz)
				env.unchanged(svc, nodes)
			})
		}
	}
}

// The VIP of a load balancer cannot move, and its members do not either. A Service that names
// another subnet later keeps its present one, whichever controller created the load balancer.
//
//proves:33
func TestMembers_StayTogetherWhenServiceNamesOtherSubnetForVIP(t *testing.T) {
	t.Parallel()
	for _, maker := range []string{"us", "cloud-provider-openstack"} {
		for _, release := range []string{"2024.2", "2026.1"} {
			t.Run(maker+" "+release, func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Release: release, Config: simulator.Config{OmitSubnet: true}}})
				other := env.subnet("127.101.0.0/16")
				nodes, svc := env.nodes(3), service("web", 1)
				if maker != "us" {
					env.inherit(peers("kubernetes", svc), svc, nodes)
				}
				env.ensure(svc, nodes)
				svc.Annotations[annotation.SubnetID] = other
				env.ensure(svc, nodes)
				nodes = env.roll(svc, nodes, maker == "us" && release == "2024.2")
				env.inOneSubnet(env.Cloud.Subnet.ID, env.Cloud.Subnet.ID)
				svc.Spec.Ports = append(svc.Spec.Ports, port(v1.ProtocolTCP, 443))
				svc.Annotations[annotation.ProxyProtocol] = "true" // another pool
				env.ensure(svc, nodes)
				env.inOneSubnet(env.Cloud.Subnet.ID, env.Cloud.Subnet.ID)
				env.unchanged(svc, nodes)
				svc.Annotations[annotation.MemberSubnetID] = other // an explicit request is applied
				env.ensure(svc, nodes)
				env.inOneSubnet(other, env.Cloud.Subnet.ID)
				env.unchanged(svc, nodes)
			})
		}
	}
}

// Without a subnet for the VIP it is in that of most nodes, and an event reports it. Members are in
// the subnets of their nodes.
//
//proves:33
func TestMembers_OfTwoSubnetsAreServedAndSubnetOfVIPIsReported(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Config: simulator.Config{OmitSubnet: true}}})
	other := env.subnet("127.101.0.0/16")
	nodes := []*v1.Node{env.nodeAt("a", "127.100.1.1"), env.nodeAt("b", "127.101.1.2"), env.nodeAt("c", "127.101.1.3")}
	svc := service("web", 1)
	svc.Annotations[annotation.Internal] = "true"
	env.ensure(svc, nodes)
	lb := env.loadBalancer()
	if lb.VIP.SubnetID != other {
		t.Errorf("the VIP is in subnet %s, want %s", lb.VIP.SubnetID, other)
	}
	for _, m := range lb.Pools[0].Members {
		if want := map[bool]string{true: env.Cloud.Subnet.ID, false: other}[m.Name == "a"]; m.SubnetID != want {
			t.Errorf("member %s is in subnet %s, want %s", m.Name, m.SubnetID, want)
		}
	}
	if emitted := env.emitted(); strings.Count(emitted, "Normal LoadBalancerSubnetChosen The VIP is in subnet "+other) != 1 {
		t.Errorf("events:\n%s", emitted)
	}
	env.unchanged(svc, nodes)
}

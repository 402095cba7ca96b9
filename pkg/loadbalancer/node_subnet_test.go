package loadbalancer_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/requestlog"
)

// moveTo gives the server of a node a port in another subnet, and returns the node with its
// address.
func (env *environment) moveTo(node *v1.Node, subnet, address string) *v1.Node {
	env.T.Helper()
	if _, err := env.Cloud.Neutron.CreatePort(neutron.PortSpec{
		ProjectID: env.Cloud.Account.ProjectID, NetworkID: env.Cloud.Network.ID, SubnetID: subnet, Address: address,
		DeviceID: cluster.ServerID(node.Spec.ProviderID), DeviceOwner: "compute:nova",
	}); err != nil {
		env.T.Fatal(err)
	}
	moved := node.DeepCopy()
	moved.Status.Addresses[0].Address = address
	return moved
}

// subnetIs fails unless the member at an address is in a subnet.
func (env *environment) subnetIs(when, address, subnet string) {
	env.T.Helper()
	for _, m := range env.loadBalancer().Pools[0].Members {
		if m.Address == address && m.SubnetID != subnet {
			env.T.Errorf("%s: member %s at %s is in subnet %q, its node in %s", when, m.Name, m.Address, m.SubnetID, subnet)
		}
	}
}

// A node gets another port, outside of the VIP's subnet, moments after its ports were read. A
// member without a subnet would be taken for one in the VIP's subnet, and stay there.
func TestMembers_AreInSubnetOfNodeThatGotAnotherPort(t *testing.T) {
	t.Parallel()
	for _, refused := range []bool{false, true} {
		t.Run(map[bool]string{false: "", true: "refused"}[refused], func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Config: simulator.Config{OmitSubnet: true}}})
			other := env.subnet("127.101.0.0/16")
			nodes := []*v1.Node{env.nodeAt("a", "127.100.1.1"), env.nodeAt("b", "127.100.1.2"), env.nodeAt("c", "127.100.1.3")}
			svc := service("web", 1)
			svc.Annotations[annotation.Internal] = "true"
			env.ensure(svc, nodes)
			nodes = []*v1.Node{nodes[0], nodes[1], env.moveTo(nodes[2], other, "127.101.1.3")}
			if refused {
				svc.Annotations[annotation.MaxMembers] = "many"
				env.restart()
				env.refused(svc, nodes[:2], "follows its nodes or pods") // which reads the ports
				env.refused(svc, nodes, "follows its nodes or pods")
				env.subnetIs("at once", "127.101.1.3", other)
				return
			}
			env.ensure(svc, nodes)
			env.subnetIs("at once", "127.101.1.3", other)
			env.restart() // which reads the ports again, as happens after ten minutes
			env.ensure(svc, nodes)
			env.subnetIs("after a restart", "127.101.1.3", other)
			nodes = append(nodes, env.nodeAt("d", "127.100.1.4"), env.nodeAt("e", "127.100.1.5")) // a batch of all members
			env.ensure(svc, nodes)
			env.subnetIs("after a batch", "127.101.1.3", other)
		})
	}
}

// An address without a port in the project is looked up once more, not in each round.
func TestMembers_LookForAddressOfNoPortOnlyOnce(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Config: simulator.Config{OmitSubnet: true}}})
	nodes, svc := env.nodes(3), service("web", 1)
	env.ensure(svc, nodes)
	elsewhere := nodes[2].DeepCopy()
	elsewhere.Status.Addresses[0].Address = "127.100.9.9"
	env.Cloud.RequestLog.Reset()
	env.ensure(svc, []*v1.Node{nodes[0], nodes[1], elsewhere})
	env.ensure(svc, []*v1.Node{nodes[0], elsewhere})
	env.ensure(svc, []*v1.Node{nodes[1], elsewhere})
	if got := env.Cloud.RequestLog.Requests(requestlog.Reads(), requestlog.Under("/network/v2.0/ports")); len(got) != 1 {
		t.Errorf("%d requests for ports, want 1:\n%s", len(got), printed(got))
	}
}

// A member without a subnet, as an earlier version may have created it, moves to that of its node
// with the next change of nodes.
func TestMembers_WithoutSubnetMoveToThatOfTheirNode(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Config: simulator.Config{OmitSubnet: true}}})
	other := env.subnet("127.101.0.0/16")
	nodes := env.nodes(3)
	moved := env.moveTo(nodes[2], other, "127.101.1.3")
	hidden := moved.DeepCopy()
	hidden.Spec.ProviderID = ""
	svc := service("web", 1)
	svc.Annotations[annotation.Internal] = "true"
	env.ensure(svc, []*v1.Node{nodes[0], nodes[1], hidden})
	env.subnetIs("unknown", "127.101.1.3", "")
	env.ensure(svc, []*v1.Node{nodes[0], moved})
	env.subnetIs("known", "127.101.1.3", other)
	env.unchanged(svc, []*v1.Node{nodes[0], moved})
}

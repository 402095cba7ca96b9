package loadbalancer_test

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

// nodeOf returns a Node of a server that is gone.
func nodeOf(name, address string) *v1.Node {
	node := &v1.Node{Status: v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}}}
	node.Name, node.Spec.ProviderID = name, "openstack:///0f0e0d0c-0000-4000-8000-000000000001"
	node.Status.NodeInfo.SystemUUID = "0f0e0d0c-0000-4000-8000-000000000001"
	return node
}

// occupied creates a port with this address in the nodes' subnet.
func (env *environment) occupied(address string, change func(*neutron.PortSpec)) neutron.Port {
	env.T.Helper()
	spec := neutron.PortSpec{ProjectID: env.Cloud.Account.ProjectID, SubnetID: env.Cloud.Subnet.ID, Address: address}
	change(&spec)
	port, err := env.Cloud.Neutron.CreatePort(spec)
	if err != nil {
		env.T.Fatal(err)
	}
	return port
}

// The server of a node was deleted, and a port that does not belong to the node has its address.
// The Node still exists.
func TestSecurityGroups_AreNotOnWhatHasGotTheAddressOfANode(t *testing.T) {
	t.Parallel()
	const address = "127.100.1.77"
	for name, change := range map[string]func(*environment, *neutron.PortSpec){
		"a server of a user": func(_ *environment, spec *neutron.PortSpec) {
			spec.DeviceOwner, spec.DeviceID = "compute:nova", "5f2b1c9e-7d3a-4c8e-9b1f-0a6d2e4c8f10"
		},
		"a share": func(_ *environment, spec *neutron.PortSpec) {
			spec.DeviceOwner, spec.DeviceID = "manila:share", "a-share"
		},
		"a port of no server":   func(_ *environment, spec *neutron.PortSpec) { spec.Name = "reserved" },
		"a VIP":                 func(_ *environment, spec *neutron.PortSpec) { spec.DeviceOwner, spec.DeviceID = "Octavia", "lb-1" },
		"a VIP of an older ovn": func(_ *environment, spec *neutron.PortSpec) { spec.Name = "ovn-lb-vip-1" },
		"another project": func(env *environment, spec *neutron.PortSpec) {
			spec.ProjectID = env.Cloud.Admin.ProjectID
			spec.DeviceOwner, spec.DeviceID = "compute:nova", "5f2b1c9e-7d3a-4c8e-9b1f-0a6d2e4c8f10"
		},
	} {
		for _, mode := range []string{"per-service", "shared"} {
			t.Run(name+", "+mode, func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{keys: managed(mode)})
				alive, svc := env.nodes(2), service("web", 1)
				port := env.occupied(address, func(spec *neutron.PortSpec) { change(env, spec) })
				all := append(alive, nodeOf("node-gone", address))
				env.ensure(svc, all)
				env.uses(env.group().ID, alive...)
				if emitted := env.emitted(); !strings.Contains(emitted, "SecurityGroupPortNotFound") || !strings.Contains(emitted, "node-gone") {
					t.Errorf("it does not say which node has no port:\n%s", emitted)
				}
				for _, now := range env.Cloud.Neutron.Ports() {
					if now.ID == port.ID && !slices.Equal(now.SecurityGroups, port.SecurityGroups) {
						t.Errorf("the port has the groups %v, had %v", now.SecurityGroups, port.SecurityGroups)
					}
				}
				env.unchanged(svc, all)
			})
		}
	}
}

// If the provider ID of a node names no server, the group is on no port of a load balancer or of
// another project.
func TestSecurityGroups_OfNodesWithoutServerAreNotOnVIPsAndPortsOfOthers(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*environment, *neutron.PortSpec){
		"a VIP of an older ovn": func(_ *environment, spec *neutron.PortSpec) { spec.Name = "ovn-lb-vip-1" },
		"a VIP of ovn":          func(_ *environment, spec *neutron.PortSpec) { spec.DeviceOwner = "ovn-lb:vip" },
		"another project":       func(env *environment, spec *neutron.PortSpec) { spec.ProjectID = env.Cloud.Admin.ProjectID },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed("per-service")})
			alive, svc := env.nodes(1), service("web", 1)
			env.occupied("127.100.1.77", func(spec *neutron.PortSpec) { change(env, spec) })
			bare := nodeOf("bare", "127.100.1.77")
			bare.Spec.ProviderID = "metal3://default/bare"
			env.ensure(svc, append(alive, bare))
			env.uses(env.group().ID, alive...)
			if emitted := env.emitted(); !strings.Contains(emitted, "No Neutron port of this project has the address of bare") {
				t.Errorf("emitted:\n%s", emitted)
			}
		})
	}
}

// A group on such a port is removed when the node's server is gone.
func TestSecurityGroups_LeaveThePortOfAnotherServer(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			nodes, svc := env.nodes(3), service("web", 1)
			env.ensure(svc, nodes)
			group := env.group().ID
			env.uses(group, nodes...)
			gone := nodeOf("node-2", nodes[2].Status.Addresses[0].Address)
			svc.Spec.Ports[0].NodePort++
			env.restart()
			env.ensure(svc, append(nodes[:2:2], gone))
			env.uses(group, nodes[:2]...)
			env.delete(svc)
			env.uses(group)
		})
	}
}

// If a port belongs to another server, the source ranges would have no effect on the node.
func TestSecurityGroups_RefuseSourceRangesWhereAPortIsOfAnotherServer(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("per-service", "lb-provider", "ovn", "lb-method", "SOURCE_IP_PORT")})
	nodes, svc := env.nodes(2), service("web", 1)
	svc.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
	gone := nodeOf("node-gone", nodes[1].Status.Addresses[0].Address)
	env.refused(svc, append(nodes[:1:1], gone), "a port that is not of their server has the address of node-gone")
}

// On a VLAN port of a server, Neutron does not name the server.
func TestSecurityGroups_AreOnTheSubportOfANode(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			nodes, svc := env.nodes(2), service("web", 1)
			child := env.occupied("127.100.1.77", func(*neutron.PortSpec) {})
			for _, port := range env.Cloud.Neutron.Ports() {
				if strings.HasSuffix(nodes[1].Spec.ProviderID, "/"+port.DeviceID) && port.DeviceID != "" {
					if _, err := env.Cloud.Neutron.AddTrunk(port.ID, child.ID); err != nil {
						t.Fatal(err)
					}
				}
			}
			nodes[1].Status.Addresses[0].Address = "127.100.1.77"
			env.ensure(svc, nodes)
			env.uses(env.group().ID, nodes...)
		})
	}
}

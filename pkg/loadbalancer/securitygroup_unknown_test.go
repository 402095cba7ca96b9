package loadbalancer_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

const portsRoute = "/network/v2.0/ports"

// as returns copies of nodes with another provider ID. If that names an earlier server, the kubelet
// reports the one on which it runs.
func as(providerID string, nodes []*v1.Node) []*v1.Node {
	var changed []*v1.Node
	for _, node := range nodes {
		node = node.DeepCopy()
		if cluster.ServerID(providerID) != "" {
			node.Status.NodeInfo.SystemUUID = strings.ToUpper(cluster.ServerID(node.Spec.ProviderID))
		}
		node.Spec.ProviderID = providerID
		changed = append(changed, node)
	}
	return changed
}

// unknownServers are provider IDs that name no server of the project.
func unknownServers() map[string]string {
	return map[string]string{
		"none":              "",
		"another provider":  "hcloud://12345678",
		"an earlier server": "openstack:///0f0e0d0c-0000-4000-8000-000000000001",
		"odd":               "openstack://RegionOne",
	}
}

// The ports of nodes with an unknown server are those with their addresses in the members' subnet.
func TestSecurityGroups_AreOnPortsOfNodesOfUnknownServers(t *testing.T) {
	t.Parallel()
	for name, providerID := range unknownServers() {
		for _, mode := range []string{"per-service", "shared"} {
			t.Run(name+", "+mode, func(t *testing.T) {
				t.Parallel()
				env := newEnvironment(t, environmentOptions{keys: managed(mode)})
				known, svc := env.nodes(4), service("web", 1)
				nodes := append(known[:1:1], as(providerID, known[1:])...)
				env.ensure(svc, nodes)
				group := env.group().ID
				env.uses(group, nodes...)
				if emitted := env.emitted(); strings.Contains(emitted, "SecurityGroupPortNotFound") {
					t.Errorf("it says that a port is not found:\n%s", emitted)
				}
				env.unchanged(svc, nodes)
				env.Cloud.RequestLog.Reset()
				if err := env.engine.Update(env.ctx, svc, nodes[:3]); err != nil {
					t.Fatal(err)
				}
				env.uses(group, nodes[:3]...)
				if reads := env.Cloud.RequestLog.Count(http.MethodGet, portsRoute); reads > 1 {
					t.Errorf("a round reads ports with %d requests, want one at most", reads)
				}
				env.restart()
				env.ensure(svc, nodes[:3])
				env.uses(group, nodes[:3]...)
				env.delete(svc)
				env.uses(group)
			})
		}
	}
}

// The address of a node proves nothing on a port in a subnet without members.
func TestSecurityGroups_AreNotOnPortsOutsideOfTheMembersSubnet(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := newEnvironment(t, environmentOptions{keys: managed(mode)})
			nodes, svc := env.nodes(2), service("web", 1)
			stranger := nodes[1].DeepCopy()
			stranger.Name, stranger.Spec.ProviderID = "stranger", "metal3://default/stranger"
			stranger.Status.Addresses[0].Address = "127.102.0.7"
			foreign := env.portIn(env.subnet("127.102.0.0/16"), "127.102.0.7")
			nobody := stranger.DeepCopy()
			nobody.Name, nobody.Status.Addresses[0].Address = "nobody", "127.102.0.8"
			env.ensure(svc, append(nodes, stranger, nobody))
			env.uses(env.group().ID, nodes...)
			emitted := env.emitted()
			for _, want := range []string{
				"No Neutron port of this project has the address of nobody:",
				"The servers of stranger are unknown",
			} {
				if !strings.Contains(emitted, want) {
					t.Errorf("it does not say %q:\n%s", want, emitted)
				}
			}
			for _, port := range env.Cloud.Neutron.Ports() {
				if port.ID == foreign && len(port.SecurityGroups) != 1 {
					t.Errorf("the port in another subnet has the groups %v", port.SecurityGroups)
				}
			}
		})
	}
}

// Source ranges are enforced if the port is found by its address, and refused if it is not.
func TestSecurityGroups_EnforceSourceRangesOnPortsOfUnknownServers(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("per-service", "lb-provider", "ovn", "lb-method", "SOURCE_IP_PORT")})
	known, svc := env.nodes(2), service("web", 1)
	svc.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24"}
	nodes := append(known[:1:1], as("hcloud://12345678", known[1:])...)
	strayed := nodes[1].DeepCopy()
	strayed.Name, strayed.Status.Addresses[0].Address = "strayed", "127.102.0.7"
	env.portIn(env.subnet("127.102.0.0/16"), "127.102.0.7")
	env.refused(svc, append(nodes[:2:2], strayed), "their servers are unknown, and no port in the members' subnets has the address of strayed")
	env.ensure(svc, nodes)
	env.uses(env.group().ID, nodes...)
}

// portIn creates a port with this address in a subnet.
func (env *environment) portIn(subnet, address string) (id string) {
	env.T.Helper()
	port, err := env.Cloud.Neutron.CreatePort(neutron.PortSpec{
		ProjectID: env.Cloud.Account.ProjectID, NetworkID: env.Cloud.Network.ID, SubnetID: subnet, Address: address,
		DeviceOwner: "compute:nova", DeviceID: "a-vm",
	})
	if err != nil {
		env.T.Fatal(err)
	}
	return port.ID
}

// Services reach members in different subnets. One that does not know the subnet of a node leaves
// the shared group on the port that another one has found.
func TestSharedGroup_StaysOnPortThatOnlyAnotherServiceFinds(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: managed("shared"), simulator: simulator.Options{Config: simulator.Config{OmitSubnet: true}}})
	other := env.subnet("127.101.0.0/16")
	nodes := env.nodes(1)
	stranger := nodes[0].DeepCopy()
	stranger.Name, stranger.Spec.ProviderID, stranger.Status.Addresses[0].Address = "stranger", "metal3://default/stranger", "127.101.0.7"
	env.portIn(other, "127.101.0.7")
	all := append(nodes, stranger)
	finds, misses := service("a", 1), service("b", 1)
	finds.Annotations[annotation.MemberSubnetID] = other
	misses.Spec.Ports[0].NodePort++
	for _, svc := range []*v1.Service{finds, misses} {
		svc.Annotations[annotation.Internal] = "true"
		env.ensure(svc, all)
		env.uses(env.group().ID, all...)
	}
	env.restart()
	env.ensure(misses, all)
	env.uses(env.group().ID, all...)
}

// A node was replaced, and the new one has the address of the old one. The old Node still exists.
func TestSecurityGroups_AreOnThePortOfTheNodeThatHasTheAddressNow(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"per-service", "shared"} {
		for name, age := range map[string]time.Duration{"older": -time.Hour, "of the same age": 0, "newer": time.Hour} {
			for _, omitted := range []bool{false, true} {
				if omitted && age >= 0 {
					continue // the subnet of the address is unknown
				}
				t.Run(fmt.Sprintf("%s, the dead one is %s, subnet omitted %v", mode, name, omitted), func(t *testing.T) {
					t.Parallel()
					env := newEnvironment(t, environmentOptions{keys: managed(mode), simulator: simulator.Options{Config: simulator.Config{OmitSubnet: omitted}}})
					alive := env.nodeAt("node-b", "127.100.1.1")
					alive.CreationTimestamp = metav1.NewTime(time.Now())
					dead := alive.DeepCopy()
					dead.Name, dead.Spec.ProviderID = "node-a", "openstack:///0f0e0d0c-0000-4000-8000-000000000001"
					dead.CreationTimestamp = metav1.NewTime(alive.CreationTimestamp.Add(age))
					svc := service("web", 1)
					env.ensure(svc, []*v1.Node{dead, alive})
					env.uses(env.group().ID, alive)
					if emitted := env.emitted(); strings.Contains(emitted, "SecurityGroupPortNotFound") {
						t.Errorf("it says that a port is not found:\n%s", emitted)
					}
					env.unchanged(svc, []*v1.Node{dead, alive})
				})
			}
		}
	}
}

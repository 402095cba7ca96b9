package lookup_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// Services with the same nodes come one after the other: the subnets of nodes are put
// together once for all of them, as long as nothing of it changes.
func TestMemberSubnets_ArePutTogetherOnceForTheSameNodes(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	nodes := []members.Backend{env.node("a", "127.100.1.1"), env.node("b", "127.100.1.2")}
	at := func(backends []members.Backend) uintptr {
		found, err := env.reader.MemberSubnets(t.Context(), backends)
		if err != nil || len(found) != len(backends) {
			t.Fatalf("subnets %v, %v", found, err)
		}
		return reflect.ValueOf(found).Pointer()
	}
	at(nodes) // which reads the ports
	first := at(nodes)
	if again := at(nodes); again != first {
		t.Error("the same nodes are looked through again")
	}
	if other := at(append([]members.Backend{}, nodes[:1]...)); other == first {
		t.Error("other nodes have the subnets of these")
	}
	at(nodes)
	first = at(nodes)
	env.reader.ForgetPorts(cluster.ServerID(nodes[0].Node.Spec.ProviderID))
	if again := at(nodes); again == first {
		t.Error("ports were forgotten, and are not read again")
	}
}

// A node may have a new address. A port without the address is read again once, not for each Service.
func TestMemberSubnets_ReadPortsAgainOnceForAMissingAddress(t *testing.T) {
	t.Parallel()
	cloud := &tables{}
	nodes := nodesOf(cloud, at{"a", "10.0.0.1"}, at{"b", "10.0.1.1"})
	reader, clk := cloud.reader()
	moved := slices.Clone(nodes)
	moved[1].Address = "10.0.1.2"
	gone := slices.Clone(nodes)
	gone[0].Address = "10.0.0.9"
	for _, step := range []struct {
		what    string
		change  func()
		nodes   []members.Backend
		want    map[string]string
		batches int // of ports
	}{
		{"unknown server", func() {}, gone[:1], map[string]string{}, 1},
		{"known server without the address", func() {}, gone[:1], map[string]string{}, 1},
		{"the same again", func() {}, gone[:1], map[string]string{}, 0},
		{"one more server", func() {}, nodes, map[string]string{"10.0.0.1": "a", "10.0.1.1": "b"}, 1},
		{"another address", func() { cloud.servers[1].FixedIPs = []neutron.FixedIP{{SubnetID: "c", IPAddress: "10.0.1.2"}} }, moved, map[string]string{"10.0.0.1": "a", "10.0.1.2": "c"}, 1},
		{"nothing new", func() {}, moved, map[string]string{"10.0.0.1": "a", "10.0.1.2": "c"}, 0},
		{"everything is old", func() { clk.SetTime(clk.Now().Add(age + 1)) }, moved, map[string]string{"10.0.0.1": "a", "10.0.1.2": "c"}, 1},
	} {
		step.change()
		found, err := reader.MemberSubnets(t.Context(), step.nodes)
		if diff := cmp.Diff(step.want, found); diff != "" || err != nil {
			t.Errorf("%s: error %v, %s", step.what, err, diff)
		}
		cloud.asked(t, step.what, "PortsOfDevices", step.batches)
	}
}

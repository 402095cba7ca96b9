package lookup_test

import (
	"reflect"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
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

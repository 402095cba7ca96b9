package loadbalancer_test

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/octavia"
)

// subnet adds another subnet to the nodes' network.
func (env *environment) subnet(cidr string) string {
	env.T.Helper()
	subnet, err := env.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{
		ProjectID: env.Cloud.Account.ProjectID, NetworkID: env.Cloud.Network.ID, Name: "other", CIDR: cidr,
	})
	if err != nil {
		env.T.Fatal(err)
	}
	return subnet.ID
}

func memberIDs(pool *octavia.Pool) []string {
	var ids []string
	for _, m := range pool.Members {
		ids = append(ids, m.ID)
	}
	return ids
}

// Members that move to another subnet are recreated there, because Octavia would write a change of
// the subnet only to its database. Half of them serve meanwhile.
//
//proves:33
func TestMembers_MoveToOtherSubnetInBatchesOrOneByOne(t *testing.T) {
	t.Parallel()
	const batches = "PUT members, PUT members, PUT members"
	for provider, want := range map[string]string{
		"amphora": batches,
		"ovn":     batches,
		"f5":      strings.TrimSuffix(strings.Repeat("DELETE members, POST members, ", 4), ", "),
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			var env *environment
			if provider == "f5" {
				env = vendorWorld(t, provider, map[string]string{"provider-requires-serial-api-calls": "true"})
			} else {
				env = newEnvironment(t, environmentOptions{keys: map[string]string{"lb-provider": provider}})
			}
			other := env.subnet("127.101.0.0/16")
			nodes, svc := env.nodes(5), service("web", 1)
			env.ensure(svc, nodes[:4])
			before := memberIDs(env.loadBalancer().Pools[0])

			env.Cloud.RequestLog.Reset()
			svc.Annotations[annotation.MemberSubnetID] = other
			env.ensure(svc, nodes[:4])

			if got := childWrites(env); got != want {
				t.Errorf("the move is %s, want %s", got, want)
			}
			for _, m := range env.loadBalancer().Pools[0].Members {
				if m.SubnetID != other || slices.Contains(before, m.ID) {
					t.Errorf("member %+v is not a new one in the other subnet", m)
				}
			}
			env.unchanged(svc, nodes[:4])
			env.ensure(svc, nodes) // a new node is added there as well
			if pool := env.loadBalancer().Pools[0]; len(pool.Members) != 5 || pool.Members[4].SubnetID != other {
				t.Errorf("members %+v", pool.Members)
			}
			env.unchanged(svc, nodes)
		})
	}
}

// If a process is killed while members move, the next one completes the move.
//
//proves:33
func TestCrash_DuringMoveOfMembersIsFinishedByNextProcess(t *testing.T) {
	t.Parallel()
	everyMoment(t, func(n int, afterWork bool) bool {
		env := newEnvironment(t, environmentOptions{})
		other := env.subnet("127.101.0.0/16")
		nodes, svc := env.nodes(3), service("web", 1)
		env.ensure(svc, nodes)
		svc.Annotations[annotation.MemberSubnetID] = other
		killed := env.killed(svc, nodes, n, afterWork)
		env.ensure(svc, nodes)
		for _, m := range env.loadBalancer().Pools[0].Members {
			if m.SubnetID != other {
				t.Errorf("killed at moment %d: member %+v", n, m)
			}
		}
		env.unchanged(svc, nodes)
		env.Cloud.Close()
		return killed
	})
}

// Octavia before 16.0 reports the subnet of a single member of a pool. The others are not rewritten
// as if they were in that subnet, too.
func TestMembers_OfTwoSubnetsEachKeepTheirOwn(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{octavia.ProviderAmphora, octavia.ProviderOVN} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			env, other := twoSubnets(t, provider)
			nodes := []*v1.Node{
				env.nodeAt("a", "127.100.1.1"), env.nodeAt("b", "127.101.1.2"), env.nodeAt("c", "127.100.1.3"), env.nodeAt("d", "127.101.1.4"),
			}
			svc := service("web", 1)
			svc.Annotations[annotation.Internal] = "true"
			env.ensure(svc, nodes[:3])
			env.restart() // the new process has no state and reads everything
			env.ensure(svc, nodes[:3])
			env.ensure(svc, []*v1.Node{nodes[0], nodes[1], nodes[3]})
			want := map[string]string{"127.100.1.1": env.Cloud.Subnet.ID, "127.101.1.2": other, "127.101.1.4": other}
			for _, m := range env.loadBalancer().Pools[0].Members {
				if m.SubnetID != want[m.Address] {
					t.Errorf("member %s is in subnet %s, want %s", m.Address, m.SubnetID, want[m.Address])
				}
			}
			env.unchanged(svc, []*v1.Node{nodes[0], nodes[1], nodes[3]})
		})
	}
}

// twoSubnets returns an Octavia of 2024.2 with a separate network for VIPs, the nodes' subnet, and
// another one. It returns the ID of that.
func twoSubnets(t *testing.T, provider string) (env *environment, other string) {
	t.Helper()
	keys := map[string]string{"lb-provider": provider}
	if provider == octavia.ProviderOVN {
		keys["lb-method"] = "SOURCE_IP_PORT"
	}
	env = newEnvironment(t, environmentOptions{keys: keys, simulator: simulator.Options{Release: "2024.2", Config: simulator.Config{OmitSubnet: true}}})
	vips := env.Cloud.Neutron.AddNetwork(neutron.NetworkSpec{ProjectID: env.Cloud.Account.ProjectID, Name: "vips"})
	if _, err := env.Cloud.Neutron.AddSubnet(neutron.SubnetSpec{ProjectID: env.Cloud.Account.ProjectID, NetworkID: vips.ID, CIDR: "127.110.0.0/16"}); err != nil {
		t.Fatal(err)
	}
	env.Conf.LoadBalancer.NetworkID = vips.ID
	env.restart()
	return env, env.subnet("127.101.0.0/16")
}

// On such an Octavia members still move when the Service names another subnet, also if that
// happened while no process ran.
//
//proves:33
func TestMembers_MoveToOtherSubnetWhereOnlyOneIsRead(t *testing.T) {
	t.Parallel()
	for _, written := range []bool{false, true} {
		env := newEnvironment(t, environmentOptions{simulator: simulator.Options{Release: "2024.2"}})
		other := env.subnet("127.101.0.0/16")
		nodes, svc := env.nodes(4), service("web", 1)
		env.ensure(svc, nodes)
		if written {
			env.writeDown(svc)
		}
		env.restart()
		svc.Annotations[annotation.MemberSubnetID] = other
		env.ensure(svc, nodes)
		for _, m := range env.loadBalancer().Pools[0].Members {
			if m.SubnetID != other {
				t.Errorf("written down %v: member %s is in subnet %s, want %s", written, m.Address, m.SubnetID, other)
			}
		}
		env.unchanged(svc, nodes)
	}
}

// If no setting names a subnet for members, they stay in theirs, which this controller or an
// earlier one found from the nodes.
func TestMembers_StayInSubnetWhenNoneIsNamed(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{})
	other := env.subnet("127.101.0.0/16")
	nodes, svc := env.nodes(2), service("web", 1)
	svc.Annotations[annotation.MemberSubnetID] = other
	env.ensure(svc, nodes)
	delete(svc.Annotations, annotation.MemberSubnetID)
	env.unchanged(svc, nodes)
}

// The selector of cloud.conf, its annotation, and an annotation that removes it decide on members,
// at creation and later.
//
//proves:52
func TestMembers_FollowNodeSelector(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, environmentOptions{keys: map[string]string{"node-selector": "pool=web"}})
	nodes, svc := env.nodes(4), service("web", 1)
	for i, pool := range []string{"web", "web", "db", ""} {
		if nodes[i].Labels = map[string]string{}; pool != "" {
			nodes[i].Labels["pool"] = pool
		}
	}
	members := func() string {
		var names []string
		for _, m := range env.loadBalancer().Pools[0].Members {
			names = append(names, m.Name)
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	for _, step := range []struct {
		change func()
		want   string
	}{
		{func() {}, "node-0 node-1"},
		{func() { svc.Annotations[annotation.NodeSelector] = "pool" }, "node-0 node-1 node-2"},
		{func() { svc.Annotations[annotation.NodeSelector] = "" }, "node-0 node-1 node-2 node-3"},
		{func() { svc.Annotations[annotation.NodeSelector] = "pool=db" }, "node-2"},
		{func() { // a label changes
			nodes[3] = nodes[3].DeepCopy()
			nodes[3].Labels["pool"] = "db"
		}, "node-2 node-3"},
		{func() { delete(svc.Annotations, annotation.NodeSelector) }, "node-0 node-1"},
	} {
		step.change()
		env.ensure(svc, nodes)
		if got := members(); got != step.want {
			t.Errorf("members %s, want %s", got, step.want)
		}
	}
	env.unchanged(svc, nodes)
	for text, want := range map[string]bool{"pool=none": true, "": false} {
		svc.Annotations[annotation.NodeSelector] = text
		if got := env.engine.SelectsNodes(svc); got != want {
			t.Errorf("selector %q: labels of nodes matter %v, want %v", text, got, want)
		}
	}
}

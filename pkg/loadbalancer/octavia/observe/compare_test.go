package observe_test

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/observe"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// treeOf is the status tree of a load balancer with a listener of ours, one of
// another client's, and a pool of another client's behind a policy of ours.
func treeOf() *octavia.StatusTree {
	node := func(id string) octavia.NodeStatus {
		return octavia.NodeStatus{ID: id, Name: "name of " + id, ProvisioningStatus: "ACTIVE"}
	}
	return &octavia.StatusTree{NodeStatus: node("lb"), Listeners: []octavia.ListenerStatus{
		{NodeStatus: node("listener"), Pools: []octavia.PoolStatus{
			{NodeStatus: node("policy's"), Members: []octavia.MemberStatus{{NodeStatus: node("x")}}},
			{
				NodeStatus: node("pool"), Monitor: octavia.MonitorStatus{NodeStatus: node("monitor")},
				Members: []octavia.MemberStatus{{NodeStatus: node("a"), Address: "10.0.0.1", Port: 30080}, {NodeStatus: node("b"), Address: "10.0.0.2", Port: 30080}},
			},
		}},
		{NodeStatus: node("somebody's"), Pools: []octavia.PoolStatus{{NodeStatus: node("y")}}},
	}}
}

// lbOf is the model of the same.
func lbOf() *model.LoadBalancer {
	return &model.LoadBalancer{
		ID: "lb",
		Listeners: []model.Listener{{ID: "listener", Protocol: model.TCP, Port: 80, Pool: model.Pool{
			ID: "pool", Name: "pool_0", Monitor: &model.Monitor{ID: "monitor"},
			Members: model.MembersOf(model.Member{ID: "a", Address: "10.0.0.1", Port: 30080}, model.Member{Address: "10.0.0.2", Port: 30080}),
		}}},
		Foreign: []model.Foreign{{Kind: "listener", ID: "somebody's", Name: "somebody's"}, {Kind: "pool", ID: "policy's"}, {Kind: "pool", ID: "unused"}},
	}
}

//proves:89
func TestCompare_NamesPartThatDiffers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*model.LoadBalancer, *octavia.StatusTree)
		want   string // "" for no difference
	}{
		"nothing": {func(*model.LoadBalancer, *octavia.StatusTree) {}, ""},
		"a listener of ours went": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners = tree.Listeners[1:]
		}, "listener TCP/80 is gone"},
		"a listener of somebody's went": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners = tree.Listeners[:1]
		}, "listener somebody's is gone"},
		"a listener came": {func(lb *model.LoadBalancer, _ *octavia.StatusTree) { lb.Foreign = lb.Foreign[1:] }, "listener name of somebody's is new"},
		"a pool came":     {func(lb *model.LoadBalancer, _ *octavia.StatusTree) { lb.Foreign = lb.Foreign[:1] }, "pool name of policy's of listener TCP/80 is new"},
		"the pool went": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools = tree.Listeners[0].Pools[:1]
		}, "pool pool_0 of listener TCP/80 is gone"},
		"a listener without a pool got one": {func(lb *model.LoadBalancer, _ *octavia.StatusTree) {
			lb.Listeners[0].Pool = model.Pool{}
		}, "pool name of pool of listener TCP/80 is new"},
		"the monitor went": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools[1].Monitor = octavia.MonitorStatus{}
		}, "health monitor of listener TCP/80"},
		"a monitor came": {func(lb *model.LoadBalancer, _ *octavia.StatusTree) { lb.Listeners[0].Pool.Monitor = nil }, "health monitor of listener TCP/80"},
		"the monitor is another": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools[1].Monitor.ID = "another"
		}, "health monitor of listener TCP/80"},
		"the monitor's ID was not known": {func(lb *model.LoadBalancer, _ *octavia.StatusTree) { lb.Listeners[0].Pool.Monitor.ID = "" }, ""},
		"a member went": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools[1].Members = tree.Listeners[0].Pools[1].Members[:1]
		}, "member 10.0.0.2:30080"},
		"a member is on its way out": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools[1].Members[0].ProvisioningStatus = "PENDING_DELETE"
		}, "member 10.0.0.1:30080"},
		"a member that we took out is on its way": {func(lb *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools[1].Members[0].ProvisioningStatus = "PENDING_DELETE"
			lb.Listeners[0].Pool.Members = lb.Listeners[0].Pool.Members.Slice(1, 2)
		}, ""},
		"a member that we know to be on its way out is": {func(lb *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools[1].Members[0].ProvisioningStatus = "PENDING_DELETE"
			fixture.EditMember(&lb.Listeners[0].Pool, 0, func(m *model.Member) { m.Status.Provisioning = "PENDING_DELETE" })
		}, ""},
		"a member that was on its way out is gone": {func(lb *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools[1].Members = tree.Listeners[0].Pools[1].Members[1:]
			fixture.EditMember(&lb.Listeners[0].Pool, 0, func(m *model.Member) { m.Status.Provisioning = "PENDING_DELETE" })
		}, "member 10.0.0.1:30080"},
		"a member was recreated": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools[1].Members[0].ID = "another"
		}, "member 10.0.0.1:30080"},
		"a member came": {func(lb *model.LoadBalancer, _ *octavia.StatusTree) {
			lb.Listeners[0].Pool.Members = lb.Listeners[0].Pool.Members.Slice(0, 1)
		}, "1 members of listener TCP/80 are new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lb, tree := lbOf(), treeOf()
			c.change(lb, tree)
			if got := observe.Compare(lb, tree); (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
				t.Errorf("it says %q, want %q", got, c.want)
			}
		})
	}
}

package observe_test

import (
	"slices"
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
		"a listener of ours is on its way out": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].ProvisioningStatus = "PENDING_DELETE"
		}, "listener TCP/80 is gone"},
		"a listener is on its way out": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners = append([]octavia.ListenerStatus{{NodeStatus: octavia.NodeStatus{ID: "x", ProvisioningStatus: "DELETED"}}}, tree.Listeners...)
		}, ""},
		"a pool is on its way out": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			pools := &tree.Listeners[0].Pools
			*pools = append([]octavia.PoolStatus{{NodeStatus: octavia.NodeStatus{ID: "x", ProvisioningStatus: "PENDING_DELETE"}}}, *pools...)
		}, ""},
		"the pool is on its way out": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools[1].ProvisioningStatus = "PENDING_DELETE"
		}, "pool pool_0 of listener TCP/80 is gone"},
		"a pool of somebody's went": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools = tree.Listeners[0].Pools[1:]
		}, ""},
		"the monitor is on its way out": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools[1].Monitor.ProvisioningStatus = "PENDING_DELETE"
		}, "health monitor of listener TCP/80"},
		"a monitor was on its way out": {func(lb *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools[1].Monitor.ProvisioningStatus, lb.Listeners[0].Pool.Monitor = "PENDING_DELETE", nil
		}, ""},
		"a listener without a pool": {func(lb *model.LoadBalancer, tree *octavia.StatusTree) {
			lb.Listeners[0].Pool, tree.Listeners[0].Pools = model.Pool{}, nil
		}, ""},
		"a member on its way out came back": {func(lb *model.LoadBalancer, _ *octavia.StatusTree) {
			fixture.EditMember(&lb.Listeners[0].Pool, 0, func(m *model.Member) { m.Status.Provisioning = "PENDING_DELETE" })
		}, ""},
		"the last member is on its way out, and known to be": {func(lb *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools[1].Members[1].ProvisioningStatus = "PENDING_DELETE"
			fixture.EditMember(&lb.Listeners[0].Pool, 1, func(m *model.Member) { m.ID, m.Status.Provisioning = "b", "PENDING_DELETE" })
		}, ""},
		"members are in another order": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			slices.Reverse(tree.Listeners[0].Pools[1].Members)
		}, ""},
		"a member beside one on its way out is on its way": {func(lb *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools[1].Members[1].ProvisioningStatus = "PENDING_DELETE"
			fixture.EditMember(&lb.Listeners[0].Pool, 0, func(m *model.Member) { m.Status.Provisioning = "PENDING_DELETE" })
		}, "member 10.0.0.2:30080"},
		"members came before, between and after": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			members := &tree.Listeners[0].Pools[1].Members
			for i, address := range []string{"10.0.0.0", "10.0.0.15", "10.0.0.3", "10.0.0.3"} {
				*members = append(*members, octavia.MemberStatus{NodeStatus: octavia.NodeStatus{ID: string(rune('w' + i))}, Address: address, Port: 30080})
			}
		}, "3 members of listener TCP/80 are new"},
		"a member has another port": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools[1].Members[1].Port = 30081
		}, "member 10.0.0.2:30080"},
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

func TestRemoved_AreMembersThatTheCloudRemovesAndTheModelLacks(t *testing.T) {
	t.Parallel()
	leaves := func(tree *octavia.StatusTree, i int) {
		tree.Listeners[0].Pools[1].Members[i].ProvisioningStatus = "PENDING_DELETE"
	}
	for name, test := range map[string]struct {
		change func(*model.LoadBalancer, *octavia.StatusTree)
		want   string
	}{
		"none": {func(*model.LoadBalancer, *octavia.StatusTree) {}, ""},
		"one":  {func(_ *model.LoadBalancer, tree *octavia.StatusTree) { leaves(tree, 1) }, "b"},
		"one of the last": {func(lb *model.LoadBalancer, tree *octavia.StatusTree) {
			leaves(tree, 0)
			lb.Listeners = append([]model.Listener{{ID: "first"}}, lb.Listeners...)
			tree.Listeners[0], tree.Listeners[1] = tree.Listeners[1], tree.Listeners[0]
		}, "a"},
		"one that the model has as leaving": {func(lb *model.LoadBalancer, tree *octavia.StatusTree) {
			leaves(tree, 0)
			leaves(tree, 1)
			fixture.EditMember(&lb.Listeners[0].Pool, 0, func(m *model.Member) { m.Status.Provisioning = "PENDING_DELETE" })
		}, "b"},
		"one of another client's pool": {func(_ *model.LoadBalancer, tree *octavia.StatusTree) {
			tree.Listeners[0].Pools[0].Members[0].ProvisioningStatus = "PENDING_DELETE"
			tree.Listeners[1].Pools[0].Members = []octavia.MemberStatus{{NodeStatus: octavia.NodeStatus{ID: "z", ProvisioningStatus: "PENDING_DELETE"}}}
		}, ""},
	} {
		lb, tree := lbOf(), treeOf()
		test.change(lb, tree)
		got := observe.Removed(lb, tree)
		if test.want == "" && len(got) == 0 {
			continue
		}
		want := model.Child{Kind: model.KindMember, Name: "name of " + test.want, ID: test.want, Status: model.Status{Provisioning: "PENDING_DELETE"}}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestTakeRemoved_TakesWhatIsRemovedOutOfTheTree(t *testing.T) {
	t.Parallel()
	key := func(address string) model.MemberKey { return model.MemberKey{Address: address, Port: 30080} }
	for name, test := range map[string]struct {
		removed []observe.RemovedMember
		change  func(*octavia.StatusTree)
		want    string // IDs
	}{
		"none":               {nil, func(*octavia.StatusTree) {}, ""},
		"by its ID":          {[]observe.RemovedMember{{Pool: "pool", ID: "a"}}, func(*octavia.StatusTree) {}, "a"},
		"by its key":         {[]observe.RemovedMember{{Pool: "pool", Key: key("10.0.0.2")}}, func(*octavia.StatusTree) {}, "b"},
		"by both":            {[]observe.RemovedMember{{Pool: "pool", ID: "a", Key: key("10.0.0.2")}}, func(*octavia.StatusTree) {}, "a"},
		"another's key":      {[]observe.RemovedMember{{Pool: "pool", Key: key("10.0.0.9")}}, func(*octavia.StatusTree) {}, ""},
		"of another pool":    {[]observe.RemovedMember{{Pool: "policy's", ID: "a"}}, func(*octavia.StatusTree) {}, ""},
		"a new one of a key": {[]observe.RemovedMember{{Pool: "pool", ID: "gone", Key: key("10.0.0.2")}}, func(*octavia.StatusTree) {}, ""},
		"both":               {[]observe.RemovedMember{{Pool: "pool", ID: "a"}, {Pool: "pool", ID: "b"}}, func(*octavia.StatusTree) {}, "a b"},
		"in ERROR":           {[]observe.RemovedMember{{Pool: "pool", ID: "a"}}, func(tree *octavia.StatusTree) { tree.Listeners[0].Pools[1].Members[0].ProvisioningStatus = "ERROR" }, ""},
		"of a shared pool": {[]observe.RemovedMember{{Pool: "pool", ID: "a"}}, func(tree *octavia.StatusTree) {
			shared := tree.Listeners[0].Pools[1]
			shared.Members = slices.Clone(shared.Members)
			tree.Listeners[1].Pools = append(tree.Listeners[1].Pools, shared)
		}, "a"},
	} {
		tree := treeOf()
		test.change(tree)
		var ids []string
		for _, child := range observe.TakeRemoved(tree, test.removed) {
			if ids = append(ids, child.ID); child.Kind != model.KindMember || child.Name != "name of "+child.ID || child.Status != (model.Status{Provisioning: "PENDING_DELETE"}) {
				t.Errorf("%s: %+v", name, child)
			}
		}
		if got := strings.Join(ids, " "); got != test.want {
			t.Errorf("%s: taken are %q, want %q", name, got, test.want)
		}
		for _, l := range tree.Listeners {
			for _, pool := range l.Pools {
				for _, m := range pool.Members {
					if slices.Contains(ids, m.ID) {
						t.Errorf("%s: %s is still in %s", name, m.ID, pool.ID)
					}
				}
			}
		}
		if n := len(tree.Listeners[0].Pools[1].Members); n != 2-len(ids) {
			t.Errorf("%s: %d members are left", name, n)
		}
	}
}

func TestStatuses_AreThoseOfTheTree(t *testing.T) {
	t.Parallel()
	lb, tree := lbOf(), treeOf()
	tree.ProvisioningStatus, tree.OperatingStatus = "PENDING_UPDATE", "DEGRADED"
	tree.Listeners[0].OperatingStatus, tree.Listeners[0].Pools[1].OperatingStatus = "ONLINE", "DEGRADED"
	tree.Listeners[0].Pools[1].Monitor.OperatingStatus, tree.Listeners[0].Pools[1].Members[1].OperatingStatus = "ONLINE", "ERROR"
	slices.Reverse(tree.Listeners) // somebody's first
	slices.Reverse(tree.Listeners[1].Pools[1].Members)
	lb.Listeners[0].Pool.Members = lb.Listeners[0].Pool.Members.With(model.MembersOf(model.Member{ID: "kept", Address: "10.0.0.9", Port: 30080}))
	observe.Statuses(lb, tree)
	pool := lb.Listeners[0].Pool
	status := func(operating string) model.Status { return model.Status{Provisioning: "ACTIVE", Operating: operating} }
	if lb.Status != (model.Status{Provisioning: "PENDING_UPDATE", Operating: "DEGRADED"}) || lb.Listeners[0].Status != status("ONLINE") || pool.Status != status("DEGRADED") || pool.Monitor.Status != status("ONLINE") {
		t.Errorf("load balancer %v, listener %v, pool %v, monitor %v", lb.Status, lb.Listeners[0].Status, pool.Status, pool.Monitor.Status)
	}
	if a, b, kept := pool.Members.At(0), pool.Members.At(1), pool.Members.At(2); a.Status != status("") || b.Status != status("ERROR") || b.ID != "b" || kept.ID != "kept" || kept.Status != (model.Status{}) {
		t.Errorf("members %+v, %+v, %+v", a, b, kept)
	}
	for id, want := range map[string]string{"": "monitor", "another": "another", "monitor": "monitor"} {
		lb := lbOf()
		lb.Listeners[0].Pool.Monitor.ID = id
		observe.Statuses(lb, treeOf())
		if m := lb.Listeners[0].Pool.Monitor; m.ID != want || (m.Status == status("")) != (want == "monitor") {
			t.Errorf("monitor %q is %+v", id, m)
		}
	}
	unmonitored := lbOf()
	unmonitored.Listeners[0].Pool.Monitor = nil
	if observe.Statuses(unmonitored, treeOf()); unmonitored.Listeners[0].Pool.Monitor != nil {
		t.Error("a pool gets a monitor")
	}
}

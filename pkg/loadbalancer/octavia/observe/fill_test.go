package observe

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

func TestFill_AcceptsOnlyTreesOfTheSameParts(t *testing.T) {
	t.Parallel()
	node := func(name string) octavia.NodeStatus { return octavia.NodeStatus{ID: "id of " + name, Name: name} }
	pool := func(name string) octavia.PoolStatus {
		return octavia.PoolStatus{NodeStatus: node(name), Monitor: octavia.MonitorStatus{NodeStatus: node("monitor")},
			Members: []octavia.MemberStatus{{NodeStatus: node("a"), Address: "10.0.0.1", Port: 30080}}}
	}
	for name, test := range map[string]struct {
		change func(*octavia.StatusTree)
		fits   bool
	}{
		"the same":            {func(*octavia.StatusTree) {}, true},
		"no listener":         {func(tree *octavia.StatusTree) { tree.Listeners = nil }, false},
		"one more":            {func(tree *octavia.StatusTree) { tree.Listeners = append(tree.Listeners, octavia.ListenerStatus{}) }, false},
		"another listener":    {func(tree *octavia.StatusTree) { tree.Listeners[0].Name = "x" }, false},
		"no pool":             {func(tree *octavia.StatusTree) { tree.Listeners[0].Pools = nil }, false},
		"another pool":        {func(tree *octavia.StatusTree) { tree.Listeners[0].Pools[0].Name = "x" }, false},
		"a pool more":         {func(tree *octavia.StatusTree) { tree.Listeners[0].Pools = append(tree.Listeners[0].Pools, pool("x")) }, false},
		"no monitor":          {func(tree *octavia.StatusTree) { tree.Listeners[0].Pools[0].Monitor.ID = "" }, false},
		"a member elsewhere":  {func(tree *octavia.StatusTree) { tree.Listeners[0].Pools[0].Members[0].Port = 1 }, false},
		"a member of no name": {func(tree *octavia.StatusTree) { tree.Listeners[0].Pools[0].Members[0].Name = "" }, true},
	} {
		monitor := &model.Monitor{Type: "TCP"}
		lb := &model.LoadBalancer{Listeners: []model.Listener{{Name: "l", Pool: model.Pool{Name: "p", Monitor: monitor, Members: model.MembersOf(model.Member{Port: 30080})}}}}
		tree := &octavia.StatusTree{Listeners: []octavia.ListenerStatus{{NodeStatus: node("l"), Pools: []octavia.PoolStatus{pool("p")}}}}
		test.change(tree)
		if fits := fill(lb, tree); fits != test.fits {
			t.Errorf("%s: it fits: %v", name, fits)
		}
		if l := lb.Listeners[0]; test.fits && (l.ID != "id of l" || l.Pool.ID != "id of p" || l.Pool.Monitor.ID != "id of monitor" || l.Pool.Members.At(0).Address != "10.0.0.1") {
			t.Errorf("%s: filled %+v", name, l)
		}
		if monitor.ID != "" {
			t.Errorf("%s: the desired monitor has changed", name)
		}
	}
}

// The listener with the metrics of the load balancer has no pool.
func TestFill_FillsListenersBesideOneWithoutPool(t *testing.T) {
	t.Parallel()
	lb := &model.LoadBalancer{Listeners: []model.Listener{
		{Name: "metrics", Protocol: model.Prometheus}, {Name: "l", Protocol: model.TCP, Pool: model.Pool{Name: "p", Members: model.MembersOf(model.Member{Port: 30080})}},
	}}
	pool := octavia.PoolStatus{NodeStatus: octavia.NodeStatus{ID: "p-id", Name: "p"}, Members: []octavia.MemberStatus{{Address: "10.0.0.1", Port: 30080}}}
	tree := &octavia.StatusTree{Listeners: []octavia.ListenerStatus{
		{NodeStatus: octavia.NodeStatus{ID: "metrics-id", Name: "metrics"}}, {NodeStatus: octavia.NodeStatus{ID: "l-id", Name: "l"}, Pools: []octavia.PoolStatus{pool}},
	}}
	if !fill(lb, tree) || lb.Listeners[0].ID != "metrics-id" || lb.Listeners[1].ID != "l-id" || lb.Listeners[1].Pool.ID != "p-id" || lb.Listeners[1].Pool.Members.At(0).Address != "10.0.0.1" {
		t.Errorf("filled %+v", lb)
	}
	tree.Listeners[0].Pools = []octavia.PoolStatus{pool}
	if fill(lb, tree) {
		t.Error("it has a pool that is not desired, and fits")
	}
}

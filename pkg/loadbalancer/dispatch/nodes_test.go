package dispatch_test

import (
	"context"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/dispatch"
)

// The nodes of a round are current until a change that brings every Service another round.
func TestNodesCurrent_IsSoUntilRoundBeginsWithOtherNodes(t *testing.T) {
	t.Parallel()
	node := func(name, server string, addresses ...v1.NodeAddress) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{ProviderID: server}, Status: v1.NodeStatus{Addresses: addresses}}
	}
	at := func(address string) v1.NodeAddress { return v1.NodeAddress{Type: v1.NodeInternalIP, Address: address} }
	first := []*v1.Node{node("a", "server-a", at("10.0.0.1")), node("b", "server-b", at("10.0.0.2"))}
	heartbeat := node("b", "server-b", at("10.0.0.2"), v1.NodeAddress{Type: v1.NodeHostName, Address: "b"})
	heartbeat.ResourceVersion, heartbeat.Labels = "2", map[string]string{"zone": "1"}
	excluded := node("b", "server-b", at("10.0.0.2"))
	excluded.Labels = map[string]string{v1.LabelNodeExcludeBalancers: ""}
	for name, test := range map[string]struct {
		then    []*v1.Node
		current bool
	}{
		"a node excluded":            {[]*v1.Node{first[0], excluded}, false},
		"the same nodes":             {first, true},
		"a node reports something":   {[]*v1.Node{first[0], heartbeat}, true},
		"a node without an address":  {[]*v1.Node{first[0], first[1], node("c", "server-c")}, true},
		"a node more":                {[]*v1.Node{first[0], first[1], node("c", "server-c", at("10.0.0.3"))}, false},
		"a node less":                {first[:1], false},
		"none":                       {[]*v1.Node{}, false},
		"another address":            {[]*v1.Node{first[0], node("b", "server-b", at("10.0.0.9"))}, false},
		"another server":             {[]*v1.Node{first[0], node("b", "server-c", at("10.0.0.2"))}, false},
		"another node of the server": {[]*v1.Node{first[0], node("c", "server-b", at("10.0.0.2"))}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, informed := range []bool{false, true} {
				var rounds []dispatch.Request
				now := first
				d := start(t, func(_ context.Context, r dispatch.Request) (*v1.LoadBalancerStatus, error) {
					rounds = append(rounds, r)
					return &v1.LoadBalancerStatus{}, nil
				}, func(o *dispatch.Options) {
					if informed {
						o.Newest = func(svc *v1.Service) (*v1.Service, []*v1.Node) { return svc, now }
					}
				})
				for _, now = range [][]*v1.Node{first, test.then} {
					nodes := now
					if informed {
						nodes = first // the state at the time of the request
					}
					if _, err := d.Wait(t.Context(), dispatch.Request{Operation: dispatch.Repair, Service: service("3"), Nodes: nodes}); err != nil {
						t.Fatal(err)
					}
				}
				if got := rounds[0].NodesCurrent(); got != test.current {
					t.Errorf("current: %v, want %v", got, test.current)
				}
				if !rounds[1].NodesCurrent() || len(rounds[1].Nodes) != len(test.then) {
					t.Errorf("the last round has %d nodes, current: %v", len(rounds[1].Nodes), rounds[1].NodesCurrent())
				}
			}
		})
	}
}

// The informers may lag behind the Service of a call: the call has the newer Service, but no newer
// nodes.
func TestNodesCurrent_IsNotSoForNodesOfUnknownAge(t *testing.T) {
	t.Parallel()
	lagging := service("2")
	for name, test := range map[string]struct {
		has            *v1.Service
		nodes, version string
		current        bool
	}{
		"an older state": {lagging, "now", "3", true},
		"no such":        {nil, "asked", "3", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t, func(_ context.Context, r dispatch.Request) (*v1.LoadBalancerStatus, error) {
				if r.NodesCurrent() != test.current || r.Nodes[0].Name != test.nodes || r.Service.ResourceVersion != test.version {
					t.Errorf("current: %v, nodes of %s, version %s", r.NodesCurrent(), r.Nodes[0].Name, r.Service.ResourceVersion)
				}
				return &v1.LoadBalancerStatus{}, nil
			}, func(o *dispatch.Options) {
				o.Newest = func(*v1.Service) (*v1.Service, []*v1.Node) {
					if test.has == nil {
						return nil, nil
					}
					return test.has, []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "now"}}}
				}
			})
			asked := []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "asked"}}}
			if _, err := d.Call(t.Context(), dispatch.Request{Operation: dispatch.Ensure, Service: service("3"), Nodes: asked}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

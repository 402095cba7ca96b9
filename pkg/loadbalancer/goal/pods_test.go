package goal

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/state"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// Port, name and address distinguish members of an unknown origin: the controller before may have had nodes.
func TestHasPods_TellsPodsFromNodes(t *testing.T) {
	t.Parallel()
	member := func(name, address string, port int) model.Member {
		return model.Member{Name: name, Address: address, Port: port}
	}
	node, pod := member("node-1", "10.0.0.1", 30080), member("node-1", "10.244.0.7", 8080)
	for name, test := range map[string]struct {
		members            []model.Member
		applied            *state.Applied
		pods, known, leave bool
	}{
		"none":                            {},
		"nodes":                           {members: []model.Member{node}, known: true},
		"pods on nodes":                   {members: []model.Member{pod}, pods: true, known: true, leave: true},
		"a pod on no node":                {members: []model.Member{member("10.244.0.7", "10.244.0.7", 8080)}, pods: true, known: true, leave: true},
		"a node at another port":          {members: []model.Member{member("node-1", "10.0.0.1", 31000)}, known: true},
		"of an unknown name":              {members: []model.Member{member("gone", "10.0.0.9", 31000)}, known: true},
		"a pod at the NodePort":           {members: []model.Member{member("node-1", "10.244.0.7", 30080)}, known: true},
		"nodes and pods":                  {members: []model.Member{node, pod}, known: true, leave: true},
		"pods, nodes were applied":        {members: []model.Member{pod}, applied: &state.Applied{LoadBalancer: state.LoadBalancer{ID: "lb"}}, known: true},
		"nodes, pods were applied":        {members: []model.Member{node}, applied: &state.Applied{LoadBalancer: state.LoadBalancer{ID: "lb", Pods: true}}, pods: true, known: true, leave: true},
		"nodes, pods were applied before": {members: []model.Member{node}, applied: &state.Applied{LoadBalancer: state.LoadBalancer{ID: "old", Pods: true}}, known: true},
	} {
		svc := webService()
		in := inputsOf(svc)
		in.Nodes = []*v1.Node{fixture.Node("node-1", "10.0.0.1")}
		in.Settings.Traffic.Ports = []v1.ServicePort{fixture.Port(v1.ProtocolUDP, 53), fixture.Port(v1.ProtocolTCP, 80), fixture.Port(v1.ProtocolTCP, 443)}
		lb := &model.LoadBalancer{ID: "lb", Listeners: []model.Listener{{Protocol: model.TCP, Port: 80, Pool: model.Pool{Members: model.MembersOf(test.members...)}}}}
		p := &planner{memory: memoryOf(svc, "", state.Entry{Applied: test.applied})}
		if pods, known := p.hasPods(in, lb); pods != test.pods || known != test.known {
			t.Errorf("%s: pods %v, known %v, want %v, %v", name, pods, known, test.pods, test.known)
		}
		if got := p.leavesPods(in, lb); got != test.leave {
			t.Errorf("%s: pods leave: %v", name, got)
		}
	}
}

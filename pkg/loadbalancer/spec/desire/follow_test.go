package desire_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

// keptLoadBalancer has a port with members at these addresses, and one that the Service of followed
// no longer has.
func keptLoadBalancer(addresses ...string) *model.LoadBalancer {
	sound := model.Status{Provisioning: "ACTIVE", Operating: "ONLINE"}
	pool := model.Pool{ID: "pool", Name: "pool", Protocol: model.TCP, Status: sound,
		Monitor: &model.Monitor{ID: "monitor", Type: "TCP", Delay: 5, Status: sound}}
	for _, address := range addresses {
		pool.Members = pool.Members.With(model.MembersOf(model.Member{ID: "of " + address, Name: "node-" + address, Address: address, Port: 30080, SubnetID: "a", MonitorPort: 32000, Drained: address == "10.0.0.2", Status: sound}))
	}
	gone := pool
	gone.ID, gone.Name = "gone", "gone"
	return &model.LoadBalancer{ID: "lb", Status: sound, Listeners: []model.Listener{
		{ID: "listener", Protocol: model.TCP, Port: 80, AllowedCIDRs: []string{"10.0.0.0/8"}, Pool: pool, Status: sound},
		{ID: "former", Protocol: model.TCP, Port: 81, Pool: gone, Status: sound},
	}, Foreign: []model.Foreign{{Kind: "listener"}}, FloatingIP: &model.FloatingIP{ID: "fip"}}
}

func followers(addresses ...string) desire.Followers {
	var hosts []model.Host
	for _, address := range addresses {
		hosts = append(hosts, model.Host{Name: "node-" + address, Address: address})
	}
	return desire.Followers{Ports: members.Ports{{Hosts: model.HostsOf(hosts...)}}}
}

// serving returns the settings of a Service with port 80 at a NodePort.
func serving(nodePort int32) *settings.Settings {
	return &settings.Settings{Traffic: settings.TrafficSettings{Ports: []v1.ServicePort{{Protocol: v1.ProtocolTCP, Port: 80, NodePort: nodePort}}}}
}

// followed formats the members of port 80 of a kept load balancer.
func followed(nodePort int32, nodes desire.Followers) []string {
	var members []string
	for _, m := range desire.Follow(serving(nodePort), keptLoadBalancer("10.0.0.1", "10.0.0.2"), nodes).Listeners[0].Pool.Members.All() {
		members = append(members, fmt.Sprintf("%s:%d %s %s monitor %d drained %t", m.Address, m.Port, m.Name, m.SubnetID, m.MonitorPort, m.Drained))
	}
	return members
}

func TestFollow_ChangesMembersWithNodes(t *testing.T) {
	t.Parallel()
	unchosen, capped, placed := followers("10.0.0.1", "10.0.0.3"), followers("10.0.0.1", "10.0.0.3", "10.0.0.4"), followers("10.0.0.3")
	unchosen.Unchosen, capped.Capped, placed.Subnets = true, true, map[string]string{"10.0.0.3": "b"}
	replaced := followers("10.0.0.3")
	replaced.Unchosen = true
	leaving, alone := followers("10.0.0.0", "10.0.0.1", "10.0.0.3"), followers("10.0.0.3")
	leaving.Capped, leaving.Ports[0].Leaving, alone.Ports[0].Leaving = true, []string{"10.0.0.0"}, []string{"10.0.0.3"}
	one, three := "10.0.0.1:30080 node-10.0.0.1 a monitor 32000 drained false", "10.0.0.3:30080 node-10.0.0.3 a monitor 32000 drained false"
	two := "10.0.0.2:30080 node-10.0.0.2 a monitor 32000 drained true"
	for name, c := range map[string]struct {
		nodes desire.Followers
		want  []string
	}{
		"a node comes, another goes":          {followers("10.0.0.1", "10.0.0.3"), []string{one, three}},
		"who is drained stays so":             {followers("10.0.0.2"), []string{two}},
		"nobody is left":                      {followers(), []string{one, two}},
		"nobody knows who is chosen":          {unchosen, []string{one}},
		"nobody knows, and all are replaced":  {replaced, []string{three}},
		"no more members than there are":      {capped, []string{one, three}},
		"one that leaves takes no place":      {leaving, []string{one, three}},
		"only one that leaves could come":     {alone, []string{one, two}},
		"the subnet of a new member is known": {placed, []string{"10.0.0.3:30080 node-10.0.0.3 b monitor 32000 drained false"}},
	} {
		if got := followed(30080, c.nodes); !slices.Equal(got, c.want) {
			t.Errorf("%s: members %q, want %q", name, got, c.want)
		}
	}
	if got, want := followed(30081, followers("10.0.0.1")), []string{"10.0.0.1:30081 node-10.0.0.1 a monitor 32000 drained false"}; !slices.Equal(got, want) {
		t.Errorf("another NodePort: members %q, want %q", got, want)
	}
}

// With the same nodes there is nothing to do; and the kept load balancer sets no values that the
// cloud chooses.
func TestFollow_ChangesNothingWhileNodesStay(t *testing.T) {
	t.Parallel()
	kept := keptLoadBalancer("10.0.0.1", "10.0.0.2")
	wanted := desire.Follow(serving(30080), kept, followers("10.0.0.1", "10.0.0.2"))
	kept.FloatingIP = nil
	if todo := plan.Diff(wanted, model.Observed{LoadBalancer: kept}, plan.Options{Published: true}); !todo.Empty() {
		t.Errorf("to be done:\n%s", todo)
	}
	if wanted.ID != "" || wanted.FloatingIP != nil || len(wanted.Foreign) > 0 || wanted.Listeners[0].Pool.Monitor.ID != "" || wanted.Listeners[1].Pool.Members.At(0).ID != "" {
		t.Errorf("it asks for %+v", wanted)
	}
	if kept.Listeners[0].Pool.Monitor.ID == "" || kept.Listeners[0].Pool.Members.At(0).ID == "" {
		t.Error("what is there was changed")
	}
}

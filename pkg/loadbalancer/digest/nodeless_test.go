package digest

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
)

func TestCovers_IsFalseWhereATreeDoesNotTellAll(t *testing.T) {
	t.Parallel()
	lb := func(change func(*model.LoadBalancer)) *model.LoadBalancer {
		lb := &model.LoadBalancer{VIP: model.VIP{SubnetID: "s"}, Listeners: []model.Listener{{
			Name: "l", Protocol: model.TCP, Port: 80,
			Pool: model.Pool{Name: "p", Members: model.MembersOf(model.Member{Address: "10.0.0.1", Port: 30080}, model.Member{Address: "10.0.0.2", Port: 30080, SubnetID: "s"})},
		}}}
		change(lb)
		return lb
	}
	same := func(*model.LoadBalancer) {}
	member := func(change func(*model.Member)) func(*model.LoadBalancer) {
		return func(lb *model.LoadBalancer) {
			members := &lb.Listeners[0].Pool.Members
			*members = members.Map(func(i int, m model.Member) model.Member {
				if i == 1 {
					change(&m)
				}
				return m
			})
		}
	}
	none, ours := &settings.Settings{}, &settings.Settings{}
	ours.Access.SecurityGroupMode = "per-service"
	for name, test := range map[string]struct {
		desired, observed *model.LoadBalancer
		settings          *settings.Settings
		tells             bool
	}{
		"all as it would be made":    {lb(same), lb(same), none, true},
		"with security groups":       {lb(same), lb(same), ours, false},
		"shared":                     {lb(same), lb(func(lb *model.LoadBalancer) { lb.Shared = &model.Shared{} }), none, false},
		"with foreign parts":         {lb(same), lb(func(lb *model.LoadBalancer) { lb.Foreign = make([]model.Foreign, 1) }), none, false},
		"with orphans":               {lb(same), lb(func(lb *model.LoadBalancer) { lb.Orphans = make([]model.Pool, 1) }), none, false},
		"without the listener":       {lb(same), lb(func(lb *model.LoadBalancer) { lb.Listeners = nil }), none, false},
		"another listener's name":    {lb(same), lb(func(lb *model.LoadBalancer) { lb.Listeners[0].Name = "x" }), none, false},
		"another pool's name":        {lb(same), lb(func(lb *model.LoadBalancer) { lb.Listeners[0].Pool.Name = "x" }), none, false},
		"a drained member":           {lb(same), lb(member(func(m *model.Member) { m.Drained = true })), none, false},
		"a member switched off":      {lb(same), lb(member(func(m *model.Member) { m.AdminDown = true })), none, false},
		"a member in another subnet": {lb(same), lb(member(func(m *model.Member) { m.SubnetID = "x" })), none, false},
		"a subnet that is not known": {lb(same), lb(member(func(m *model.Member) { m.SubnetID, m.SubnetUnknown = "x", true })), none, true},
		"members that differ":        {lb(member(func(m *model.Member) { m.Port = 1 })), lb(same), none, false},
		"no members":                 {lb(func(lb *model.LoadBalancer) { lb.Listeners[0].Pool.Members = model.Members{} }), lb(same), none, false},
		"a member elsewhere":         {lb(same), lb(member(func(m *model.Member) { m.Address = "10.0.0.3" })), none, false},
	} {
		if got := Covers(test.desired, test.observed, test.settings) && Nodeless(test.desired, test.settings) != ""; got != test.tells {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The digest without nodes is the same for all nodes and subnets.
func TestNodeless_ChangesWithAllButNodes(t *testing.T) {
	t.Parallel()
	of := func(members ...model.Member) string {
		return Nodeless(&model.LoadBalancer{Listeners: []model.Listener{{Port: 80, Pool: model.Pool{Members: model.MembersOf(members...)}}}}, &settings.Settings{})
	}
	want := of(model.Member{Name: "a", Address: "10.0.0.1", Port: 30080, SubnetID: "a"})
	if got := of(model.Member{Name: "b", Address: "10.0.0.2", Port: 30080, SubnetID: "b"}, model.Member{Address: "10.0.0.3", Port: 30080, SubnetID: "c"}); got != want || got == "" {
		t.Errorf("%q, want %q", got, want)
	}
	if of(model.Member{Address: "10.0.0.1", Port: 30081, SubnetID: "a"}) == want {
		t.Error("the port is not in the digest")
	}
}

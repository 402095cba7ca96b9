package digest

import (
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
)

func TestNodeless_IsEmptyWhereATreeDoesNotTellAll(t *testing.T) {
	t.Parallel()
	lb := func(change func(*model.LoadBalancer)) *model.LoadBalancer {
		lb := &model.LoadBalancer{VIP: model.VIP{SubnetID: "s"}, Listeners: []model.Listener{{
			Name: "l", Protocol: model.TCP, Port: 80,
			Pool: model.Pool{Name: "p", Members: []model.Member{{Address: "10.0.0.1", Port: 30080}, {Address: "10.0.0.2", Port: 30080, SubnetID: "s"}}},
		}}}
		change(lb)
		return lb
	}
	same := func(*model.LoadBalancer) {}
	member := func(change func(*model.Member)) func(*model.LoadBalancer) {
		return func(lb *model.LoadBalancer) { change(&lb.Listeners[0].Pool.Members[1]) }
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
		"no members":                 {lb(func(lb *model.LoadBalancer) { lb.Listeners[0].Pool.Members = nil }), lb(same), none, false},
		"a member elsewhere":         {lb(same), lb(member(func(m *model.Member) { m.Address = "10.0.0.3" })), none, false},
	} {
		subnetOf := func(i int, address string) (string, bool) {
			want := model.MembersByAddress(test.desired.Listeners[i].Pool.Members).Get(address)
			if want == nil {
				return "", false
			}
			return want.SubnetID, true
		}
		if got := Nodeless(test.desired, test.observed, test.settings, subnetOf); (got != "") != test.tells {
			t.Errorf("%s: %q", name, got)
		}
	}
}

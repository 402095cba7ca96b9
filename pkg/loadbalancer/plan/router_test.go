package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// TestLead_FollowsTruthTable has the steps of provider router. After them, there is nothing to do.
func TestLead_FollowsTruthTable(t *testing.T) {
	t.Parallel()
	own := &model.FloatingIP{ID: "fip", Address: "203.0.113.7", Description: "ours", Owned: true}
	vip := func(port string, fip *model.FloatingIP, hops ...string) *model.LoadBalancer {
		return &model.LoadBalancer{ID: port, VIP: model.VIP{PortID: port, SubnetID: "s", Address: "10.77.0." + port}, FloatingIP: fip, NextHops: hops}
	}
	want := func(fip bool, hops ...string) *model.LoadBalancer {
		lb := &model.LoadBalancer{VIP: model.VIP{SubnetID: "s"}, NextHops: hops}
		if fip {
			lb.FloatingIP = &model.FloatingIP{NetworkID: "ext", Description: "ours"}
		}
		return lb
	}
	left := &model.LoadBalancer{ID: "old", Name: "lb", FloatingIP: &model.FloatingIP{ID: "fip-2", Address: "203.0.113.8", Description: "ours", Owned: true}}
	for _, test := range []struct {
		what string
		want *model.LoadBalancer
		have model.Observed
		plan string
	}{
		{"nothing there", want(true, "a"), model.Observed{}, "VIP: create in subnet s; VIP made last: next hops [] → [a]; floating IP: create on network ext"},
		{"internal", want(false, "a"), model.Observed{}, "VIP: create in subnet s; VIP made last: next hops [] → [a]"},
		{"as wanted", want(true, "a"), model.Observed{LoadBalancer: vip("1", own, "a")}, ""},
		{"another node", want(true, "b"), model.Observed{LoadBalancer: vip("1", own, "a")}, "VIP 10.77.0.1: next hops [a] → [b]"},
		{"port without address pair", want(true, "a"), model.Observed{LoadBalancer: &model.LoadBalancer{
			VIP: model.VIP{PortID: "1", SubnetID: "s", Address: "10.77.0.1"}, FloatingIP: own, NextHops: []string{"a"}, Barred: []string{"a"},
		}}, "VIP 10.77.0.1: next hops [a] → [a], address pairs on the ports of [a]"},
		{"floating IP was deleted", want(true, "a"), model.Observed{LoadBalancer: vip("1", nil, "a")}, "floating IP: create on network ext"},
		{"becomes internal", want(false, "a"), model.Observed{LoadBalancer: vip("1", own, "a")}, "floating IP 203.0.113.7: delete"},
		{"second port", want(true, "a"), model.Observed{LoadBalancer: vip("1", own, "a"), Duplicates: []model.LoadBalancer{*vip("2", nil, "a")}},
			"VIP 10.77.0.2: next hops [a] → []; VIP 10.77.0.2 (port 2): delete"},
		{"outgoing", want(true, "a"), model.Observed{LoadBalancer: vip("1", nil, "a"), Outgoing: left},
			"floating IP 203.0.113.8: move to the new load balancer; load balancer lb (old): delete: the Service has a VIP of provider router"},
		{"outgoing beside a floating IP", want(true, "a"), model.Observed{LoadBalancer: vip("1", own, "a"), Outgoing: left},
			"floating IP 203.0.113.8: delete; load balancer lb (old): delete: the Service has a VIP of provider router"},
		{"outgoing, and a floating IP left over", want(true, "a"), model.Observed{LoadBalancer: vip("1", nil, "a"), Outgoing: left, UnattachedFloatingIPs: []model.FloatingIP{*own}},
			"floating IP 203.0.113.8: move to the new load balancer; floating IP 203.0.113.7: delete; load balancer lb (old): delete: the Service has a VIP of provider router"},
		{"outgoing of an internal Service", want(false, "a"), model.Observed{LoadBalancer: vip("1", nil, "a"), Outgoing: left},
			"floating IP 203.0.113.8: delete; load balancer lb (old): delete: the Service has a VIP of provider router"},
	} {
		wantPlan(t, test.what, plan.Lead, test.want, test.have, test.plan)
	}
}

// Clients and routes have the address of a port that another client has deleted.
func TestLead_PrefersThePublishedAddressForANewPort(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		address   string // the desired one
		published []string
		prefer    string
	}{
		"a new Service": {}, "a deleted port": {"", []string{"10.77.0.5", "10.77.0.6"}, "10.77.0.5"}, "a requested address": {"10.77.0.9", []string{"10.77.0.5"}, ""},
	} {
		desired := &model.LoadBalancer{VIP: model.VIP{SubnetID: "s", Address: test.address}}
		create, is := plan.Lead(desired, model.Observed{}, plan.Options{Addresses: test.published}).Steps[0].(plan.CreateVIP)
		if !is || create.Prefer != test.prefer || create.LoadBalancer.VIP.Address != test.address {
			t.Errorf("%s: %+v", name, create)
		}
	}
}

// wantPlan compares the steps of a plan. Nothing is left to do after them.
func wantPlan(t *testing.T, what string, of func(*model.LoadBalancer, model.Observed, plan.Options) plan.Plan, desired *model.LoadBalancer, have model.Observed, want string) {
	t.Helper()
	todo := of(desired, have, plan.Options{})
	if diff := cmp.Diff(want, steps(todo)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
	after := have.Clone()
	for _, step := range todo.Steps {
		plan.Advance(&after, step)
	}
	if rest := of(desired, after, plan.Options{}); !rest.Empty() {
		t.Errorf("%s: afterwards %s", what, rest)
	}
}

// The floating IP is the first, and the port the last to be deleted.
func TestUnlead_DeletesPortLast(t *testing.T) {
	t.Parallel()
	have := model.Observed{LoadBalancer: &model.LoadBalancer{
		VIP: model.VIP{PortID: "1", Address: "10.77.0.1"}, NextHops: []string{"a"}, FloatingIP: &model.FloatingIP{ID: "fip", Address: "203.0.113.7", Owned: true},
	}}
	for _, test := range []struct {
		keep bool
		want string
	}{
		{false, "floating IP 203.0.113.7: delete; VIP 10.77.0.1: next hops [a] → []; VIP 10.77.0.1 (port 1): delete"},
		{true, "floating IP 203.0.113.7: disassociate; VIP 10.77.0.1: next hops [a] → []; VIP 10.77.0.1 (port 1): delete"},
	} {
		todo := plan.Unlead(have, plan.Options{KeepFloatingIP: test.keep})
		if diff := cmp.Diff(test.want, steps(todo)); diff != "" {
			t.Errorf("keep %v (-want +got):\n%s", test.keep, diff)
		}
		after := have.Clone()
		for _, step := range todo.Steps {
			plan.Advance(&after, step)
		}
		if rest := plan.Unlead(after, plan.Options{KeepFloatingIP: test.keep}); !rest.Empty() {
			t.Errorf("keep %v: afterwards %s", test.keep, rest)
		}
	}
}

// A Service may have load balancers of both providers, of a change that was interrupted.
func TestUnlead_DeletesAllOfBothProviders(t *testing.T) {
	t.Parallel()
	vip := func(port string, fip *model.FloatingIP) model.LoadBalancer {
		return model.LoadBalancer{Provider: driver.Router, VIP: model.VIP{PortID: port, Address: "10.77.0." + port}, FloatingIP: fip}
	}
	forwarded := *plan.Forwarded(model.FloatingIP{ID: "f", Address: "203.0.113.1", Owned: true}, []model.Forwarding{{Key: model.ListenerKey{Transport: model.TCP, Port: 80}, Address: "a", NodePort: 30080}})
	requested := &model.FloatingIP{ID: "r", Address: "203.0.113.2"}
	have := model.Observed{
		Duplicates:            []model.LoadBalancer{forwarded, vip("1", requested), vip("2", nil)},
		UnattachedFloatingIPs: []model.FloatingIP{{ID: "u", Address: "203.0.113.3", Owned: true}, {ID: "v", Address: "203.0.113.4"}},
	}
	want := "floating IP 203.0.113.1: forwarded ports [TCP/80 to a:30080] → []; floating IP 203.0.113.1: delete; floating IP 203.0.113.2: disassociate; " +
		"VIP 10.77.0.1 (port 1): delete; VIP 10.77.0.2 (port 2): delete; floating IP 203.0.113.3: delete"
	if diff := cmp.Diff(want, steps(plan.Unlead(have, plan.Options{}))); diff != "" {
		t.Error(diff)
	}
}

// steps returns the steps of a plan in one line.
func steps(p plan.Plan) string {
	return strings.ReplaceAll(strings.TrimSpace(p.String()), "\n", "; ")
}

package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/plan"
)

// TestForward_FollowsTruthTable has the steps of provider port-forwarding. After them, there is nothing to do.
func TestForward_FollowsTruthTable(t *testing.T) {
	t.Parallel()
	ip := func(id, address string) model.FloatingIP {
		return model.FloatingIP{ID: id, Address: address, NetworkID: "ext", Description: "ours", Owned: true}
	}
	to := func(address string, ports ...int) []model.Forwarding {
		var all []model.Forwarding
		for _, port := range ports {
			all = append(all, model.Forwarding{ID: "f", Key: model.ListenerKey{Transport: model.TCP, Port: port}, Address: address, NodePort: 30000 + port})
		}
		return all
	}
	want := func(address string, ports ...int) *model.LoadBalancer {
		return &model.LoadBalancer{Provider: driver.PortForwarding, FloatingIP: &model.FloatingIP{NetworkID: "ext", Description: "ours"}, Forwardings: to(address, ports...)}
	}
	asking := func(lb *model.LoadBalancer, address string) *model.LoadBalancer {
		lb.FloatingIP.Address = address
		return lb
	}
	first, second, vip := ip("1", "203.0.113.1"), ip("2", "203.0.113.2"), ip("3", "203.0.113.3")
	kept := first
	kept.Owned, kept.Retained, kept.Description = false, true, "earlier"
	asked := first
	asked.Owned, asked.Description = false, "another's"
	octavia := &model.LoadBalancer{ID: "old", Name: "lb", Provider: "amphora", FloatingIP: &second}
	routed := model.LoadBalancer{ID: "p", Provider: driver.Router, VIP: model.VIP{PortID: "p", Address: "10.77.0.5"}, NextHops: []string{"a"}, FloatingIP: &vip}
	for _, test := range []struct {
		what string
		want *model.LoadBalancer
		have model.Observed
		plan string
	}{
		{"nothing there", want("a", 80), model.Observed{}, "floating IP: create on network ext, not attached yet; floating IP made last: forwarded ports [] → [TCP/80 to a:30080]"},
		{"as wanted", want("a", 80), model.Observed{LoadBalancer: plan.Forwarded(first, to("a", 80))}, ""},
		{"no node", want("a"), model.Observed{LoadBalancer: plan.Forwarded(first, nil)}, ""},
		{"another node", want("b", 80), model.Observed{LoadBalancer: plan.Forwarded(first, to("a", 80))},
			"floating IP 203.0.113.1: forwarded ports [TCP/80 to a:30080] → [TCP/80 to b:30080]"},
		{"all nodes gone", want("a"), model.Observed{LoadBalancer: plan.Forwarded(first, to("a", 80))},
			"floating IP 203.0.113.1: forwarded ports [TCP/80 to a:30080] → []"},
		{"left by an interrupted creation", want("a", 80), model.Observed{UnattachedFloatingIPs: []model.FloatingIP{first, second}},
			"floating IP 203.0.113.1: forwarded ports [] → [TCP/80 to a:30080]; floating IP 203.0.113.2: delete"},
		{"kept by an earlier Service", want("a", 80), model.Observed{UnattachedFloatingIPs: []model.FloatingIP{kept}},
			"floating IP 203.0.113.1: forwarded ports [] → [TCP/80 to a:30080]"},
		{"requested", asking(want("a", 80), "203.0.113.1"), model.Observed{UnattachedFloatingIPs: []model.FloatingIP{asked}},
			"floating IP 203.0.113.1: forwarded ports [] → [TCP/80 to a:30080]"},
		{"another one requested", asking(want("a", 80), "203.0.113.1"), model.Observed{LoadBalancer: plan.Forwarded(second, to("a", 80)), UnattachedFloatingIPs: []model.FloatingIP{asked}},
			"floating IP 203.0.113.2: forwarded ports [TCP/80 to a:30080] → []; floating IP 203.0.113.1: forwarded ports [] → [TCP/80 to a:30080]; floating IP 203.0.113.2: delete"},
		{"twice", want("a", 80), model.Observed{LoadBalancer: plan.Forwarded(first, to("a", 80)), Duplicates: []model.LoadBalancer{*plan.Forwarded(second, to("a", 81))}},
			"floating IP 203.0.113.2: forwarded ports [TCP/81 to a:30081] → []; floating IP 203.0.113.2: delete"},
		{"from Octavia", want("a", 80), model.Observed{Outgoing: octavia},
			"floating IP 203.0.113.2: disassociate; floating IP 203.0.113.2: forwarded ports [] → [TCP/80 to a:30080]; " +
				"load balancer lb (old): delete: the Service has port forwardings"},
		{"from Octavia with a floating IP", want("a", 80), model.Observed{LoadBalancer: plan.Forwarded(first, to("a", 80)), Outgoing: octavia},
			"floating IP 203.0.113.2: delete; load balancer lb (old): delete: the Service has port forwardings"},
		{"from the router", want("a", 80), model.Observed{Duplicates: []model.LoadBalancer{routed}},
			"floating IP 203.0.113.3: disassociate; floating IP 203.0.113.3: forwarded ports [] → [TCP/80 to a:30080]; " +
				"VIP 10.77.0.5: next hops [a] → []; VIP 10.77.0.5 (port p): delete"},
	} {
		wantPlan(t, test.what, plan.Forward, test.want, test.have, test.plan)
	}
}

// The step knows whether the floating IP that it forwards is created before it, and so has no ID yet.
func TestForward_CreatesOnlyWhereNoFloatingIPFits(t *testing.T) {
	t.Parallel()
	desired := plan.Forwarded(model.FloatingIP{NetworkID: "ext", Description: "ours"}, nil)
	for name, test := range map[string]struct {
		unattached []model.FloatingIP
		creates    bool
	}{
		"none": {nil, true}, "its own": {[]model.FloatingIP{{ID: "1", Owned: true}}, false}, "another's": {[]model.FloatingIP{{ID: "1"}}, true},
	} {
		todo := plan.Forward(desired, model.Observed{UnattachedFloatingIPs: test.unattached}, plan.Options{})
		if todo.Creates() != test.creates || todo.CreatesFloatingIP() != test.creates {
			t.Errorf("%s: creates: %v\n%s", name, todo.Creates(), todo)
		}
	}
}

// A deletion removes port forwardings before the floating IP, which Neutron would not delete, and from one that stays.
func TestUnlead_RemovesForwardings(t *testing.T) {
	t.Parallel()
	has := []model.Forwarding{{ID: "f", Key: model.ListenerKey{Transport: model.TCP, Port: 80}, Address: "a", NodePort: 30080}}
	own := model.FloatingIP{ID: "1", Address: "203.0.113.1", Owned: true}
	named := own
	named.Owned = false
	const removed = "floating IP 203.0.113.1: forwarded ports [TCP/80 to a:30080] → []"
	for _, test := range []struct {
		what string
		fip  model.FloatingIP
		keep bool
		want string
	}{
		{"its own", own, false, removed + "; floating IP 203.0.113.1: delete"},
		{"kept", own, true, removed},
		{"requested", named, false, removed},
	} {
		todo := plan.Unlead(model.Observed{LoadBalancer: plan.Forwarded(test.fip, has)}, plan.Options{KeepFloatingIP: test.keep})
		if diff := cmp.Diff(test.want, steps(todo)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.what, diff)
		}
	}
}

// A Service that gets a load balancer of Octavia in place of port forwardings is served by these until that is made. Its
// floating IP cannot be associated before they are removed.
func TestDiff_RemovesForwardingsOfAServiceThatLeavesThem(t *testing.T) {
	t.Parallel()
	forwarded := *plan.Forwarded(model.FloatingIP{ID: "1", Address: "203.0.113.1", Owned: true, Forwards: true}, []model.Forwarding{
		{Key: model.ListenerKey{Transport: model.TCP, Port: 80}, Address: "a", NodePort: 30080},
	})
	const removed = "floating IP 203.0.113.1: forwarded ports [TCP/80 to a:30080] → []"
	const create = "load balancer kube_service_rig_default_web: create (amphora) with TCP/80, TCP/443 and 6 members; "
	for name, test := range map[string]struct {
		there, wants bool
		address      string
		want         string
	}{
		"no load balancer":                  {false, true, "", create + removed + "; floating IP 203.0.113.1: associate"},
		"no load balancer, internal":        {false, false, "", create + removed + "; floating IP 203.0.113.1: delete"},
		"no load balancer, another address": {false, true, "203.0.113.9", create + removed + "; floating IP: create on network public 203.0.113.9; floating IP 203.0.113.1: delete"},
		"a load balancer":                   {true, true, "", removed + "; floating IP 203.0.113.1: associate"},
		"a load balancer, internal":         {true, false, "", removed + "; floating IP 203.0.113.1: delete"},
	} {
		desired, observed := web(floatingIP(nil)), model.Observed{}
		if test.there {
			observed = made(t, desired)
		}
		if observed.Duplicates = []model.LoadBalancer{forwarded}; test.wants {
			desired.FloatingIP = &model.FloatingIP{NetworkID: "public", Address: test.address}
		}
		todo := plan.Diff(desired, observed, plan.Options{})
		if got := steps(todo); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		if pauses := plan.Pauses(todo.Steps, observed); !test.there && pauses[0] != "" {
			t.Errorf("%s: the creation interrupts %s", name, pauses[0])
		}
	}
}

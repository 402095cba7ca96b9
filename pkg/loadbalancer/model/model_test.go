package model_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

func TestListener_HasKeyOfTransportAndPort(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[model.Protocol]string{
		model.TCP: "TCP/443", model.HTTP: "TCP/443", model.HTTPS: "TCP/443", model.TerminatedHTTPS: "TCP/443",
		model.Prometheus: "TCP/443", model.UDP: "UDP/443", model.SCTP: "SCTP/443",
	} {
		if got := (model.Listener{Protocol: protocol, Port: 443}).Key().String(); got != want {
			t.Errorf("a listener of %s binds %s, want %s", protocol, got, want)
		}
	}
}

func TestListener_IsFoundByItsKey(t *testing.T) {
	t.Parallel()
	lb := &model.LoadBalancer{Listeners: []model.Listener{
		{Name: "udp", Protocol: model.UDP, Port: 53}, {Name: "https", Protocol: model.TerminatedHTTPS, Port: 443},
	}}
	if l := lb.Listener(model.ListenerKey{Transport: model.TCP, Port: 443}); l == nil || l.Name != "https" {
		t.Errorf("TCP/443: found %v", l)
	}
	if l := lb.Listener(model.ListenerKey{Transport: model.TCP, Port: 53}); l != nil {
		t.Errorf("TCP/53: found %v", l)
	}
	lb.Listener(model.ListenerKey{Transport: model.UDP, Port: 53}).Name = "changed"
	if lb.Listeners[0].Name != "changed" {
		t.Error("what is found is a copy")
	}
}

func TestSort_MakesEqualLoadBalancersEqual(t *testing.T) {
	t.Parallel()
	ordered := func(reverse bool) *model.LoadBalancer {
		flip := func(n int, swap func(i, j int)) {
			for i := 0; reverse && i < n/2; i++ {
				swap(i, n-1-i)
			}
		}
		members := []model.Member{{Address: "10.0.0.1", Port: 1}, {Address: "10.0.0.1", Port: 2}, {Address: "10.0.0.2", Port: 1}}
		flip(3, func(i, j int) { members[i], members[j] = members[j], members[i] })
		pool := model.Pool{Name: "p", Members: model.MembersOf(members...)}
		lb := &model.LoadBalancer{
			Listeners: []model.Listener{
				{Protocol: model.TCP, Port: 53, Pool: pool, AllowedCIDRs: []string{"10.0.0.0/8", "192.168.0.0/16"}, InsertHeaders: []string{"X-Forwarded-For", "X-Forwarded-Proto"}},
				{Protocol: model.UDP, Port: 53}, {Protocol: model.TCP, Port: 80},
			},
			Orphans: []model.Pool{{Name: "a", ID: "1"}, {Name: "a", ID: "2"}, pool},
		}
		flip(3, func(i, j int) { lb.Listeners[i], lb.Listeners[j] = lb.Listeners[j], lb.Listeners[i] })
		flip(3, func(i, j int) { lb.Orphans[i], lb.Orphans[j] = lb.Orphans[j], lb.Orphans[i] })
		if reverse {
			slices.Reverse(lb.Listeners[2].AllowedCIDRs)
			slices.Reverse(lb.Listeners[2].InsertHeaders)
		}
		lb.Sort()
		return lb
	}
	if diff := cmp.Diff(ordered(false), ordered(true)); diff != "" {
		t.Error(diff)
	}
}

func TestCanonicalCIDRs_AreSortedUniqueAndEmptyForEverybody(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		given, want []string
		dualStack   bool
	}{
		{nil, nil, false},
		{[]string{"10.0.0.0/8"}, []string{"10.0.0.0/8"}, false},
		{[]string{"192.168.0.0/16", "10.0.0.0/8", "192.168.0.0/16"}, []string{"10.0.0.0/8", "192.168.0.0/16"}, false},
		{[]string{"0.0.0.0/0"}, nil, false},
		{[]string{"10.0.0.0/8", "0.0.0.0/0"}, nil, false},
		{[]string{"::/0"}, nil, false},
		{[]string{"::/0", "10.0.0.0/8"}, []string{"10.0.0.0/8", "::/0"}, true},
		{[]string{"::/0", "0.0.0.0/0"}, nil, true},
	} {
		before := slices.Clone(test.given)
		if diff := cmp.Diff(test.want, model.CanonicalCIDRs(test.given, test.dualStack)); diff != "" {
			t.Errorf("%v: %s", test.given, diff)
		}
		if diff := cmp.Diff(before, test.given); diff != "" {
			t.Errorf("the argument is changed: %s", diff)
		}
	}
}

func TestStatus_FollowsProvisioningStatusOnly(t *testing.T) {
	t.Parallel()
	for provisioning, want := range map[string]struct{ pending, failed, sound bool }{
		"":               {sound: true},
		"ACTIVE":         {sound: true},
		"PENDING_CREATE": {pending: true},
		"PENDING_UPDATE": {pending: true},
		"PENDING_DELETE": {pending: true},
		"ERROR":          {failed: true},
		"DELETED":        {},
	} {
		s := model.Status{Provisioning: provisioning, Operating: "ERROR"}
		if s.Pending() != want.pending || s.Failed() != want.failed || s.Sound() != want.sound {
			t.Errorf("%q: pending %v, failed %v, sound %v; want %+v", provisioning, s.Pending(), s.Failed(), s.Sound(), want)
		}
	}
}

func TestUnsound_ListsEveryKindOfChild(t *testing.T) {
	t.Parallel()
	failed, pending := model.Status{Provisioning: "ERROR"}, model.Status{Provisioning: "PENDING_CREATE"}
	lb := &model.LoadBalancer{
		Listeners: []model.Listener{
			{Name: "sound", Status: model.Status{Provisioning: "ACTIVE"}},
			{Name: "l", ID: "1", Status: failed, Pool: model.Pool{
				Name: "p", ID: "2", Status: failed, Monitor: &model.Monitor{Name: "h", ID: "3", Status: pending},
				Members: model.MembersOf(model.Member{Name: "m", ID: "4", Status: failed}, model.Member{Name: "sound"}),
			}},
		},
		Orphans: []model.Pool{{Name: "unused", Status: failed}},
	}
	want := []model.Child{
		{Kind: "listener", Name: "l", ID: "1", Status: failed}, {Kind: "pool", Name: "p", ID: "2", Status: failed},
		{Kind: "health monitor", Name: "h", ID: "3", Status: pending}, {Kind: "member", Name: "m", ID: "4", Status: failed},
	}
	lb.Listeners = append(lb.Listeners, model.Listener{Pool: model.Pool{Members: model.MembersOf(
		model.Member{Name: "n", Address: "10.0.0.1", Status: pending}, model.Member{Name: "o", Address: "10.0.0.2", Status: pending},
	)}})
	want = append(want, model.Child{Kind: "member", Name: "n", Status: pending}, model.Child{Kind: "member", Name: "o", Status: pending})
	got := lb.Unsound()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !model.AnyPending(got) || model.AnyPending(got[:2]) {
		t.Error("AnyPending does not see the monitor, or sees more")
	}
}

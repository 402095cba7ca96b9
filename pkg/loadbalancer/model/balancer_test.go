package model_test

import (
	"slices"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
)

func TestEnds_OnlyWhenNothingOfOthersIsLost(t *testing.T) {
	t.Parallel()
	listeners, orphans, foreign := []model.Listener{{}}, []model.Pool{{}}, []model.Foreign{{}}
	for name, test := range map[string]struct {
		lb   model.LoadBalancer
		ends bool
	}{
		"its own":                            {model.LoadBalancer{}, true},
		"its own, with listeners":            {model.LoadBalancer{Listeners: listeners}, true},
		"its own, with parts of others":      {model.LoadBalancer{Listeners: listeners, Foreign: foreign}, false},
		"of another owner":                   {model.LoadBalancer{Shared: &model.Shared{}, Listeners: listeners}, false},
		"of another Service, the last":       {model.LoadBalancer{Shared: &model.Shared{Removable: true}, Listeners: listeners}, true},
		"of another Service, an unused pool": {model.LoadBalancer{Shared: &model.Shared{Removable: true}, Orphans: orphans}, true},
		"of another Service, not joined":     {model.LoadBalancer{Shared: &model.Shared{Removable: true}}, false},
		"of another Service, just left":      {model.LoadBalancer{Shared: &model.Shared{Removable: true, Left: true}}, true},
		"of another owner, just left":        {model.LoadBalancer{Shared: &model.Shared{Left: true}}, false},
		"of another Service, with a third":   {model.LoadBalancer{Shared: &model.Shared{Removable: true, Left: true}, Foreign: foreign}, false},
	} {
		if ends := test.lb.Ends(); ends != test.ends {
			t.Errorf("%s: it ends: %v", name, ends)
		}
	}
}

func TestLoadBalancer_CountsMembersAndMonitorsOfListeners(t *testing.T) {
	t.Parallel()
	pool := func(members int, monitored bool) model.Pool {
		var all []model.Member
		for i := range members {
			all = append(all, model.Member{Address: "10.0.0.1", Port: i})
		}
		made := model.Pool{Members: model.MembersOf(all...)}
		if monitored {
			made.Monitor = &model.Monitor{}
		}
		return made
	}
	for name, test := range map[string]struct {
		pools       []model.Pool
		members     int
		unmonitored bool // if it was adopted
	}{
		"no listener":             {nil, 0, true},
		"one without monitor":     {[]model.Pool{pool(3, false)}, 3, true},
		"one with a monitor":      {[]model.Pool{pool(3, true)}, 3, false},
		"the second with monitor": {[]model.Pool{pool(3, false), pool(2, true)}, 5, false},
	} {
		lb := &model.LoadBalancer{Orphans: []model.Pool{pool(7, true)}}
		for _, p := range test.pools {
			lb.Listeners = append(lb.Listeners, model.Listener{Pool: p})
		}
		if n := lb.CountMembers(); n != test.members {
			t.Errorf("%s: %d members, want %d", name, n, test.members)
		}
		if lb.Unmonitored() {
			t.Errorf("%s: its own is unmonitored", name)
		}
		lb.Adopted = true
		if lb.Unmonitored() != test.unmonitored {
			t.Errorf("%s: unmonitored: %v", name, !test.unmonitored)
		}
		without := lb.WithoutMembers()
		if without.CountMembers() != 0 || lb.CountMembers() != test.members || without.Orphans[0].Members.Len() != 7 {
			t.Errorf("%s: %d members without any, %d of the original", name, without.CountMembers(), lb.CountMembers())
		}
	}
}

func TestObserved_HasLoadBalancersOfEachRole(t *testing.T) {
	t.Parallel()
	for _, o := range []model.Observed{
		{LoadBalancer: &model.LoadBalancer{ID: "a"}}, {Outgoing: &model.LoadBalancer{ID: "a"}}, {Duplicates: []model.LoadBalancer{{ID: "b"}, {ID: "a"}}},
	} {
		if !o.Has("a") || o.Has("c") {
			t.Errorf("%+v: has a: %v, has c: %v", o, o.Has("a"), o.Has("c"))
		}
	}
	if (&model.Observed{}).Has("") {
		t.Error("nothing has a load balancer")
	}
}

func TestHasAddress_OnAnyVIPAndFloatingIP(t *testing.T) {
	t.Parallel()
	lb := &model.LoadBalancer{
		VIP:        model.VIP{Address: "10.0.0.5", Additional: []model.AdditionalVIP{{Family: model.IPv6, Address: "fd00::5"}}},
		FloatingIP: &model.FloatingIP{Address: "203.0.113.7"},
	}
	for address, has := range map[string]bool{"10.0.0.5": true, "fd00::5": true, "203.0.113.7": true, "10.0.0.6": false, "": false} {
		if lb.HasAddress(address) != has {
			t.Errorf("%q: %v", address, !has)
		}
	}
	lb.FloatingIP = nil
	if lb.HasAddress("203.0.113.7") {
		t.Error("it has the address of no floating IP")
	}
}

func TestFamilyOf_ReadsAddressesOnly(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"10.0.0.5": model.IPv4, "::ffff:10.0.0.5": model.IPv4, "fd00::5": model.IPv6, "fe80::1%eth0": model.IPv6, "": "", "10.0.0": "", "web.example.org": "", "10.0.0.0/8": "",
	} {
		if got := model.FamilyOf(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

func TestEffectiveWeight_IsOctavias(t *testing.T) {
	t.Parallel()
	for want, members := range map[int][]model.Member{
		0: {{Drained: true}, {Drained: true, Weight: 5}}, 1: {{}, {Weight: 1}, {AdminDown: true}}, 256: {{Weight: 256}},
	} {
		for _, m := range members {
			if got := m.EffectiveWeight(); got != want {
				t.Errorf("%+v: %d, want %d", m, got, want)
			}
		}
	}
}

func TestMonitored_OnceTheProviderHasTheMonitor(t *testing.T) {
	t.Parallel()
	monitor := func(status string) *model.Monitor {
		return &model.Monitor{Status: model.Status{Provisioning: status}}
	}
	for name, test := range map[string]struct {
		pool model.Pool
		want model.Protocol
	}{
		"none":                {model.Pool{Protocol: model.TCP}, ""},
		"one":                 {model.Pool{Protocol: model.TCP, Monitor: monitor("ACTIVE")}, model.TCP},
		"of UDP":              {model.Pool{Protocol: model.UDP, Monitor: monitor("ACTIVE")}, model.UDP},
		"of HTTP":             {model.Pool{Protocol: model.HTTP, Monitor: monitor("PENDING_UPDATE")}, model.TCP},
		"in error":            {model.Pool{Protocol: model.SCTP, Monitor: monitor("ERROR")}, model.SCTP},
		"one that is created": {model.Pool{Protocol: model.TCP, Monitor: monitor("PENDING_CREATE")}, ""},
	} {
		if got := test.pool.Monitored(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestProtocol_DecidesWhatAListenerHas(t *testing.T) {
	t.Parallel()
	for _, protocol := range []model.Protocol{model.TCP, model.UDP, model.SCTP, model.HTTP, model.HTTPS, model.TerminatedHTTPS, model.Prometheus} {
		if has := protocol.HasPool(); has != (protocol != "PROMETHEUS") {
			t.Errorf("%s has a pool: %v", protocol, has)
		}
		if reads := protocol.ReadsHTTP(); reads != slices.Contains([]string{"HTTP", "TERMINATED_HTTPS"}, string(protocol)) {
			t.Errorf("%s reads requests: %v", protocol, reads)
		}
	}
	failed := model.Status{Provisioning: "ERROR"}
	lb := &model.LoadBalancer{Listeners: []model.Listener{{Protocol: model.Prometheus, Pool: model.Pool{Status: failed}}}}
	if unsound := lb.Unsound(); len(unsound) > 0 {
		t.Errorf("a listener without pool has %v", unsound)
	}
}

func TestStatus_LeavesWhileAndAfterItIsDeleted(t *testing.T) {
	t.Parallel()
	leaving := []string{"PENDING_DELETE", "DELETED"}
	for _, status := range model.ProvisioningStatuses() {
		if got := (model.Status{Provisioning: status}).Leaving(); got != slices.Contains(leaving, status) {
			t.Errorf("%s leaves: %v", status, got)
		}
	}
}

func TestForeign_IsNamedByItsService(t *testing.T) {
	t.Parallel()
	for want, foreign := range map[string]model.Foreign{
		"listener l of shop/web":                             {Kind: "listener", ID: "l", Name: "n", Service: "shop/web"},
		"pool p, which was not created for this Service":     {Kind: "pool", ID: "p", Name: "n"},
		"listener l, which was not created for this Service": {Kind: "listener", ID: "l", ServiceUID: "uid"},
	} {
		if got := foreign.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestForwarding_IsComparedByPortAndTarget(t *testing.T) {
	t.Parallel()
	forwarding := func(protocol string, port int, address string, nodePort int) model.Forwarding {
		return model.Forwarding{ID: "f", PortID: "p", Key: model.ListenerKey{Transport: model.Protocol(protocol), Port: port}, Address: address, NodePort: nodePort}
	}
	of := forwarding("TCP", 80, "10.6.0.11", 30080)
	for name, test := range map[string]struct {
		other        model.Forwarding
		same, blocks bool
	}{
		"the same":               {model.Forwarding{ID: "g", PortID: "q", Key: of.Key, Address: of.Address, NodePort: of.NodePort}, true, false},
		"another port":           {forwarding("TCP", 81, "10.6.0.11", 30080), false, true},
		"another protocol":       {forwarding("UDP", 80, "10.6.0.11", 30080), false, false},
		"another node":           {forwarding("TCP", 80, "10.6.0.12", 30080), false, false},
		"another NodePort":       {forwarding("TCP", 80, "10.6.0.11", 30081), false, false},
		"another port and node":  {forwarding("TCP", 81, "10.6.0.12", 30080), false, false},
		"another port and value": {forwarding("TCP", 81, "10.6.0.11", 30081), false, false},
	} {
		if of.Same(test.other) != test.same || test.other.Same(of) != test.same {
			t.Errorf("%s: the same: %v", name, !test.same)
		}
		if of.Blocks(test.other) != test.blocks || test.other.Blocks(of) != test.blocks {
			t.Errorf("%s: blocks: %v", name, !test.blocks)
		}
	}
	all := []model.Forwarding{forwarding("UDP", 53, "c", 1), forwarding("TCP", 443, "a", 2), forwarding("TCP", 53, "c", 3), forwarding("TCP", 80, "b", 4)}
	model.SortForwardings(all)
	var keys []string
	for _, f := range all {
		keys = append(keys, f.Key.String())
	}
	if want := []string{"TCP/53", "UDP/53", "TCP/80", "TCP/443"}; !slices.Equal(keys, want) {
		t.Errorf("sorted: %v, want %v", keys, want)
	}
	if targets, want := model.Targets(all), []string{"a", "b", "c"}; !slices.Equal(targets, want) {
		t.Errorf("targets: %v, want %v", targets, want)
	}
}

package securitygroup

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

func listener(protocol model.Protocol, nodePort, monitorPort int, monitor string) model.Listener {
	l := model.Listener{Protocol: protocol, Pool: model.Pool{Members: model.MembersOf(
		model.Member{Address: "10.6.0.1", Port: nodePort, SubnetID: "members", MonitorPort: monitorPort},
		model.Member{Address: "10.6.0.2", Port: nodePort, SubnetID: "members", MonitorPort: monitorPort},
	)}}
	if monitor != "" {
		l.Pool.Monitor = &model.Monitor{Type: monitor}
	}
	return l
}

func TestSpec_OpensWhatListenersMonitorsAndClientsNeed(t *testing.T) {
	t.Parallel()
	const subnet, vip = "10.6.0.0/16", "10.7.0.0/16"
	for name, c := range map[string]struct {
		listeners   []model.Listener
		options     Options
		nearby      []string
		own, common []string
	}{
		"amphora": {
			listeners: []model.Listener{listener(model.TCP, 30080, 0, ""), listener(model.UDP, 30053, 0, ""), listener(model.SCTP, 30040, 0, "")},
			nearby:    []string{subnet},
			own:       []string{"sctp/30040 from " + subnet, "tcp/30080 from " + subnet, "udp/30053 from " + subnet},
		},
		"HTTP and TLS are TCP": {
			listeners: []model.Listener{listener(model.HTTP, 30080, 0, ""), listener(model.TerminatedHTTPS, 30443, 0, "")},
			nearby:    []string{subnet},
			own:       []string{"tcp/30080 from " + subnet, "tcp/30443 from " + subnet},
		},
		"the VIP in a subnet of its own": {
			listeners: []model.Listener{listener(model.TCP, 30080, 0, "")},
			nearby:    []string{subnet, vip},
			own:       []string{"tcp/30080 from " + subnet, "tcp/30080 from " + vip},
		},
		"externalTrafficPolicy Local": {
			listeners: []model.Listener{listener(model.TCP, 30080, 32000, model.MonitorHTTP), listener(model.UDP, 30053, 32000, model.MonitorHTTP)},
			options:   Options{HealthPort: 32000},
			nearby:    []string{subnet},
			own:       []string{"tcp/30080 from " + subnet, "tcp/32000 from " + subnet, "udp/30053 from " + subnet},
		},
		"externalTrafficPolicy Local, no monitor asks": {
			listeners: []model.Listener{listener(model.TCP, 30080, 0, "")},
			options:   Options{HealthPort: 32000},
			nearby:    []string{subnet},
			own:       []string{"tcp/30080 from " + subnet, "tcp/32000 from " + subnet},
		},
		"a monitor of kube-proxy": {
			listeners: []model.Listener{listener(model.TCP, 30080, 10256, model.MonitorHTTP)},
			nearby:    []string{subnet},
			own:       []string{"tcp/30080 from " + subnet},
			common:    []string{"tcp/10256 from " + subnet},
		},
		"a monitor that pings": {
			listeners: []model.Listener{listener(model.TCP, 30080, 0, model.MonitorPing)},
			nearby:    []string{subnet},
			own:       []string{"tcp/30080 from " + subnet},
			common:    []string{"icmp from " + subnet},
		},
		"ovn": {
			listeners: []model.Listener{listener(model.TCP, 30080, 0, model.MonitorTCP)},
			options:   Options{Direct: true},
			nearby:    []string{subnet},
			own:       []string{"tcp/30080 from 0.0.0.0/0"},
		},
		"ovn, IPv6": {
			listeners: []model.Listener{listener(model.TCP, 30080, 0, "")},
			options:   Options{Direct: true, IPv6: true},
			nearby:    []string{"fd00:6::/64"},
			own:       []string{"tcp/30080 from ::/0"},
		},
		"ovn, source ranges": {
			listeners: []model.Listener{listener(model.TCP, 30080, 0, "")},
			options:   Options{Direct: true, Clients: []string{"192.0.2.0/24"}},
			nearby:    []string{subnet},
			own:       []string{"tcp/30080 from 192.0.2.0/24"},
		},
		"ovn, source ranges, monitors": {
			listeners: []model.Listener{listener(model.TCP, 30080, 0, model.MonitorTCP)},
			options:   Options{Direct: true, Clients: []string{"192.0.2.0/24"}},
			nearby:    []string{subnet},
			own:       []string{"tcp/30080 from " + subnet, "tcp/30080 from 192.0.2.0/24"},
		},
		"ovn, source ranges that hold the subnet": {
			listeners: []model.Listener{listener(model.TCP, 30080, 0, model.MonitorTCP)},
			options:   Options{Direct: true, Clients: []string{"10.0.0.0/8"}},
			nearby:    []string{subnet},
			own:       []string{"tcp/30080 from 10.0.0.0/8"},
		},
		"source ranges where the listeners keep them": {
			listeners: []model.Listener{listener(model.TCP, 30080, 0, "")},
			options:   Options{Clients: []string{"192.0.2.0/24"}},
			nearby:    []string{subnet},
			own:       []string{"tcp/30080 from " + subnet},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := SpecOf(&model.LoadBalancer{Listeners: c.listeners}, c.options)
			own, common := w.Rules(c.nearby)
			if diff := cmp.Diff(c.own, texts(own)); diff != "" {
				t.Errorf("own (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.common, texts(common)); diff != "" {
				t.Errorf("common (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"members"}, w.Subnets); diff != "" {
				t.Errorf("subnets:\n%s", diff)
			}
		})
	}
}

func texts(rules []Rule) []string {
	var all []string
	for _, r := range rules {
		all = append(all, r.String())
	}
	return all
}

func TestHeld_ReadsRuleOfNeutronInAnySpelling(t *testing.T) {
	t.Parallel()
	port, other := 30080, 30090
	base := neutron.SecurityGroupRule{
		ID: "r", Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortRangeMin: &port, PortRangeMax: &port, RemoteIPPrefix: "10.6.0.0/16",
	}
	for name, c := range map[string]struct {
		change func(*neutron.SecurityGroupRule)
		want   string
	}{
		"as we write it":     {func(*neutron.SecurityGroupRule) {}, "tcp/30080 from 10.6.0.0/16"},
		"protocol by number": {func(r *neutron.SecurityGroupRule) { r.Protocol = "132" }, "sctp/30080 from 10.6.0.0/16"},
		"host bits":          {func(r *neutron.SecurityGroupRule) { r.RemoteIPPrefix = "10.6.1.2/16" }, "tcp/30080 from 10.6.0.0/16"},
		"everybody":          {func(r *neutron.SecurityGroupRule) { r.RemoteIPPrefix = "" }, "tcp/30080 from 0.0.0.0/0"},
		"everybody, IPv6":    {func(r *neutron.SecurityGroupRule) { r.RemoteIPPrefix, r.EtherType = "", "IPv6" }, "tcp/30080 from ::/0"},
		"egress":             {func(r *neutron.SecurityGroupRule) { r.Direction = "egress" }, "egress IPv4 tcp"},
		"several ports":      {func(r *neutron.SecurityGroupRule) { r.PortRangeMax = &other }, "ingress IPv4 tcp"},
		"all ports":          {func(r *neutron.SecurityGroupRule) { r.PortRangeMin, r.PortRangeMax = nil, nil }, "ingress IPv4 tcp"},
		"from a group":       {func(r *neutron.SecurityGroupRule) { r.RemoteGroupID = "g" }, "ingress IPv4 tcp"},
		"ICMP": {func(r *neutron.SecurityGroupRule) {
			r.Protocol, r.PortRangeMin, r.PortRangeMax = "1", nil, nil
		}, "icmp from 10.6.0.0/16"},
		"some of ICMP":   {func(r *neutron.SecurityGroupRule) { r.Protocol = "icmp" }, "ingress IPv4 icmp"},
		"a type of ICMP": {func(r *neutron.SecurityGroupRule) { r.Protocol, r.PortRangeMax = "icmp", nil }, "ingress IPv4 icmp"},
		"ICMP of IPv6": {func(r *neutron.SecurityGroupRule) {
			r.Protocol, r.EtherType, r.PortRangeMin, r.PortRangeMax, r.RemoteIPPrefix = "ipv6-icmp", "IPv6", nil, nil, "fd00:6::/64"
		}, "icmp from fd00:6::/64"},
		"from a port on":        {func(r *neutron.SecurityGroupRule) { r.PortRangeMax = nil }, "ingress IPv4 tcp"},
		"up to a port":          {func(r *neutron.SecurityGroupRule) { r.PortRangeMin = nil }, "ingress IPv4 tcp"},
		"from an address group": {func(r *neutron.SecurityGroupRule) { r.RemoteAddressGroupID = "g" }, "ingress IPv4 tcp"},
		"an unreadable prefix":  {func(r *neutron.SecurityGroupRule) { r.RemoteIPPrefix = "all" }, "ingress IPv4 tcp"},
		"any protocol at all":   {func(r *neutron.SecurityGroupRule) { r.Protocol = "" }, "ingress IPv4 of any protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := base
			c.change(&r)
			if got := held(r); got.String() != c.want || got.ID != "r" {
				t.Errorf("read as %q", got)
			}
		})
	}
}

// Monitors probe from every subnet of the load balancer, and clients come from their ranges: rules admit both, and no others.
func TestRules_AdmitRangesAndSubnetsAndNoOthers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	prefixes := func() (all []string) {
		for range random.IntN(4) {
			address := netip.AddrFrom4([4]byte{10, byte(random.IntN(4)), byte(random.IntN(4) * 64), 0})
			prefix, err := address.Prefix([]int{0, 8, 14, 16, 18, 24}[random.IntN(6)])
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, prefix.String())
		}
		return all
	}
	within := func(text string, all []string) bool {
		inner := netip.MustParsePrefix(text)
		return slices.ContainsFunc(all, func(other string) bool {
			outer := netip.MustParsePrefix(other)
			return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
		})
	}
	for range 2000 {
		w := &Spec{Direct: random.IntN(2) == 0, Monitored: random.IntN(2) == 0, Clients: prefixes(), NodePorts: []Opening{{"tcp", 30080}}, HealthPorts: []Opening{{"tcp", 32000}}}
		nearby := prefixes()
		own, _ := w.Rules(nearby)
		let := map[int][]string{}
		for _, r := range own {
			let[r.Port] = append(let[r.Port], r.Prefix)
		}
		wanted := nearby
		if w.Direct {
			if wanted = w.Clients; len(wanted) == 0 {
				wanted = []string{"0.0.0.0/0"}
			}
			if w.Monitored {
				wanted = slices.Concat(wanted, nearby)
			}
		}
		for port, wanted := range map[int][]string{30080: wanted, 32000: nearby} {
			missing := slices.ContainsFunc(wanted, func(prefix string) bool { return !within(prefix, let[port]) })
			if missing || slices.ContainsFunc(let[port], func(prefix string) bool { return !slices.Contains(wanted, prefix) }) {
				t.Fatalf("%+v with subnets %v lets %v reach %d, want %v", w, nearby, let[port], port, wanted)
			}
		}
	}
}

// A pool without a listener, of a refused Service, keeps the rules of its members; ports of monitors do not make rules of their own
// where traffic has the same.
func TestSpecOf_HasPortsOfEachPoolOnce(t *testing.T) {
	t.Parallel()
	tcp := listener(model.TCP, 30080, 30080, model.MonitorTCP)
	udp := listener(model.UDP, 30053, 0, model.MonitorUDPConnect).Pool
	udp.Protocol = model.UDP
	sctp := listener(model.SCTP, 30040, 30041, model.MonitorSCTP)
	w := SpecOf(&model.LoadBalancer{Listeners: []model.Listener{tcp, tcp, sctp}, Orphans: []model.Pool{udp}}, Options{
		Mode: Shared, Clients: []string{"192.0.2.0/24"}, IPv6: true, HealthPort: 32000, Members: []Node{{Name: "a"}}, Others: []Node{{Name: "b"}},
	})
	want := &Spec{
		Mode: Shared, IPv6: true, Monitored: true, Subnets: []string{"members"}, Members: []Node{{Name: "a"}}, Others: []Node{{Name: "b"}},
		NodePorts: []Opening{{"sctp", 30040}, {"udp", 30053}, {"tcp", 30080}}, HealthPorts: []Opening{{"tcp", 32000}}, CommonPorts: []Opening{{"sctp", 30041}},
	}
	if diff := cmp.Diff(want, w); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		spec Spec
		want bool
	}{{Spec{Direct: true, Clients: []string{"::/0"}}, true}, {Spec{Direct: true}, false}, {Spec{Clients: []string{"::/0"}}, false}} {
		if c.spec.Restricted() != c.want {
			t.Errorf("%+v is restricted: %v", c.spec, c.spec.Restricted())
		}
	}
	dual := &Spec{Direct: true, DualStack: true, NodePorts: []Opening{{"tcp", 30080}}}
	if own, _ := dual.Rules(nil); !slices.Equal(texts(own), []string{"tcp/30080 from 0.0.0.0/0", "tcp/30080 from ::/0"}) {
		t.Errorf("all clients of both families: %v", texts(own))
	}
}

// Neutron distinguishes the IP versions of rules, also by the name of ICMP.
func TestRule_IsOfTheIPVersionOfItsPrefix(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule                Rule
		etherType, protocol string
	}{
		{rule("tcp", 80, "10.0.0.0/8"), "IPv4", "tcp"}, {rule("udp", 53, "fd00::/8"), "IPv6", "udp"},
		{rule("icmp", 0, "10.0.0.0/8"), "IPv4", "icmp"}, {rule("icmp", 0, "fd00::/8"), "IPv6", "ipv6-icmp"},
	} {
		if c.rule.EtherType() != c.etherType || c.rule.neutronProtocol() != c.protocol {
			t.Errorf("%s is of %s, %s", c.rule, c.rule.EtherType(), c.rule.neutronProtocol())
		}
	}
}

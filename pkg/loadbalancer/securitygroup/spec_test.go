package securitygroup

import (
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

package router_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/router"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

func forwardingsOf(n *network) *router.Forwardings {
	return &router.Forwardings{Neutron: n, Clock: clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))}
}

// A floating IP can have port forwardings of several Services, of other clusters, and of other clients.
func TestForwardings_AreServicesByDescription(t *testing.T) {
	t.Parallel()
	forwarding := func(id, protocol string, port int, description string) neutron.Forwarding {
		return neutron.Forwarding{
			ID: id, Protocol: protocol, ExternalPort: port, InternalPort: 30000 + port, InternalIPAddress: "10.6.0.11", InternalPortID: "node", Description: description,
		}
	}
	ours := []neutron.Forwarding{
		forwarding("c", "udp", 53, web().ProvenDescription()), forwarding("b", "tcp", 80, web().ProvenDescription()), forwarding("a", "tcp", 53, web().ProvenDescription()),
	}
	foreign := []neutron.Forwarding{
		forwarding("d", "tcp", 81, serviceOf("here", "other").ProvenDescription()), forwarding("e", "tcp", 82, serviceOf("elsewhere", "web").ProvenDescription()), forwarding("f", "tcp", 83, ""),
	}
	want := []model.Forwarding{
		{ID: "a", PortID: "node", Key: model.ListenerKey{Transport: "TCP", Port: 53}, Address: "10.6.0.11", NodePort: 30053},
		{ID: "c", PortID: "node", Key: model.ListenerKey{Transport: "UDP", Port: 53}, Address: "10.6.0.11", NodePort: 30053},
		{ID: "b", PortID: "node", Key: model.ListenerKey{Transport: "TCP", Port: 80}, Address: "10.6.0.11", NodePort: 30080},
	}
	for name, test := range map[string]struct {
		there []neutron.Forwarding
		err   error
		want  []model.Forwarding
		all   bool
		fails error
	}{
		"all are ours":      {ours, nil, want, true, nil},
		"some are ours":     {slices.Concat(foreign, ours), nil, want, false, nil},
		"none is ours":      {foreign, nil, nil, false, nil},
		"none":              {nil, nil, nil, true, nil},
		"it is gone":        {nil, notFound(), nil, true, nil},
		"it cannot be read": {nil, errFailed, nil, true, errFailed},
	} {
		n := &network{forwardings: test.there, fails: map[string]error{"forwardings": test.err}}
		got, err := forwardingsOf(n).Of(t.Context(), web(), "fip")
		if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, test.fails) {
			t.Errorf("%s: %s, error %v", name, diff, err)
		}
		if all, err := forwardingsOf(n).AllOf(t.Context(), web(), "fip"); all != test.all && err == nil || !errors.Is(err, test.fails) {
			t.Errorf("%s: all are the Service's: %v, error %v", name, all, err)
		}
	}
	if diff := cmp.Diff(want, router.ListedOf(neutron.ForwardedIP{Forwardings: ours})); diff != "" {
		t.Errorf("listed: %s", diff)
	}
}

func TestForwardingsFirst_SharesListUnlessItMustBeNew(t *testing.T) {
	t.Parallel()
	n := &network{forwarded: []neutron.ForwardedIP{{ID: "fip"}}}
	f := forwardingsOf(n)
	clk := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	f.Clock = clk
	for _, step := range []struct {
		wait, age time.Duration
		lists     int
	}{{0, time.Minute, 1}, {time.Minute, time.Minute, 1}, {0, 0, 2}, {0, 0, 3}, {0, time.Minute, 3}, {time.Nanosecond, time.Minute, 4}} {
		clk.Step(step.wait)
		all, err := f.First(t.Context(), step.age)
		if err != nil || len(all) != 1 || len(n.sent) != step.lists {
			t.Errorf("%+v: %v, error %v, %d lists", step, all, err, len(n.sent))
		}
	}
}

func TestSet_ChangesForwardingsInPossibleOrder(t *testing.T) {
	t.Parallel()
	// to returns the forwarding of a port to a NodePort of a node.
	to := func(id, protocol string, port, nodePort int, address string) model.Forwarding {
		return model.Forwarding{ID: id, Key: model.ListenerKey{Transport: model.Protocol(protocol), Port: port}, Address: address, NodePort: nodePort, PortID: "at-" + address}
	}
	description := " " + web().ProvenDescription()
	for name, test := range map[string]struct {
		from, to []model.Forwarding
		ids      []string
		sent     []string
	}{
		"none": {nil, nil, nil, nil},
		"a new one": {
			nil, []model.Forwarding{to("", "TCP", 80, 30080, "n1")}, []string{"new-80"},
			[]string{"create fip tcp/80 to n1:30080 on at-n1" + description},
		},
		"the same": {[]model.Forwarding{to("a", "TCP", 80, 30080, "n1")}, []model.Forwarding{to("", "TCP", 80, 30080, "n1")}, []string{"a"}, nil},
		"another node": {
			[]model.Forwarding{to("a", "TCP", 80, 30080, "n1")}, []model.Forwarding{to("", "TCP", 80, 30080, "n2")}, []string{"a"},
			[]string{"retarget fip a tcp/80 to n2:30080 on at-n2"},
		},
		"a port goes": {[]model.Forwarding{to("a", "TCP", 80, 30080, "n1"), to("b", "TCP", 81, 30081, "n1")}, []model.Forwarding{to("", "TCP", 81, 30081, "n1")}, []string{"b"}, []string{"delete fip a"}},
		"another protocol": {
			[]model.Forwarding{to("a", "TCP", 53, 30053, "n1")}, []model.Forwarding{to("", "UDP", 53, 30053, "n1")}, []string{"new-53"},
			[]string{"delete fip a", "create fip udp/53 to n1:30053 on at-n1" + description},
		},
		"both protocols": {
			[]model.Forwarding{to("a", "TCP", 53, 30053, "n1")}, []model.Forwarding{to("", "UDP", 53, 30053, "n1"), to("", "TCP", 53, 30053, "n1")}, []string{"new-53", "a"},
			[]string{"create fip udp/53 to n1:30053 on at-n1" + description},
		},
		"two swap their targets": {
			[]model.Forwarding{to("a", "TCP", 80, 30080, "n1"), to("b", "TCP", 81, 30081, "n1")},
			[]model.Forwarding{to("", "TCP", 80, 30081, "n1"), to("", "TCP", 81, 30080, "n1")}, []string{"new-80", "new-81"},
			[]string{"delete fip a", "delete fip b", "create fip tcp/80 to n1:30081 on at-n1" + description, "create fip tcp/81 to n1:30080 on at-n1" + description},
		},
		"one takes the target of another": {
			[]model.Forwarding{to("a", "TCP", 80, 30080, "n1"), to("b", "TCP", 81, 30081, "n1")},
			[]model.Forwarding{to("", "TCP", 80, 30082, "n1"), to("", "TCP", 81, 30080, "n1")}, []string{"new-80", "b"},
			[]string{"delete fip a", "create fip tcp/80 to n1:30082 on at-n1" + description, "retarget fip b tcp/81 to n1:30080 on at-n1"},
		},
	} {
		n, want := &network{}, slices.Clone(test.to)
		got, err := forwardingsOf(n).Set(t.Context(), web(), "fip", test.from, want)
		var ids []string
		for i, f := range got {
			ids = append(ids, f.ID)
			if !f.Same(test.to[i]) {
				t.Errorf("%s: %+v, want %+v", name, f, test.to[i])
			}
		}
		if err != nil || !slices.Equal(ids, test.ids) || !slices.Equal(want, test.to) {
			t.Errorf("%s: IDs %v, error %v, want %v", name, ids, err, test.ids)
		}
		n.assertSent(t, name, test.sent...)
	}
}

func TestSet_RecreatesForwardingThatIsGoneAndFailsOtherwise(t *testing.T) {
	t.Parallel()
	from, to := []model.Forwarding{forwards("TCP", 80, "10.6.0.11")}, []model.Forwarding{forwards("TCP", 80, "10.6.0.12")}
	to[0].ID = ""
	n := &network{fails: map[string]error{"retarget": notFound()}}
	got, err := forwardingsOf(n).Set(t.Context(), web(), "fip", from, to)
	if err != nil || len(got) != 1 || got[0].ID != "new-80" {
		t.Errorf("%+v, error %v", got, err)
	}
	for fails, test := range map[string]struct{ from, to []model.Forwarding }{
		"retarget": {from, to}, "delete": {from, nil}, "create": {nil, to},
	} {
		n := &network{fails: map[string]error{fails: errFailed}}
		if got, err := forwardingsOf(n).Set(t.Context(), web(), "fip", test.from, test.to); got != nil || !errors.Is(err, errFailed) || len(n.sent) != 1 {
			t.Errorf("%s fails: %+v, error %v, sent %v", fails, got, err, n.sent)
		}
	}
}

func TestTargets_HavePortOfTheirOwnWithoutFloatingIP(t *testing.T) {
	t.Parallel()
	port := func(id, server string, addresses ...string) neutron.Port {
		found := neutron.Port{ID: id, DeviceID: server}
		for _, address := range addresses {
			found.FixedIPs = append(found.FixedIPs, neutron.FixedIP{IPAddress: address})
		}
		return found
	}
	node := []router.Node{{Name: "node-1", Address: "10.6.0.11"}}
	owned := func(node router.Node, at []neutron.Port) []neutron.Port {
		return slices.DeleteFunc(at, func(port neutron.Port) bool { return node.Name != "node-1" || port.DeviceID != "s1" })
	}
	for name, test := range map[string]struct {
		ports    []neutron.Port
		floating []floatingips.FloatingIP
		want     string // the port, "" if the node is no target
	}{
		"a port":                                 {[]neutron.Port{port("a", "s1", "10.6.0.11")}, nil, "a"},
		"none":                                   {nil, nil, ""},
		"a port with two addresses":              {[]neutron.Port{port("a", "s1", "fd00::1", "10.6.0.11")}, nil, "a"},
		"another address":                        {[]neutron.Port{port("a", "s1", "10.6.0.12")}, nil, ""},
		"a port of another server, the only one": {[]neutron.Port{port("a", "s2", "10.6.0.11")}, nil, ""},
		"two, one of the server":                 {[]neutron.Port{port("a", "s2", "10.6.0.11"), port("b", "s1", "10.6.0.11")}, nil, "b"},
		"two, both of the server":                {[]neutron.Port{port("a", "s1", "10.6.0.11"), port("b", "s1", "10.6.0.11")}, nil, ""},
		"two of other servers":                   {[]neutron.Port{port("a", "s2", "10.6.0.11"), port("b", "s3", "10.6.0.11")}, nil, ""},
		"one that is listed twice":               {[]neutron.Port{port("a", "s1", "10.6.0.11"), port("a", "s1", "10.6.0.11")}, nil, "a"},
		"it has a floating IP":                   {[]neutron.Port{port("a", "s1", "10.6.0.11")}, []floatingips.FloatingIP{{PortID: "a"}}, ""},
		"another one has":                        {[]neutron.Port{port("a", "s2", "10.6.0.11"), port("b", "s1", "10.6.0.11")}, []floatingips.FloatingIP{{PortID: "a"}}, "b"},
	} {
		n := &network{nodes: test.ports, floating: test.floating}
		fit, ports, err := forwardingsOf(n).Targets(t.Context(), node, owned)
		if err != nil || (test.want != "") != slices.Equal(fit, node) || ports["10.6.0.11"].ID != test.want || len(ports) != len(fit) {
			t.Errorf("%s: %v, %v, error %v, want %q", name, fit, ports, err, test.want)
		}
		n.assertSent(t, name, "nodes 10.6.0.11", "floating")
	}
	for _, fails := range []string{"nodes", "floating"} {
		n := &network{fails: map[string]error{fails: errFailed}}
		if fit, ports, err := forwardingsOf(n).Targets(t.Context(), node, owned); fit != nil || ports != nil || !errors.Is(err, errFailed) {
			t.Errorf("%s fails: %v, %v, error %v", fails, fit, ports, err)
		}
	}
}

func TestTargets_KeepTheOrderOfNodes(t *testing.T) {
	t.Parallel()
	all := nodes(4)
	n := &network{}
	for _, i := range []int{3, 1, 0} {
		n.nodes = append(n.nodes, neutron.Port{ID: all[i].Name, FixedIPs: []neutron.FixedIP{{IPAddress: all[i].Address}}})
	}
	fit, ports, err := forwardingsOf(n).Targets(t.Context(), all, func(_ router.Node, at []neutron.Port) []neutron.Port { return at })
	if want := []router.Node{all[0], all[1], all[3]}; err != nil || !slices.Equal(fit, want) {
		t.Errorf("%v, error %v, want %v", fit, err, want)
	}
	for _, node := range fit {
		if ports[node.Address].ID != node.Name {
			t.Errorf("%s has port %s", node.Name, ports[node.Address].ID)
		}
	}
}

package securitygroup

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// knownFacts are Facts with a few ports and subnets.
type knownFacts struct {
	Facts
	ports []neutron.Port
	// late are ports that a server has only after ForgetPorts.
	late []neutron.Port
	// cidrs are those of subnets, by ID.
	cidrs map[string]string
	// failing is the method that fails, failsAt the number of its call.
	failing string
	failsAt int
	calls   map[string]int
}

var errFacts = errors.New("no facts")

func (f *knownFacts) call(method string) error {
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	if f.calls[method]++; method == f.failing && f.calls[method] == max(f.failsAt, 1) {
		return errFacts
	}
	return nil
}

func (f *knownFacts) NodePorts(_ context.Context, servers []string) (map[string][]neutron.Port, error) {
	found := map[string][]neutron.Port{}
	for _, port := range f.ports {
		if slices.Contains(servers, port.DeviceID) {
			found[port.DeviceID] = append(found[port.DeviceID], port)
		}
	}
	return found, f.call("NodePorts")
}

func (f *knownFacts) NodePortsAt(_ context.Context, addresses []string) (map[string][]neutron.Port, error) {
	found := map[string][]neutron.Port{}
	for _, port := range slices.Concat(f.ports, f.late) {
		for _, ip := range port.FixedIPs {
			if slices.Contains(addresses, ip.IPAddress) {
				found[ip.IPAddress] = append(found[ip.IPAddress], port)
			}
		}
	}
	return found, f.call("NodePortsAt")
}

func (f *knownFacts) ForgetPorts(servers ...string) {
	for _, port := range f.late {
		if slices.Contains(servers, port.DeviceID) {
			f.ports = append(f.ports, port)
		}
	}
	f.late = nil
}

func (f *knownFacts) SubnetCIDR(_ context.Context, id string) (string, error) {
	return f.cidrs[id], f.call("SubnetCIDR")
}

// portOf returns the port of a server with an address in the subnet "members".
func portOf(id, server, address string, groups ...string) neutron.Port {
	return neutron.Port{
		ID: id, DeviceID: server, DeviceOwner: "compute:nova", SecurityGroups: groups,
		FixedIPs: []neutron.FixedIP{{SubnetID: "members", IPAddress: address}},
	}
}

// unlike returns a port after a change.
func unlike(port neutron.Port, change func(*neutron.Port)) neutron.Port {
	port.FixedIPs = slices.Clone(port.FixedIPs)
	change(&port)
	return port
}

func inSubnet(id string) func(*neutron.Port) {
	return func(p *neutron.Port) { p.FixedIPs[0].SubnetID = id }
}

func ownedBy(owner string) func(*neutron.Port) {
	return func(p *neutron.Port) { p.DeviceID, p.DeviceOwner = "", owner }
}

func unprotected(port neutron.Port) neutron.Port {
	return unlike(port, func(p *neutron.Port) { p.PortSecurity = new(bool) })
}

// nodesOf returns the ports that a Service in a mode wants, with what its Task reports.
func nodesOf(t *testing.T, mode string, facts *knownFacts, members, others []Node) (*Desired, *Task, error) {
	t.Helper()
	g := &Groups{common: &common{facts: facts, mode: mode}}
	d, task := &Desired{}, &Task{beside: map[string]bool{}}
	err := g.nodePorts(t.Context(), Request{
		VIPSubnet: "vip", Spec: &Spec{Mode: mode, Subnets: []string{"members"}, Members: members, Others: others},
	}, task, d)
	return d, task, err
}

// Another server may have the address of a node: that of a deleted node, or one in another network.
func TestPlan_FindsThePortsOfANodeByItsServerElseByItsAddress(t *testing.T) {
	t.Parallel()
	const address = "10.6.0.1"
	node := Node{Name: "n", Server: "s", Addresses: []string{address}}
	anonymous := Node{Name: "n", Addresses: []string{address}}
	renewed := Node{Name: "n", Server: "s", OtherServers: []string{"renewed"}, Addresses: []string{address}}
	for name, c := range map[string]struct {
		node                                Node
		ports, late                         []neutron.Port
		want                                []string
		unfound, strayed, taken, unfiltered bool
	}{
		"its server's": {node: node, ports: []neutron.Port{portOf("p", "s", address)}, want: []string{"p"}},
		"of its server's the one with its address": {
			node: node, ports: []neutron.Port{portOf("other", "s", "172.16.0.1"), portOf("p", "s", address)}, want: []string{"p"},
		},
		"its server's, in whatever subnet": {node: node, ports: []neutron.Port{unlike(portOf("p", "s", address), inSubnet("elsewhere"))}, want: []string{"p"}},
		"one for each of its addresses": {
			node:  Node{Name: "n", Server: "s", Addresses: []string{address, "fd00:6::1"}},
			ports: []neutron.Port{portOf("p6", "s", "fd00:6::1"), portOf("p4", "s", address)}, want: []string{"p4", "p6"},
		},
		"its server's rather than another with the address": {
			node: node, ports: []neutron.Port{portOf("p", "s", address), portOf("twin", "twin", address)}, want: []string{"p"},
		},
		"one that its server has got since its ports were read": {node: node, late: []neutron.Port{portOf("p", "s", address)}, want: []string{"p"}},
		"server unknown":                {node: anonymous, ports: []neutron.Port{portOf("p", "any", address)}, want: []string{"p"}},
		"server unknown, in the VIP's":  {node: anonymous, ports: []neutron.Port{unlike(portOf("p", "any", address), inSubnet("vip"))}, want: []string{"p"}},
		"server unknown, elsewhere":     {node: anonymous, ports: []neutron.Port{unlike(portOf("p", "any", address), inSubnet("elsewhere"))}, strayed: true},
		"server unknown, in no subnet":  {node: anonymous, ports: []neutron.Port{unlike(portOf("p", "any", address), inSubnet(""))}, strayed: true},
		"server unknown, here and else": {node: anonymous, ports: []neutron.Port{portOf("p", "any", address), unlike(portOf("q", "q", address), inSubnet("elsewhere"))}, want: []string{"p"}},
		"the address on another server": {node: node, ports: []neutron.Port{portOf("p", "stranger", address)}, taken: true},
		"the server of its system UUID": {node: renewed, ports: []neutron.Port{portOf("p", "renewed", address)}, want: []string{"p"}},
		"that server, elsewhere":        {node: renewed, ports: []neutron.Port{unlike(portOf("p", "renewed", address), inSubnet("elsewhere"))}, strayed: true},
		"a VLAN of a trunk":             {node: node, ports: []neutron.Port{unlike(portOf("p", "", address), ownedBy("trunk:subport"))}, want: []string{"p"}},
		"a port of no server":           {node: node, ports: []neutron.Port{unlike(portOf("p", "", address), ownedBy(""))}, taken: true},
		"a VLAN on another server":      {node: node, ports: []neutron.Port{unlike(portOf("p", "stranger", address), func(p *neutron.Port) { p.DeviceOwner = "trunk:subport" })}, taken: true},
		"none":                          {node: node, unfound: true},
		"its server has another one":    {node: node, ports: []neutron.Port{portOf("p", "s", "172.16.0.1")}, unfound: true},
		"without port security":         {node: node, ports: []neutron.Port{unprotected(portOf("p", "s", address))}, unfiltered: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []string{PerService, Shared} {
				d, task, err := nodesOf(t, mode, &knownFacts{ports: slices.Clone(c.ports), late: c.late}, []Node{c.node}, nil)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, port := range d.Ports {
					if got = append(got, port.ID); port.Node != "n" {
						t.Errorf("%s: port %s is that of node %q", mode, port.ID, port.Node)
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("%s: ports %v, want %v", mode, got, c.want)
				}
				for what, report := range map[string]struct {
					names []string
					want  bool
				}{
					"unfound": {task.Unfound, c.unfound}, "strayed": {task.Strayed, c.strayed}, "taken": {task.Taken, c.taken}, "unfiltered": {task.Unfiltered, c.unfiltered},
				} {
					if want := map[bool][]string{true: {"n"}}[report.want]; !slices.Equal(report.names, want) {
						t.Errorf("%s: %s: %v, want %v", mode, what, report.names, want)
					}
				}
			}
		})
	}
}

// The group of a Service is on the ports of its own nodes, that of the cluster on those of all nodes. What
// is wrong with a node of another Service is reported there.
func TestPlan_WantsPortsOfOtherNodesOnlyInTheSharedGroup(t *testing.T) {
	t.Parallel()
	facts := func() *knownFacts {
		return &knownFacts{ports: []neutron.Port{
			portOf("mine", "s", "10.6.0.1", "g-mine", "g-both"), portOf("theirs", "o", "10.6.0.2", "g-theirs", "g-both"),
			unprotected(portOf("open", "open", "10.6.0.3")), portOf("stranger", "stranger", "10.6.0.4"),
			unlike(portOf("stray", "any", "10.6.0.6"), inSubnet("elsewhere")), unlike(portOf("stray-member", "any", "10.6.0.7"), inSubnet("elsewhere")),
		}}
	}
	members := []Node{{Name: "z-mine", Server: "s", Addresses: []string{"10.6.0.1"}}, {Name: "stray-member", Addresses: []string{"10.6.0.7"}}}
	others := []Node{
		{Name: "a-theirs", Server: "o", Addresses: []string{"10.6.0.2"}}, {Name: "open", Server: "open", Addresses: []string{"10.6.0.3"}},
		{Name: "taken", Server: "lost", Addresses: []string{"10.6.0.4"}}, {Name: "unfound", Server: "none", Addresses: []string{"10.6.0.5"}},
		{Name: "stray", Addresses: []string{"10.6.0.6"}},
	}
	for mode, want := range map[string]struct {
		ports  []NodePort
		stay   []string
		beside map[string]bool
	}{
		PerService: {[]NodePort{{"mine", "z-mine"}}, nil, map[string]bool{"g-mine": true, "g-both": true}},
		Shared: {
			[]NodePort{{"theirs", "a-theirs"}, {"mine", "z-mine"}}, []string{"stray-member", "stray"},
			map[string]bool{"g-mine": true, "g-both": true, "g-theirs": false},
		},
	} {
		d, task, err := nodesOf(t, mode, facts(), members, others)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.ports, d.Ports); diff != "" {
			t.Errorf("%s: ports, by node (-want +got):\n%s", mode, diff)
		}
		if !slices.Equal(d.Stay, want.stay) {
			t.Errorf("%s: ports that keep the group: %v, want %v", mode, d.Stay, want.stay)
		}
		if diff := cmp.Diff(want.beside, task.beside); diff != "" {
			t.Errorf("%s: groups of ports, and whether a member's (-want +got):\n%s", mode, diff)
		}
		if reports := slices.Concat(task.Unfound, task.Taken, task.Unfiltered, task.Strayed); !slices.Equal(reports, []string{"stray-member"}) {
			t.Errorf("%s: reports about %v", mode, reports)
		}
	}
}

func TestOwned_PrefersThePortsOfTheServer(t *testing.T) {
	t.Parallel()
	node := Node{Name: "n", Server: "s", OtherServers: []string{"renewed"}, Addresses: []string{"10.6.0.2"}}
	of, vlan := func(server string) neutron.Port { return portOf("on-"+server, server, "10.6.0.2") }, portOf("vlan", "", "10.6.0.2")
	vlan.DeviceOwner = "trunk:subport"
	for name, c := range map[string]struct {
		node  Node
		ports []neutron.Port
		want  string
	}{
		"none":                      {node, nil, ""},
		"its server's":              {node, []neutron.Port{of("s")}, "on-s"},
		"its server's among all":    {node, []neutron.Port{vlan, of("renewed"), of("s"), of("stranger")}, "on-s"},
		"two of its server":         {node, []neutron.Port{of("s"), of("s")}, "on-s on-s"},
		"none of its server":        {node, []neutron.Port{of("renewed"), vlan, of("stranger")}, "on-renewed vlan"},
		"another server's":          {node, []neutron.Port{of("stranger")}, ""},
		"of an unknown server":      {Node{Name: "n"}, []neutron.Port{of("any")}, "on-any"},
		"unknown, one of no server": {Node{Name: "n"}, []neutron.Port{vlan, of("any")}, "vlan on-any"},
	} {
		var got []string
		for _, port := range c.node.Owned(c.ports) {
			got = append(got, port.ID)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %q", name, got, c.want)
		}
	}
}

// Ports that cannot be read are not ports that are gone: the group would be taken off them.
func TestPlan_FailsIfPortsOfNodesCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, facts := range map[string]*knownFacts{
		"by server":        {failing: "NodePorts"},
		"by server, again": {failing: "NodePorts", failsAt: 2},
		"by address":       {failing: "NodePortsAt"},
	} {
		if _, _, err := nodesOf(t, Shared, facts, []Node{{Name: "n", Server: "s", Addresses: []string{"10.6.0.1"}}}, nil); !errors.Is(err, errFacts) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Requests for ports by address, and for ports that were read before, are only for nodes that need them.
func TestPlan_LooksForPortsByAddressOnlyIfServersDoNotHaveThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		nodes            []Node
		byServer, atThem int
	}{
		"all have theirs":                {[]Node{{Server: "s", Addresses: []string{"10.6.0.1"}}}, 1, 0},
		"one is by address":              {[]Node{{Server: "s", Addresses: []string{"10.6.0.1"}}, {Addresses: []string{"10.6.0.2"}}}, 1, 1},
		"one has none":                   {[]Node{{Server: "gone", Addresses: []string{"10.6.0.3"}}}, 2, 1},
		"one of unknown server has none": {[]Node{{Addresses: []string{"10.6.0.3"}}}, 1, 1},
		"one has that of another server": {[]Node{{Server: "gone", OtherServers: []string{"any"}, Addresses: []string{"10.6.0.2"}}}, 1, 1},
	} {
		facts := &knownFacts{ports: []neutron.Port{portOf("p", "s", "10.6.0.1"), portOf("q", "any", "10.6.0.2")}}
		if _, _, err := nodesOf(t, PerService, facts, c.nodes, nil); err != nil {
			t.Fatal(err)
		}
		if facts.calls["NodePorts"] != c.byServer || facts.calls["NodePortsAt"] != c.atThem {
			t.Errorf("%s: %v, want %d by server, %d by address", name, facts.calls, c.byServer, c.atThem)
		}
	}
}

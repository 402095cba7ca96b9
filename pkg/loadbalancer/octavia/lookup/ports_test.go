package lookup_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/octavia/lookup"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// slowList is a Neutron that has one port. Something happens while its list is on
// the way.
type slowList struct {
	lookup.Neutron
	port      neutron.Port
	meanwhile func()
}

func (s *slowList) PortsOfDevices(context.Context, []string) ([]neutron.Port, error) {
	listed := s.port
	s.meanwhile()
	return []neutron.Port{listed}, nil
}

func TestNodePorts_KeepNewestRevisionWhenListIsLate(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	at := func(revision int, groups ...string) neutron.Port {
		return neutron.Port{ID: "port", DeviceID: "server", Revision: &revision, SecurityGroups: groups}
	}
	for name, c := range map[string]struct {
		listed, kept neutron.Port
		want         int
	}{
		"changed after the list was made":  {at(1), at(2, "ours"), 2},
		"changed before the list was made": {at(3, "ours", "theirs"), at(2, "ours"), 3},
	} {
		list := &slowList{port: c.listed}
		reader := lookup.New(list, nil, nil, env.clock, age)
		list.meanwhile = func() { reader.KeepPort(c.kept) }
		for range 2 { // read, and then remembered
			found, err := reader.NodePorts(t.Context(), []string{"server"})
			if err != nil || len(found["server"]) != 1 || *found["server"][0].Revision != c.want {
				t.Errorf("%s: ports %+v, %v, want revision %d", name, found, err, c.want)
			}
		}
		if known, ok := reader.KnownPort("port"); !ok || *known.Revision != c.want {
			t.Errorf("%s: known %+v, want revision %d", name, known, c.want)
		}
	}
}

// A Neutron without revisions does not tell which state is newer: the list is.
func TestNodePorts_TakeTheListIfARevisionIsUnknown(t *testing.T) {
	t.Parallel()
	env, two := newEnvironment(t, simulator.Topology{}), 2
	for name, c := range map[string]struct{ listed, kept *int }{"of the list": {nil, &two}, "of the other": {&two, nil}, "of both": {nil, nil}} {
		list := &slowList{port: neutron.Port{ID: "port", DeviceID: "server", Revision: c.listed, Name: "listed"}}
		reader := lookup.New(list, nil, nil, env.clock, age)
		list.meanwhile = func() { reader.KeepPort(neutron.Port{ID: "port", DeviceID: "server", Revision: c.kept, Name: "kept"}) }
		if found, err := reader.NodePorts(t.Context(), []string{"server"}); err != nil || found["server"][0].Name != "listed" {
			t.Errorf("%s: ports %+v, %v", name, found, err)
		}
	}
}

func TestNodeSubnets_AreThoseOfAllPortsOnce(t *testing.T) {
	t.Parallel()
	cloud := &tables{}
	for i, at := range []at{{"b", "10.0.1.1"}, {"a", "10.0.0.1"}, {"a", "10.0.0.2"}} {
		cloud.server(i, at.subnet, at.address)
	}
	cloud.server(1, "c", "10.0.2.1") // a second port
	reader, _ := cloud.reader()
	subnets, err := reader.NodeSubnets(t.Context(), []string{serverID(0), serverID(1), serverID(2), serverID(7)})
	if err != nil || !slices.Equal(subnets, []string{"a", "b", "c"}) {
		t.Errorf("subnets %q, error %v", subnets, err)
	}
}

// Ports of load balancers and of Neutron may have the address of a pod in another network.
func TestNodePortsAt_OmitsPortsThatNoServerHas(t *testing.T) {
	t.Parallel()
	const address = "10.0.0.7"
	for name, test := range map[string]struct {
		port neutron.Port
		is   bool
	}{
		"server":                {neutron.Port{DeviceOwner: "compute:nova"}, true},
		"unbound":               {neutron.Port{}, true},
		"trunk's":               {neutron.Port{DeviceOwner: "trunk:subport"}, true},
		"router's":              {neutron.Port{DeviceOwner: "network:router_interface"}, false},
		"DHCP's":                {neutron.Port{DeviceOwner: "network:dhcp"}, false},
		"VIP's":                 {neutron.Port{DeviceOwner: "Octavia"}, false},
		"VIP's of ovn":          {neutron.Port{DeviceOwner: "ovn-lb-vip"}, false},
		"VIP's of an older ovn": {neutron.Port{Name: "ovn-lb-vip-4f8d"}, false},
	} {
		port := test.port
		port.ID, port.FixedIPs = "port", []neutron.FixedIP{{SubnetID: "a", IPAddress: "10.0.0.8"}, {SubnetID: "a", IPAddress: address}}
		cloud := &tables{servers: []neutron.Port{port}}
		reader, _ := cloud.reader()
		found, err := reader.NodePortsAt(t.Context(), []string{address, "10.0.0.99"})
		if err != nil || len(found) != 2 || (len(found[address]) == 1) != test.is || len(found["10.0.0.99"]) > 0 {
			t.Errorf("%s: ports %+v, error %v", name, found, err)
		}
	}
}

// An address without a port is known too, but not for long. A port is always in its last known state.
func TestNodePortsAt_ReadsEachAddressOncePerMinute(t *testing.T) {
	t.Parallel()
	cloud := &tables{}
	cloud.server(1, "a", "10.0.0.1")
	cloud.server(2, "a", "10.0.0.2")
	reader, clk := cloud.reader()
	for _, step := range []struct {
		after     time.Duration
		addresses []string
		reads     int
	}{
		{0, []string{"10.0.0.1", "10.0.0.9"}, 1}, {time.Minute, []string{"10.0.0.9", "10.0.0.1"}, 0},
		{0, []string{"10.0.0.1", "10.0.0.2"}, 1}, {time.Second, []string{"10.0.0.1"}, 1}, {0, nil, 0},
	} {
		clk.SetTime(clk.Now().Add(step.after))
		found, err := reader.NodePortsAt(t.Context(), step.addresses)
		if err != nil || len(found) != len(step.addresses) || len(found["10.0.0.9"]) > 0 {
			t.Errorf("%q: ports %+v, error %v", step.addresses, found, err)
		}
		cloud.asked(t, fmt.Sprint(step), "PortsAtAddresses", step.reads)
	}
	changed := cloud.servers[0]
	changed.SecurityGroups = []string{"ours"}
	reader.KeepPort(changed)
	if found, err := reader.NodePortsAt(t.Context(), []string{"10.0.0.1"}); err != nil || !found["10.0.0.1"][0].UsesGroup("ours") {
		t.Errorf("ports %+v, error %v, want the state that was kept", found, err)
	}
}

func TestKnownPort_IsForgottenWithTime(t *testing.T) {
	t.Parallel()
	reader, clk := (&tables{}).reader()
	reader.KeepPort(neutron.Port{ID: "port", Name: "kept"})
	for _, step := range []struct {
		after time.Duration
		known bool
	}{{0, true}, {age, true}, {time.Nanosecond, false}} {
		clk.SetTime(clk.Now().Add(step.after))
		if port, known := reader.KnownPort("port"); known != step.known || known != (port.Name == "kept") {
			t.Errorf("after %s: port %+v, known %t", step.after, port, known)
		}
	}
	if port, known := reader.KnownPort("other"); known {
		t.Errorf("known %+v", port)
	}
}

// The address of a VIP decides, then its subnet. An unknown family is not an error.
func TestFamily_IsOfAddressOrSubnet(t *testing.T) {
	t.Parallel()
	cloud, _ := familiesCloud()
	reader, _ := cloud.reader()
	for want, vips := range map[v1.IPFamily][]model.VIP{
		v1.IPv4Protocol: {{Address: "10.0.0.9"}, {SubnetID: "a4"}, {Address: "10.0.0.9", SubnetID: "a6"}, {Address: "::ffff:10.0.0.9"}},
		v1.IPv6Protocol: {{Address: "fd00:a::9"}, {SubnetID: "a6"}, {Address: "fd00:a::9", SubnetID: "a4"}},
		"":              {{}, {SubnetID: "hidden"}, {NetworkID: "net"}},
	} {
		for _, vip := range vips {
			if got, err := reader.Family(t.Context(), vip); err != nil || got != want {
				t.Errorf("%+v: family %q, error %v, want %q", vip, got, err, want)
			}
		}
	}
	cloud.fails = map[string]error{"Subnet": refusal(http.StatusForbidden, "")}
	if _, err := reader.Family(t.Context(), model.VIP{SubnetID: "b4", Address: "10.0.0.9"}); err != nil {
		t.Errorf("a subnet is read beside an address: %v", err)
	}
}

func TestRange_IsOfTheSubnetOrOfItsNetwork(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		subnet string
		family v1.IPFamily
		want   string
	}{
		"of the family":      {"b4", v1.IPv4Protocol, "10.0.1.0/24"},
		"of IPv6":            {"c6", v1.IPv6Protocol, "fd00:c::/64"},
		"first of the other": {"b4", v1.IPv6Protocol, "fd00:a::/64"},
		"none of the other":  {"x4", v1.IPv6Protocol, "invalid Prefix"},
		"unknown":            {"hidden", v1.IPv4Protocol, ""},
	} {
		cloud, _ := familiesCloud()
		slices.Reverse(cloud.subnets) // the first by ID, not in the list
		reader, _ := cloud.reader()
		got, err := reader.Range(t.Context(), test.subnet, test.family, "member-subnet-id")
		switch {
		case test.want == "":
			assertRefused(t, name, err, "member-subnet-id: there is no subnet "+test.subnet)
		case err != nil || got.String() != test.want:
			t.Errorf("%s: range %s, error %v, want %s", name, got, err, test.want)
		}
	}
}

package lookup_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

func TestGather_TakesConfiguredSubnetWithoutRequest(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	known := env.must(env.internal(inSubnet("anything")), env.node("a", ""))
	if known.VIPSubnetID != "anything" || known.VIPNetworkID != "" || known.MemberSubnets != nil {
		t.Errorf("facts %+v", known)
	}
	env.asked(0)
}

func TestGather_TakesOnlySubnetOfFamilyInNetwork(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{IPv6CIDR: "fd00:6::/64"})
	for _, test := range []struct {
		settings *settings.Settings
		want     string
	}{
		{env.internal(inNetwork(env.Cloud.Network.ID)), env.Cloud.Subnet.ID},
		{env.internal(inNetwork(env.Cloud.Network.ID), ipv6), env.Cloud.SubnetV6.ID},
	} {
		known := env.must(test.settings)
		if known.VIPSubnetID != test.want || known.VIPNetworkID != env.Cloud.Network.ID {
			t.Errorf("%s: facts %+v, want subnet %s", test.settings.Family, known, test.want)
		}
	}
	env.asked(2) // the network and its subnets, once
}

func TestGather_LeavesChoiceOfSubnetInNetworkToOctavia(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	at := func(address string) func(*settings.Settings) {
		return func(s *settings.Settings) { s.LoadBalancerIP = address }
	}
	two, three, none := env.network("two"), env.network("three"), env.network("none")
	env.subnet(two.ID, "10.1.0.0/16")
	b := env.subnet(two.ID, "10.2.0.0/16")
	v4 := env.subnet(three.ID, "10.3.0.0/16")
	v6 := env.subnet(three.ID, "fd00:3::/64")
	env.subnet(three.ID, "fd00:4::/64")
	for name, test := range map[string]struct {
		settings *settings.Settings
		want     string
		told     bool
	}{
		"several of IPv4":          {env.internal(inNetwork(two.ID)), "", false},
		"that of the address":      {env.internal(inNetwork(two.ID), at("10.2.7.7")), b.ID, false},
		"of a floating IP":         {env.external(inNetwork(two.ID), at("10.2.7.7")), "", false},
		"one of IPv4":              {env.internal(inNetwork(three.ID)), v4.ID, false},
		"several of IPv6":          {env.internal(inNetwork(three.ID), ipv6), v6.ID, true},
		"IPv6, of the address":     {env.internal(inNetwork(three.ID), ipv6, at("fd00:3::7")), v6.ID, false},
		"hidden from this project": {env.internal(inNetwork(env.Cloud.ExternalNetwork.ID)), "", false},
	} {
		known := env.must(test.settings)
		if known.VIPSubnetID != test.want || (known.ChosenSubnet != "") != test.told {
			t.Errorf("%s: facts %+v, want subnet %q", name, known, test.want)
		}
	}
	_, err := env.gather(env.internal(inNetwork(none.ID)))
	env.refused(err, none.ID, "no subnet of family IPv4", "network-id")
	_, err = env.gather(env.internal(inNetwork(two.ID), ipv6))
	env.refused(err, two.ID, "no subnet of family IPv6", "network-id")
	_, err = env.gather(env.internal(inNetwork(two.ID), at("10.9.7.7")))
	env.refused(err, two.ID, "spec.loadBalancerIP: 10.9.7.7", "10.1.0.0/16, 10.2.0.0/16")
}

func TestGather_RefusesMissingNetwork(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	const id = "5b8e7a55-2b1c-4d0c-93b5-1d4a3c1f0a77"
	_, err := env.gather(env.internal(inNetwork(id)))
	env.refused(err, "there is no network "+id)
	_, err = env.gather(env.external(floatingFrom(id)))
	env.refused(err, "there is no network "+id)
}

func TestGather_TakesSubnetThatAllNodesShare(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{IPv6CIDR: "fd00:6::/64"})
	nodes := []members.Backend{env.node("a", "127.100.1.1"), env.node("b", "127.100.1.2")}
	elsewhere := backend("outside", "192.0.2.1", "")
	known := env.must(env.internal(inSubnet("")), append(nodes, elsewhere)...)
	want := desire.Facts{
		VIPSubnetID:   env.Cloud.Subnet.ID,
		VIPFamilies:   []v1.IPFamily{v1.IPv4Protocol},
		MemberSubnets: map[string]string{"127.100.1.1": env.Cloud.Subnet.ID, "127.100.1.2": env.Cloud.Subnet.ID},
	}
	if diff := cmp.Diff(want, known, cmpopts.IgnoreUnexported(driver.Driver{})); diff != "" {
		t.Error(diff)
	}
	env.asked(1)
}

// Without a configured subnet the VIP is in that of most nodes, with an event; each member is in
// its node's.
func TestGather_PutsVIPInSubnetOfMostNodesAndReportsIt(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	other := env.subnet(env.Cloud.Network.ID, "127.101.0.0/16")
	nodes := []members.Backend{env.node("a", "127.100.1.1"), env.node("b", "127.101.1.1"), env.node("c", "127.101.1.2")}
	for n, want := range map[int]string{3: other.ID, 2: min(env.Cloud.Subnet.ID, other.ID), 1: env.Cloud.Subnet.ID} {
		known := env.must(env.internal(inSubnet("")), nodes[:n]...)
		if known.VIPSubnetID != want || known.MemberSubnetID != "" || known.MemberSubnets["127.100.1.1"] != env.Cloud.Subnet.ID {
			t.Errorf("of %d nodes: facts %+v, want the VIP in %s", n, known, want)
		}
		told := known.ChosenSubnet
		if (told != "") != (n > 1) || n > 1 && (!strings.Contains(told, "in 2 subnets") || !strings.Contains(told, other.ID) || !strings.Contains(told, "loadbalancer.openstack.org/subnet-id")) {
			t.Errorf("of %d nodes: reported %q", n, told)
		}
	}

	env.Cloud.RequestLog.Reset()
	if known := env.must(env.internal(), nodes...); known.VIPSubnetID != env.Cloud.Subnet.ID {
		t.Errorf("with a configured subnet: facts %+v", known)
	}
	env.asked(0)
}

// The members' subnet is the one asked for, else that of cloud.conf, else that of the VIP:
// as cloud-provider-openstack does it, but for subnets of another family.
func TestGather_TakesMemberSubnetOfServiceConfigOrVIP(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{IPv6CIDR: "fd00:6::/64"})
	v4, v6 := env.Cloud.Subnet.ID, env.Cloud.SubnetV6.ID
	for _, test := range []struct {
		asked, conf, vip string
		family           v1.IPFamily
		want             string
	}{
		{"m", v4, "vip", v1.IPv4Protocol, "m"},
		{"", v4, "vip", v1.IPv4Protocol, v4},
		{"", v4, v4, v1.IPv4Protocol, v4},
		{"", "unseen", "vip", v1.IPv4Protocol, "unseen"},
		{"", "", "vip", v1.IPv4Protocol, "vip"},
		{"", v4, v6, v1.IPv6Protocol, v6},
		{"", v6, "vip", v1.IPv6Protocol, v6},
		{"", v4, "", v1.IPv4Protocol, v4}, // the class names a network
	} {
		known := env.must(env.internal(func(s *settings.Settings) {
			s.Members.SubnetID, s.Members.DefaultSubnetID, s.VIP.SubnetID, s.Family = test.asked, test.conf, test.vip, test.family
			if test.vip == "" {
				s.VIP.NetworkID = env.Cloud.Network.ID
			}
		}), env.node("a", ""))
		if known.MemberSubnetID != test.want || known.MemberSubnets != nil {
			t.Errorf("%+v: facts %+v", test, known)
		}
	}
	if n := env.Cloud.RequestLog.Count(http.MethodGet, subnetsRoute+"/{id}"); n > 3 {
		t.Errorf("%d requests for three subnets", n)
	}
}

func TestGather_LeavesVIPInNodesSubnetDespiteMemberSubnet(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	members := func(s *settings.Settings) { s.VIP.SubnetID, s.Members.SubnetID = "", "members" }
	known := env.must(env.internal(members), env.node("a", ""))
	if known.VIPSubnetID != env.Cloud.Subnet.ID {
		t.Errorf("facts %+v, want the VIP in %s", known, env.Cloud.Subnet.ID)
	}
	env.Cloud.RequestLog.Reset()
	if _, err := env.reader.Gather(t.Context(), env.internal(members), nil, driver.Driver{}, existing(nil)); err != nil {
		t.Error(err)
	}
	env.asked(0)
}

func TestGather_FindsNoSubnetWhereServersAreUnknown(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	server := env.node("a", "127.100.1.1").Node.Spec.ProviderID[len("openstack:///"):]
	for _, providerID := range []string{"openstack:///" + server, "openstack://RegionOne/" + server} {
		known := env.must(env.internal(inSubnet("")), backend("a", "127.100.1.1", providerID))
		if known.VIPSubnetID != env.Cloud.Subnet.ID {
			t.Errorf("%s: facts %+v", providerID, known)
		}
	}
	for _, node := range []members.Backend{
		backend("a", "127.100.1.1", ""), backend("a", "127.100.1.1", "aws:///zone/"+server), backend("a", "127.100.1.1", "openstack:///"),
		backend("a", "127.100.9.9", "openstack:///"+server), // an address that is not its port's
		backend("a", "127.100.1.1", "openstack:///0d4c2a3e-6c3b-4f0e-8b5f-6c1b8d7f9a00"),
	} {
		_, err := env.gather(env.internal(inSubnet("")), node)
		env.refused(err, "no subnet for the VIP", "loadbalancer.openstack.org/subnet-id")
	}
}

func TestGather_TakesConfiguredOrFirstExternalNetwork(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	if got := env.must(env.external()).FloatingNetworkID; got != env.Cloud.ExternalNetwork.ID {
		t.Errorf("the configured one: %s", got)
	}
	if got := env.must(env.external(floatingFrom(""))).FloatingNetworkID; got != env.Cloud.ExternalNetwork.ID {
		t.Errorf("the first external one: %s", got)
	}
	if n := env.Cloud.RequestLog.Count(http.MethodGet, subnetsRoute); n > 0 {
		t.Errorf("its subnets were asked for, which a tenant cannot see")
	}
	_, err := env.gather(env.external(floatingFrom(env.Cloud.Network.ID)))
	env.refused(err, env.Cloud.Network.ID, "is not external")
}

func TestGather_PrefersDefaultExternalNetwork(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{WithoutRouter: true})
	env.networksAnswer(`{"networks": [
		{"id": "first", "router:external": true, "is_default": false, "subnets": ["s1"]},
		{"id": "default", "router:external": true, "is_default": true, "subnets": ["s2"]}]}`)
	if got := env.must(env.external(floatingFrom(""))).FloatingNetworkID; got != "default" {
		t.Errorf("floating IPs come from %s", got)
	}
}

func TestGather_ReportsMissingExternalNetwork(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	env.networksAnswer(`{"networks": []}`)
	if known := env.must(env.external(floatingFrom(""))); !strings.Contains(known.NoFloatingIP, "no external network") {
		t.Errorf("facts %+v", known)
	}
}

// networksAnswer lets Neutron list other networks than it has.
func (env *environment) networksAnswer(body string) {
	env.Cloud.Faults.Add(faults.Rule{
		Method: http.MethodGet, Route: networksRoute, Status: http.StatusOK, Body: body,
		Header: http.Header{"Content-Type": {"application/json"}},
	})
}

func TestGather_OmitsFloatingNetworkWithoutFloatingIP(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	for what, s := range map[string]*settings.Settings{"internal": env.internal(), "IPv6": env.external(ipv6)} {
		if got := env.must(s).FloatingNetworkID; got != "" {
			t.Errorf("%s: floating IPs come from %s", what, got)
		}
	}
	env.asked(0)
}

func TestGather_OmitsRequestsForWhatExists(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	s := env.external(inNetwork(env.Cloud.Network.ID))
	for _, test := range []struct {
		what     string
		existing *model.LoadBalancer
		floating string
		requests int
	}{
		{"with a floating IP", existing(&model.FloatingIP{ID: "fip"}), env.Cloud.ExternalNetwork.ID, 0},
		{"without one", existing(nil), env.Cloud.ExternalNetwork.ID, 1},
	} {
		known, err := env.reader.Gather(t.Context(), s, nil, driver.Driver{}, test.existing)
		if err != nil {
			t.Fatal(err)
		}
		if known.VIPSubnetID != "" || known.VIPNetworkID != env.Cloud.Network.ID || known.FloatingNetworkID != test.floating {
			t.Errorf("%s: facts %+v", test.what, known)
		}
		env.asked(test.requests)
	}
}

func TestFreeVIP_RefusesAddressTakenInSubnet(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	port, err := env.Cloud.Neutron.CreatePort(simneutron.PortSpec{
		ProjectID: env.Cloud.Account.ProjectID, NetworkID: env.Cloud.Network.ID, Address: "127.100.7.7", Name: "somebody's",
	})
	if err != nil {
		t.Fatal(err)
	}
	at := func(address string) model.VIP { return model.VIP{Address: address, SubnetID: env.Cloud.Subnet.ID} }
	if err := env.reader.FreeVIP(t.Context(), at("127.100.7.8"), "spec.loadBalancerIP"); err != nil {
		t.Errorf("a free address: %v", err)
	}
	err = env.reader.FreeVIP(t.Context(), at("127.100.7.7"), "spec.loadBalancerIP")
	env.refused(err, "spec.loadBalancerIP", "127.100.7.7", "in the subnet of the VIP")
	if text := err.Error(); strings.Contains(text, port.ID) || strings.Contains(text, "somebody's") {
		t.Errorf("the error tells of another's port: %s", text)
	}
	other := env.subnet(env.network("other").ID, env.Cloud.Subnet.CIDR)
	if err := env.reader.FreeVIP(t.Context(), model.VIP{Address: "127.100.7.7", SubnetID: other.ID}, "spec.loadBalancerIP"); err != nil {
		t.Errorf("an address that is taken in another subnet only: %v", err)
	}
	if err := env.Cloud.Neutron.DeletePort(port.ID); err != nil {
		t.Fatal(err)
	}
	if err := env.reader.FreeVIP(t.Context(), at("127.100.7.7"), "spec.loadBalancerIP"); err != nil {
		t.Errorf("an address that was freed: %v", err)
	}
	env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: portsRoute, Status: http.StatusForbidden})
	if err := env.reader.FreeVIP(t.Context(), at("127.100.7.8"), "spec.loadBalancerIP"); !apierror.IsForbidden(err) {
		t.Errorf("no answer is taken for free: %v", err)
	}
}

// An address is taken only in the subnet of the VIP or, if the cloud chooses that, in its network.
func TestFreeVIP_JudgesThePlaceOfTheVIP(t *testing.T) {
	t.Parallel()
	cloud := &tables{}
	cloud.network(neutron.Network{ID: "net"}, "a 10.0.0.0/24", "b 10.0.1.0/24")
	cloud.server(1, "a", "10.0.0.7")
	cloud.servers[0].NetworkID = "net"
	cloud.servers[0].FixedIPs = append(cloud.servers[0].FixedIPs, neutron.FixedIP{SubnetID: "b", IPAddress: "10.0.1.8"})
	for vip, want := range map[[3]string]string{ // address, subnet, network
		{"10.0.0.7", "a", ""}:      "10.0.0.7 is in use in the subnet of the VIP",
		{"10.0.0.7", "", "net"}:    "10.0.0.7 is in use in the subnet of the VIP",
		{"10.0.0.7", "a", "net"}:   "10.0.0.7 is in use in the subnet of the VIP",
		{"10.0.0.7", "b", ""}:      "10.0.0.7 is not in subnet b (10.0.1.0/24) of the VIP",
		{"10.0.0.7", "", "other"}:  "",
		{"10.0.0.7", "hidden", ""}: "", // Octavia decides
		{"10.0.0.9", "a", ""}:      "",
		{"10.0.1.8", "b", ""}:      "10.0.1.8 is in use in the subnet of the VIP",
	} {
		reader, _ := cloud.reader()
		err := reader.FreeVIP(t.Context(), model.VIP{Address: vip[0], SubnetID: vip[1], NetworkID: vip[2]}, "spec.loadBalancerIP")
		if want == "" && err != nil {
			t.Errorf("%q: %v", vip, err)
		}
		if want != "" {
			assertRefused(t, fmt.Sprint(vip), err, "spec.loadBalancerIP: "+want)
		}
	}
}

func TestVersion_IsThatOfOctavia(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	version, err := env.reader.Version(t.Context())
	if err != nil || !version.AtLeast(driver.VersionTags) {
		t.Errorf("version %s, error %v", version, err)
	}
}

func TestGather_ReturnsErrorsOfNeutron(t *testing.T) {
	t.Parallel()
	env := newEnvironment(t, simulator.Topology{})
	node := env.node("a", "")
	for i, test := range []struct {
		route    string
		settings *settings.Settings
	}{
		{networkRoute, env.internal(inNetwork(env.Cloud.Network.ID))},
		{subnetsRoute, env.internal(inNetwork(env.Cloud.Network.ID))},
		{networkRoute, env.external()},
		{networksRoute, env.external(floatingFrom(""))},
		{portsRoute, env.internal(inSubnet(""))},
	} {
		t.Run(fmt.Sprint(i, " ", test.route), func(t *testing.T) {
			env.pass(2 * age)
			remove := env.Cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: test.route, Status: http.StatusForbidden})
			if _, err := env.gather(test.settings, node); !apierror.IsForbidden(err) {
				t.Errorf("error %v, want the 403", err)
			}
			remove()
			env.must(test.settings, node) // the error was not kept
		})
	}
}

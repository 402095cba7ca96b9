package lookup_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator/faults"
	simneutron "github.com/openstack-ccm/openstack-ccm/tests/simulator/neutron"
)

func TestTheConfiguredSubnetIsAskedOfNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	known := w.must(w.internal(inSubnet("anything")), w.node("a", ""))
	if known.VIPSubnetID != "anything" || known.VIPNetworkID != "" || known.MemberSubnets != nil {
		t.Errorf("facts %+v", known)
	}
	w.asked(0)
}

func TestTheOnlySubnetOfTheNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{IPv6CIDR: "fd00:6::/64"})
	for _, test := range []struct {
		settings settings.Settings
		want     string
	}{
		{w.internal(inNetwork(w.cloud.Network.ID)), w.cloud.Subnet.ID},
		{w.internal(inNetwork(w.cloud.Network.ID), ipv6), w.cloud.SubnetV6.ID},
	} {
		known := w.must(test.settings)
		if known.VIPSubnetID != test.want || known.VIPNetworkID != w.cloud.Network.ID {
			t.Errorf("%s: facts %+v, want subnet %s", test.settings.Family, known, test.want)
		}
	}
	w.asked(2) // the network and its subnets, once
}

func TestANetworkMustHaveOneSubnetOfTheFamily(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	two, none := w.network("two"), w.network("none")
	a, b := w.subnet(two.ID, "10.1.0.0/16"), w.subnet(two.ID, "10.2.0.0/16")
	_, err := w.gather(w.internal(inNetwork(two.ID)))
	w.refused(err, two.ID, "2 subnets", a.ID, b.ID, a.Name, "loadbalancer.openstack.org/subnet-id", "cloud.conf")
	_, err = w.gather(w.internal(inNetwork(none.ID)))
	w.refused(err, none.ID, "no subnet of family IPv4")
	_, err = w.gather(w.internal(inNetwork(two.ID), ipv6))
	w.refused(err, two.ID, "no subnet of family IPv6")
}

func TestANetworkThatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	const id = "5b8e7a55-2b1c-4d0c-93b5-1d4a3c1f0a77"
	_, err := w.gather(w.internal(inNetwork(id)))
	w.refused(err, "there is no network "+id)
	_, err = w.gather(w.external(floatingFrom(id)))
	w.refused(err, "there is no network "+id)
}

func TestTheSubnetThatAllNodesAreIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{IPv6CIDR: "fd00:6::/64"})
	nodes := []members.Backend{w.node("a", "127.100.1.1"), w.node("b", "127.100.1.2")}
	elsewhere := backend("outside", "192.0.2.1", "")
	known := w.must(w.internal(inSubnet("")), append(nodes, elsewhere)...)
	want := desire.Facts{
		VIPSubnetID:   w.cloud.Subnet.ID,
		MemberSubnets: map[string]string{"127.100.1.1": w.cloud.Subnet.ID, "127.100.1.2": w.cloud.Subnet.ID},
	}
	if diff := cmp.Diff(want, known, cmpopts.IgnoreUnexported(driver.Driver{})); diff != "" {
		t.Error(diff)
	}
	w.asked(1)
}

// Where nobody names a subnet the VIP is in that of most nodes, which is told; each member
// is in its node's.
func TestNodesInTwoSubnets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	other := w.subnet(w.cloud.Network.ID, "127.101.0.0/16")
	nodes := []members.Backend{w.node("a", "127.100.1.1"), w.node("b", "127.101.1.1"), w.node("c", "127.101.1.2")}
	for n, want := range map[int]string{3: other.ID, 2: min(w.cloud.Subnet.ID, other.ID), 1: w.cloud.Subnet.ID} {
		known := w.must(w.internal(inSubnet("")), nodes[:n]...)
		if known.VIPSubnetID != want || known.MemberSubnetID != "" || known.MemberSubnets["127.100.1.1"] != w.cloud.Subnet.ID {
			t.Errorf("of %d nodes: facts %+v, want the VIP in %s", n, known, want)
		}
		told := known.ChosenSubnet
		if (told != "") != (n > 1) || n > 1 && (!strings.Contains(told, "in 2 subnets") || !strings.Contains(told, other.ID) || !strings.Contains(told, "loadbalancer.openstack.org/subnet-id")) {
			t.Errorf("of %d nodes: told %q", n, told)
		}
	}

	w.cloud.Books.Reset()
	if known := w.must(w.internal(), nodes...); known.VIPSubnetID != w.cloud.Subnet.ID {
		t.Errorf("with a configured subnet: facts %+v", known)
	}
	w.asked(0)
}

// The members' subnet is the one asked for, else that of cloud.conf, else that of the VIP:
// as cloud-provider-openstack does it, but for subnets of another family.
func TestTheSubnetOfAllMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{IPv6CIDR: "fd00:6::/64"})
	v4, v6 := w.cloud.Subnet.ID, w.cloud.SubnetV6.ID
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
		known := w.must(w.internal(func(s *settings.Settings) {
			s.Members.SubnetID, s.Members.DefaultSubnetID, s.VIP.SubnetID, s.Family = test.asked, test.conf, test.vip, test.family
			if test.vip == "" {
				s.VIP.NetworkID = w.cloud.Network.ID
			}
		}), w.node("a", ""))
		if known.MemberSubnetID != test.want || known.MemberSubnets != nil {
			t.Errorf("%+v: facts %+v", test, known)
		}
	}
	if n := w.cloud.Books.Count(http.MethodGet, subnetsRoute+"/{id}"); n > 3 {
		t.Errorf("%d requests for three subnets", n)
	}
}

func TestASubnetForMembersLeavesTheVIPInTheNodesSubnet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	members := func(s *settings.Settings) { s.VIP.SubnetID, s.Members.SubnetID = "", "members" }
	known := w.must(w.internal(members), w.node("a", ""))
	if known.VIPSubnetID != w.cloud.Subnet.ID {
		t.Errorf("facts %+v, want the VIP in %s", known, w.cloud.Subnet.ID)
	}
	w.cloud.Books.Reset()
	if _, err := w.reader.Gather(t.Context(), w.internal(members), nil, driver.Driver{}, existing(nil)); err != nil {
		t.Error(err)
	}
	w.asked(0)
}

func TestNodesWhoseServersAreNotKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	server := w.node("a", "127.100.1.1").Node.Spec.ProviderID[len("openstack:///"):]
	for _, providerID := range []string{"openstack:///" + server, "openstack://RegionOne/" + server} {
		known := w.must(w.internal(inSubnet("")), backend("a", "127.100.1.1", providerID))
		if known.VIPSubnetID != w.cloud.Subnet.ID {
			t.Errorf("%s: facts %+v", providerID, known)
		}
	}
	for _, node := range []members.Backend{
		backend("a", "127.100.1.1", ""), backend("a", "127.100.1.1", "aws:///zone/"+server), backend("a", "127.100.1.1", "openstack:///"),
		backend("a", "127.100.9.9", "openstack:///"+server), // an address that is not its port's
		backend("a", "127.100.1.1", "openstack:///0d4c2a3e-6c3b-4f0e-8b5f-6c1b8d7f9a00"),
	} {
		_, err := w.gather(w.internal(inSubnet("")), node)
		w.refused(err, "no subnet for the VIP", "loadbalancer.openstack.org/subnet-id")
	}
}

func TestTheFloatingNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	if got := w.must(w.external()).FloatingNetworkID; got != w.cloud.ExternalNetwork.ID {
		t.Errorf("the configured one: %s", got)
	}
	if got := w.must(w.external(floatingFrom(""))).FloatingNetworkID; got != w.cloud.ExternalNetwork.ID {
		t.Errorf("the first external one: %s", got)
	}
	if n := w.cloud.Books.Count(http.MethodGet, subnetsRoute); n > 0 {
		t.Errorf("its subnets were asked for, which a tenant cannot see")
	}
	_, err := w.gather(w.external(floatingFrom(w.cloud.Network.ID)))
	w.refused(err, w.cloud.Network.ID, "is not external")
}

func TestTheDefaultExternalNetworkComesFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	w.networksAnswer(`{"networks": [
		{"id": "first", "router:external": true, "is_default": false, "subnets": ["s1"]},
		{"id": "default", "router:external": true, "is_default": true, "subnets": ["s2"]}]}`)
	if got := w.must(w.external(floatingFrom(""))).FloatingNetworkID; got != "default" {
		t.Errorf("floating IPs come from %s", got)
	}
}

func TestNoExternalNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	w.networksAnswer(`{"networks": []}`)
	if known := w.must(w.external(floatingFrom(""))); !strings.Contains(known.NoFloatingIP, "no external network") {
		t.Errorf("facts %+v", known)
	}
}

// networksAnswer lets Neutron list other networks than it has.
func (w *world) networksAnswer(body string) {
	w.cloud.Faults.Add(faults.Rule{
		Method: http.MethodGet, Route: networksRoute, Status: http.StatusOK, Body: body,
		Header: http.Header{"Content-Type": {"application/json"}},
	})
}

func TestNoFloatingNetworkWithoutAFloatingIP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	for what, s := range map[string]settings.Settings{"internal": w.internal(), "IPv6": w.external(ipv6)} {
		if got := w.must(s).FloatingNetworkID; got != "" {
			t.Errorf("%s: floating IPs come from %s", what, got)
		}
	}
	w.asked(0)
}

func TestWhatExistsIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	s := w.external(inNetwork(w.cloud.Network.ID))
	for _, test := range []struct {
		what     string
		existing *model.LoadBalancer
		floating string
		requests int
	}{
		{"with a floating IP", existing(&model.FloatingIP{ID: "fip"}), w.cloud.ExternalNetwork.ID, 0},
		{"without one", existing(nil), w.cloud.ExternalNetwork.ID, 1},
	} {
		known, err := w.reader.Gather(t.Context(), s, nil, driver.Driver{}, test.existing)
		if err != nil {
			t.Fatal(err)
		}
		if known.VIPSubnetID != "" || known.VIPNetworkID != w.cloud.Network.ID || known.FloatingNetworkID != test.floating {
			t.Errorf("%s: facts %+v", test.what, known)
		}
		w.asked(test.requests)
	}
}

func TestFreeVIP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	port, err := w.cloud.Neutron.CreatePort(simneutron.PortSpec{
		ProjectID: w.cloud.Account.ProjectID, NetworkID: w.cloud.Network.ID, Address: "127.100.7.7", Name: "somebody's",
	})
	if err != nil {
		t.Fatal(err)
	}
	at := func(address string) model.VIP { return model.VIP{Address: address, SubnetID: w.cloud.Subnet.ID} }
	if err := w.reader.FreeVIP(t.Context(), at("127.100.7.8"), "spec.loadBalancerIP"); err != nil {
		t.Errorf("a free address: %v", err)
	}
	err = w.reader.FreeVIP(t.Context(), at("127.100.7.7"), "spec.loadBalancerIP")
	w.refused(err, "spec.loadBalancerIP", "127.100.7.7", "in the subnet of the VIP")
	if text := err.Error(); strings.Contains(text, port.ID) || strings.Contains(text, "somebody's") {
		t.Errorf("the error tells of somebody else's port: %s", text)
	}
	other := w.subnet(w.network("other").ID, w.cloud.Subnet.CIDR)
	if err := w.reader.FreeVIP(t.Context(), model.VIP{Address: "127.100.7.7", SubnetID: other.ID}, "spec.loadBalancerIP"); err != nil {
		t.Errorf("an address that is taken in another subnet only: %v", err)
	}
	if err := w.cloud.Neutron.DeletePort(port.ID); err != nil {
		t.Fatal(err)
	}
	if err := w.reader.FreeVIP(t.Context(), at("127.100.7.7"), "spec.loadBalancerIP"); err != nil {
		t.Errorf("an address that was freed: %v", err)
	}
	w.cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: portsRoute, Status: http.StatusForbidden})
	if err := w.reader.FreeVIP(t.Context(), at("127.100.7.8"), "spec.loadBalancerIP"); !apierror.IsForbidden(err) {
		t.Errorf("no answer is taken for free: %v", err)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	version, err := w.reader.Version(t.Context())
	if err != nil || !version.AtLeast(octavia.VersionTags) {
		t.Errorf("version %s, error %v", version, err)
	}
}

func TestFactsThatCannotBeHadAreErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Topology{})
	node := w.node("a", "")
	for i, test := range []struct {
		route    string
		settings settings.Settings
	}{
		{networkRoute, w.internal(inNetwork(w.cloud.Network.ID))},
		{subnetsRoute, w.internal(inNetwork(w.cloud.Network.ID))},
		{networkRoute, w.external()},
		{networksRoute, w.external(floatingFrom(""))},
		{portsRoute, w.internal(inSubnet(""))},
	} {
		t.Run(fmt.Sprint(i, " ", test.route), func(t *testing.T) {
			w.pass(2 * age)
			remove := w.cloud.Faults.Add(faults.Rule{Method: http.MethodGet, Route: test.route, Status: http.StatusForbidden})
			if _, err := w.gather(test.settings, node); !apierror.IsForbidden(err) {
				t.Errorf("error %v, want the 403", err)
			}
			remove()
			w.must(test.settings, node) // the error was not kept
		})
	}
}

package lookup_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// familiesCloud has networks of both IP families and of one. Two nodes are in subnet b6, one in a6.
func familiesCloud() (*tables, []members.Backend) {
	cloud := &tables{}
	cloud.network(neutron.Network{ID: "net"}, "a4 10.0.0.0/24", "b4 10.0.1.0/24", "a6 fd00:a::/64", "b6 fd00:b::/64", "c6 fd00:c::/64")
	cloud.network(neutron.Network{ID: "other"}, "o6 fd00:d::/64")
	cloud.network(neutron.Network{ID: "only4"}, "x4 10.1.0.0/24")
	cloud.network(neutron.Network{ID: "only6"}, "x6 fd00:e::/64")
	cloud.network(neutron.Network{ID: "ext", External: true}, "e4 203.0.113.0/24")
	nodes := nodesOf(cloud, at{"b6", "fd00:b::1"}, at{"b6", "fd00:b::2"}, at{"a6", "fd00:a::1"}, at{"hidden", "10.9.0.1"})
	return cloud, nodes
}

// dual requests both IP families, the other one second.
func dual(policy v1.IPFamilyPolicy) func(*settings.Settings) {
	return func(s *settings.Settings) {
		s.Second = v1.IPv6Protocol
		if s.Family == v1.IPv6Protocol {
			s.Second = v1.IPv4Protocol
		}
		s.Dual = settings.DualStack{Policy: policy, Second: s.Second}
	}
}

func beside(subnets ...string) func(*settings.Settings) {
	return func(s *settings.Settings) { s.VIP.AdditionalSubnetIDs = subnets }
}

func six(subnet string) []model.AdditionalVIP {
	return []model.AdditionalVIP{{Family: model.IPv6, SubnetID: subnet}}
}

func TestGather_PlacesFurtherVIPsInTheNetworkOfTheFirst(t *testing.T) {
	t.Parallel()
	prefer, require := dual(v1.IPFamilyPolicyPreferDualStack), dual(v1.IPFamilyPolicyRequireDualStack)
	for name, test := range map[string]struct {
		settings []func(*settings.Settings)
		provider string // amphora if it is empty
		alone    bool   // there are no nodes
		want     []model.AdditionalVIP
		first    v1.IPFamily // of the first VIP, IPv4 if it is empty
		one      string      // why there is only one family
		refused  string
	}{
		"one family":                 {settings: []func(*settings.Settings){inSubnet("a4")}},
		"where most nodes are":       {settings: []func(*settings.Settings){inSubnet("a4"), prefer}, want: six("b6")},
		"the first without nodes":    {settings: []func(*settings.Settings){inSubnet("a4"), prefer}, alone: true, want: six("a6")},
		"network only":               {settings: []func(*settings.Settings){inNetwork("net"), prefer}, want: six("b6")},
		"named":                      {settings: []func(*settings.Settings){inSubnet("a4"), prefer, beside("c6")}, want: six("c6")},
		"two named":                  {settings: []func(*settings.Settings){inSubnet("a4"), prefer, beside("b4", "c6")}, want: append([]model.AdditionalVIP{{Family: model.IPv4, SubnetID: "b4"}}, six("c6")...)},
		"named, one family":          {settings: []func(*settings.Settings){inSubnet("a4"), beside("b4")}, want: []model.AdditionalVIP{{Family: model.IPv4, SubnetID: "b4"}}},
		"named, none of the second":  {settings: []func(*settings.Settings){inSubnet("a4"), prefer, beside("b4")}, refused: "none of the subnets is IPv6"},
		"named, of neither family":   {settings: []func(*settings.Settings){inSubnet("a4"), beside("a6")}, refused: "subnet a6 is IPv6, which is not among"},
		"named, of another network":  {settings: []func(*settings.Settings){inSubnet("a4"), prefer, beside("o6")}, refused: "subnet o6 is in network other, and the first VIP in network net"},
		"named, that of the first":   {settings: []func(*settings.Settings){inSubnet("a4"), prefer, beside("a4")}, refused: "each VIP needs a subnet of its own"},
		"named twice":                {settings: []func(*settings.Settings){inSubnet("a4"), prefer, beside("b4", "c6", "b4")}, refused: "subnet b4 occurs twice"},
		"named, unknown":             {settings: []func(*settings.Settings){inSubnet("a4"), prefer, beside("gone")}, refused: "there is no subnet gone"},
		"first of IPv6":              {settings: []func(*settings.Settings){inSubnet("a6"), prefer}, first: v1.IPv6Protocol, want: []model.AdditionalVIP{{Family: model.IPv4, SubnetID: "a4"}}},
		"first of IPv6 on ovn":       {settings: []func(*settings.Settings){inSubnet("a6"), prefer}, provider: "ovn", one: "only the first VIP can have the floating IP"},
		"first of IPv6 on ovn, must": {settings: []func(*settings.Settings){inSubnet("a6"), require}, provider: "ovn", refused: "only the first VIP can have the floating IP"},
		"no subnet of the second":    {settings: []func(*settings.Settings){inSubnet("x4"), prefer}, one: "network only4 of the first VIP has no subnet of IPv6"},
		"no such subnet, must":       {settings: []func(*settings.Settings){inSubnet("x4"), require}, refused: "network only4 of the first VIP has no subnet of IPv6"},
		"first is hidden":            {settings: []func(*settings.Settings){inSubnet("secret"), prefer}, one: "cannot see subnet secret of the first VIP"},
		"first is hidden, must":      {settings: []func(*settings.Settings){inSubnet("secret"), require}, refused: "cannot see subnet secret of the first VIP"},
		"first is hidden, named":     {settings: []func(*settings.Settings){inSubnet("secret"), beside("b4")}, refused: "cannot see subnet secret of the first VIP"},
		"driver has one VIP":         {settings: []func(*settings.Settings){inSubnet("a4"), prefer}, provider: "f5"},
		"network lacks the first's family": {
			settings: []func(*settings.Settings){ipv6, inNetwork("only6"), prefer, func(s *settings.Settings) { s.Internal, s.Floating.NetworkID = false, "ext" }},
			provider: "ovn", one: "network only6 has no subnet of family IPv4",
		},
		"network lacks the first's family, must": {
			settings: []func(*settings.Settings){ipv6, inNetwork("only6"), require, func(s *settings.Settings) { s.Internal = false }},
			provider: "ovn", refused: "network only6 has no subnet of family IPv4",
		},
	} {
		cloud, nodes := familiesCloud()
		if test.alone {
			nodes = nil
		}
		if test.provider == "" {
			test.provider = "amphora"
		}
		reader, _ := cloud.reader()
		facts, err := reader.Gather(t.Context(), inSettings(test.settings...), nodes, driver.Of(test.provider, newest), nil)
		if test.refused != "" {
			assertRefused(t, name, err, test.refused)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(test.want, facts.AdditionalVIPs); diff != "" {
			t.Errorf("%s: VIPs besides the first: %s", name, diff)
		}
		if first := facts.VIPFamilies[0]; test.one == "" && (first == v1.IPv6Protocol) != (test.first == v1.IPv6Protocol) {
			t.Errorf("%s: the first VIP is %s", name, first)
		}
		if (facts.OneFamily == "") != (test.one == "") || !strings.Contains(facts.OneFamily, test.one) {
			t.Errorf("%s: one family because %q, want %q", name, facts.OneFamily, test.one)
		}
	}
}

// The project sees the subnets of its nodes, so that a 404 for one is no fact.
func TestGather_DoubtsThatASubnetOfNodesIsHidden(t *testing.T) {
	t.Parallel()
	cloud, nodes := familiesCloud()
	reader, _ := cloud.reader()
	facts, err := reader.Gather(t.Context(), inSettings(inSubnet("hidden"), dual(v1.IPFamilyPolicyPreferDualStack)), nodes, driver.Of("amphora", newest), nil)
	if !apierror.IsNotFound(err) || facts.OneFamily != "" {
		t.Errorf("error %v, one family because %q", err, facts.OneFamily)
	}
}

// A replacement is planned only if both IP families are possible then.
func TestGather_ReadsThePlaceOfFurtherVIPsOnlyBeforeAReplacement(t *testing.T) {
	t.Parallel()
	prefer, require := dual(v1.IPFamilyPolicyPreferDualStack), dual(v1.IPFamilyPolicyRequireDualStack)
	replace := func(s *settings.Settings) { s.LoadBalancer.AllowReplace = true }
	unspecified := []model.AdditionalVIP{{Family: model.IPv6}}
	for name, test := range map[string]struct {
		change []func(*settings.Settings)
		there  model.VIP
		want   []model.AdditionalVIP
		first  v1.IPFamily
		one    string
		reads  int // of subnets
	}{
		"one family":               {nil, model.VIP{Address: "10.0.0.9", SubnetID: "a4"}, nil, v1.IPv4Protocol, "", 0},
		"no replacement":           {[]func(*settings.Settings){prefer}, model.VIP{Address: "10.0.0.9", SubnetID: "a4"}, unspecified, v1.IPv4Protocol, "", 0},
		"replacement":              {[]func(*settings.Settings){prefer, replace}, model.VIP{Address: "10.0.0.9", SubnetID: "a4"}, unspecified, v1.IPv4Protocol, "", 1},
		"impossible replacement":   {[]func(*settings.Settings){prefer, replace}, model.VIP{Address: "10.1.0.9", SubnetID: "x4"}, nil, v1.IPv4Protocol, "network only4", 1},
		"in a requested subnet":    {[]func(*settings.Settings){prefer, replace, inSubnet("a4")}, model.VIP{Address: "10.1.0.9", SubnetID: "x4"}, unspecified, v1.IPv4Protocol, "", 1},
		"required":                 {[]func(*settings.Settings){require, replace}, model.VIP{Address: "10.1.0.9", SubnetID: "x4"}, unspecified, v1.IPv4Protocol, "", 0},
		"named":                    {[]func(*settings.Settings){require, beside("b6", "c6")}, model.VIP{Address: "10.0.0.9", SubnetID: "a4"}, []model.AdditionalVIP{{SubnetID: "b6"}, {SubnetID: "c6"}}, v1.IPv4Protocol, "", 0},
		"both, the first of IPv6":  {[]func(*settings.Settings){prefer, replace}, model.VIP{Address: "fd00:a::9", SubnetID: "a6", Additional: []model.AdditionalVIP{{Family: model.IPv4, SubnetID: "a4"}}}, unspecified, v1.IPv6Protocol, "", 0},
		"both, the first of IPv4":  {[]func(*settings.Settings){prefer, replace}, model.VIP{Address: "10.0.0.9", SubnetID: "a4", Additional: six("a6")}, unspecified, v1.IPv4Protocol, "", 0},
		"one, of the other family": {[]func(*settings.Settings){prefer}, model.VIP{Address: "fd00:a::9", SubnetID: "a6"}, unspecified, v1.IPv4Protocol, "", 0},
	} {
		cloud, nodes := familiesCloud()
		reader, _ := cloud.reader()
		existing := &model.LoadBalancer{VIP: test.there}
		facts, err := reader.Gather(t.Context(), inSettings(test.change...).On(existing), nodes, driver.Of("amphora", newest), existing)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(test.want, facts.AdditionalVIPs); diff != "" {
			t.Errorf("%s: VIPs besides the first: %s", name, diff)
		}
		if facts.VIPFamilies[0] != test.first || (facts.OneFamily == "") != (test.one == "") || !strings.Contains(facts.OneFamily, test.one) {
			t.Errorf("%s: the first VIP is %s, one family because %q", name, facts.VIPFamilies[0], facts.OneFamily)
		}
		cloud.asked(t, name, "Subnet", test.reads)
	}
}

// Members that are not in the subnet of all members are in that of the VIP of their own IP family.
func TestGather_PlacesMembersOfTheOtherFamilyAtTheirVIP(t *testing.T) {
	t.Parallel()
	in := func(vip, members string) func(*settings.Settings) {
		return func(s *settings.Settings) { s.VIP.SubnetID, s.Members.SubnetID = vip, members }
	}
	twoVIPs := &model.LoadBalancer{VIP: model.VIP{Address: "10.0.0.9", SubnetID: "b4", Additional: six("c6")}}
	for name, test := range map[string]struct {
		settings func(*settings.Settings)
		existing *model.LoadBalancer
		other    v1.IPFamily
		subnet   string
	}{
		"members at the VIP":             {in("a4", ""), nil, v1.IPv6Protocol, "b6"},
		"members in IPv4":                {in("a4", "b4"), nil, v1.IPv6Protocol, "b6"},
		"members in IPv6":                {in("a4", "b6"), nil, v1.IPv4Protocol, "a4"},
		"members in a hidden subnet":     {in("a4", "secret"), nil, v1.IPv6Protocol, "b6"},
		"VIPs that exist, none asked":    {in("", ""), twoVIPs, v1.IPv6Protocol, "c6"},
		"VIPs that exist, members in v6": {in("", "b6"), twoVIPs, v1.IPv4Protocol, "b4"},
	} {
		cloud, nodes := familiesCloud()
		reader, _ := cloud.reader()
		facts, err := reader.Gather(t.Context(), inSettings(test.settings, dual(v1.IPFamilyPolicyRequireDualStack)), nodes, driver.Of("amphora", newest), test.existing)
		if err != nil || facts.Other != test.other || facts.OtherSubnetID != test.subnet {
			t.Errorf("%s: members of %s in %q, error %v; want %s in %q", name, facts.Other, facts.OtherSubnetID, err, test.other, test.subnet)
		}
	}
	cloud, nodes := familiesCloud()
	reader, _ := cloud.reader()
	if facts, err := reader.Gather(t.Context(), inSettings(in("a4", "b4")), nodes, driver.Of("amphora", newest), nil); err != nil || facts.Other != "" || facts.OtherSubnetID != "" {
		t.Errorf("one family: members of %q in %q, error %v", facts.Other, facts.OtherSubnetID, err)
	}
}

// The ports of thousands of nodes are read only where their subnets decide something.
func TestGather_ReadsSubnetsOfNodesOnlyWhereTheyDecide(t *testing.T) {
	t.Parallel()
	prefer := dual(v1.IPFamilyPolicyPreferDualStack)
	replace := func(s *settings.Settings) { s.LoadBalancer.AllowReplace = true }
	members := func(s *settings.Settings) { s.Members.SubnetID = "b4" }
	one := &model.LoadBalancer{VIP: model.VIP{Address: "10.0.0.9", SubnetID: "a4"}}
	both := &model.LoadBalancer{VIP: model.VIP{Address: "10.0.0.9", SubnetID: "a4", Additional: six("a6")}}
	for name, test := range map[string]struct {
		existing *model.LoadBalancer
		changes  []func(*settings.Settings)
		reads    int
	}{
		"each member is in its own":     {nil, []func(*settings.Settings){inNetwork("only4")}, 1},
		"the same, existing":            {one, nil, 1},
		"VIP and members have one":      {nil, []func(*settings.Settings){inSubnet("a4")}, 0},
		"the network has one subnet":    {nil, []func(*settings.Settings){members, inNetwork("only4")}, 0},
		"place of the VIP":              {nil, []func(*settings.Settings){members, func(s *settings.Settings) { s.Family = v1.IPv6Protocol }}, 1},
		"place of an existing VIP":      {one, []func(*settings.Settings){members}, 0},
		"members of both families":      {both, []func(*settings.Settings){members, prefer}, 1},
		"of one, which stays so":        {one, []func(*settings.Settings){members, prefer}, 0},
		"of one, which may be replaced": {one, []func(*settings.Settings){members, prefer, replace}, 1},
		"replacement of one family":     {one, []func(*settings.Settings){members, replace}, 0},
	} {
		cloud, nodes := familiesCloud()
		reader, _ := cloud.reader()
		if _, err := reader.Gather(t.Context(), inSettings(test.changes...).On(test.existing), nodes, driver.Of("amphora", newest), test.existing); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cloud.asked(t, name, "PortsOfDevices", test.reads)
	}
}

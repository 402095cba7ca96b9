package lookup_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/neutron"
)

// internet has three external networks with subnets. The first is the default if that is set. A router connects
// subnet "in" of the project's own network with the networks leads.
func internet(isDefault bool, leads ...string) *tables {
	cloud := &tables{}
	cloud.network(neutron.Network{ID: "empty", External: true})
	cloud.network(neutron.Network{ID: "one", External: true}, "one-a 203.0.113.0/25", "one-b 203.0.113.128/25", "one-6 2001:db8::/64")
	cloud.network(neutron.Network{ID: "two", External: true}, "two-a 198.51.100.0/24")
	cloud.network(neutron.Network{ID: "three", External: true, IsDefault: isDefault}, "three-a 192.0.2.0/24")
	cloud.network(neutron.Network{ID: "own", ProjectID: "ours"}, "in 10.0.0.0/24", "lonely 10.0.1.0/24")
	cloud.network(neutron.Network{ID: "theirs"}, "shared 10.1.0.0/24")
	if len(leads) > 0 {
		router := neutron.Router{ID: "router", Gateway: &neutron.RouterGateway{NetworkID: leads[0]}}
		for _, network := range leads {
			router.Gateways = append(router.Gateways, neutron.RouterGateway{NetworkID: network})
		}
		cloud.routers = append(cloud.routers, router)
		cloud.attach("router", "in", "10.0.0.1")
	}
	return cloud
}

// external is the setting of a Service with a floating IP.
func external(s *settings.Settings) { s.Internal = false }

func floatingIn(f settings.FloatingSettings) func(*settings.Settings) {
	return func(s *settings.Settings) { s.Internal, s.Floating = false, f }
}

// Without a setting, the network is one that routers connect with the VIP, then the default, then the first.
func TestGather_ChoosesAmongExternalNetworks(t *testing.T) {
	t.Parallel()
	asks := func(s *settings.Settings) { s.LoadBalancerIP = "192.0.2.9" }
	for name, test := range map[string]struct {
		cloud   *tables
		at      func(*settings.Settings)
		change  func(*settings.Settings)
		want    string
		chosen  bool
		refused string
	}{
		"the one with a router":        {cloud: internet(true, "two"), at: inSubnet("in"), want: "two"},
		"the one of a network's":       {cloud: internet(true, "two"), at: inNetwork("own"), want: "two"},
		"the default of two":           {cloud: internet(true, "one", "three"), at: inSubnet("in"), want: "three"},
		"the first of two":             {cloud: internet(false, "two", "three"), at: inSubnet("in"), want: "two", chosen: true},
		"the one with the address":     {cloud: internet(false, "two", "three"), at: inSubnet("in"), change: asks, want: "three"},
		"none has the address":         {cloud: internet(false, "one", "two"), at: inSubnet("in"), change: asks, want: "one", chosen: true},
		"no router that it sees":       {cloud: internet(true), at: inSubnet("shared"), want: "three"},
		"no router, no default":        {cloud: internet(false), at: inSubnet("shared"), want: "one", chosen: true},
		"a router to none of them":     {cloud: internet(true, "mars"), at: inSubnet("in"), refused: "no router connects the VIP (subnet in) to one of the 3 external networks"},
		"a network's router to none":   {cloud: internet(true, "mars"), at: inNetwork("own"), refused: "no router connects the VIP (network own)"},
		"a router without any gateway": {cloud: internet(true, ""), at: inSubnet("in"), refused: "no router connects the VIP"},
	} {
		if test.change == nil {
			test.change = func(*settings.Settings) {}
		}
		reader, _ := test.cloud.reader()
		facts, err := reader.Gather(t.Context(), inSettings(test.at, external, test.change), nil, driver.Of("amphora", newest), nil)
		if test.refused != "" {
			assertRefused(t, name, err, test.refused)
			continue
		}
		if err != nil || facts.FloatingNetworkID != test.want {
			t.Errorf("%s: network %q, error %v, want %q", name, facts.FloatingNetworkID, err, test.want)
		}
		if (facts.Chosen != "") != test.chosen || test.chosen && !strings.Contains(facts.Chosen, "using the first, "+test.want) {
			t.Errorf("%s: reported %q", name, facts.Chosen)
		}
	}
}

// Only the owner of a network sees all routers in it. Others may be right that there is a way.
func TestGather_RefusesMissingRouterOnlyWhereItSeesAllRouters(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  func(*tables)
		refused bool
	}{
		"its own network":          {func(*tables) {}, true},
		"another project's":        {func(c *tables) { c.networks[4].ProjectID = "another" }, false},
		"a network it cannot see":  {func(c *tables) { c.networks = slices.Delete(c.networks, 4, 5) }, false},
		"a router it cannot see":   {func(c *tables) { c.routers = nil }, false},
		"one of two is hidden":     {func(c *tables) { c.attach("hidden", "in", "10.0.0.2") }, false},
		"routers are forbidden":    {func(c *tables) { c.fails = map[string]error{"Routers": refusal(http.StatusForbidden, "")} }, false},
		"interfaces are forbidden": {func(c *tables) { c.fails = map[string]error{"RouterInterfaces": refusal(http.StatusForbidden, "")} }, false},
		"no service for routers":   {func(c *tables) { c.fails = map[string]error{"RouterInterfaces": refusal(http.StatusNotFound, "")} }, false},
	} {
		cloud := internet(true, "mars")
		test.change(cloud)
		reader, _ := cloud.reader()
		facts, err := reader.Gather(t.Context(), inSettings(inSubnet("in"), external), nil, driver.Of("amphora", newest), nil)
		if test.refused {
			assertRefused(t, name, err, "no router connects")
		} else if err != nil || facts.FloatingNetworkID != "three" {
			t.Errorf("%s: network %q, error %v, want the default", name, facts.FloatingNetworkID, err)
		}
	}
}

// An operator who adds a gateway need not wait for the cache.
func TestGather_KeepsRoutersWithGatewayOnly(t *testing.T) {
	t.Parallel()
	cloud := internet(true, "")
	reader, _ := cloud.reader()
	s := inSettings(inSubnet("in"), external)
	for range 2 {
		_, err := reader.Gather(t.Context(), s, nil, driver.Of("amphora", newest), nil)
		assertRefused(t, "without a gateway", err, "no router connects")
	}
	cloud.asked(t, "without a gateway", "Routers", 2)
	cloud.routers[0].Gateway.NetworkID = "two"
	for range 2 {
		if facts, err := reader.Gather(t.Context(), s, nil, driver.Of("amphora", newest), nil); err != nil || facts.FloatingNetworkID != "two" {
			t.Errorf("with a gateway: network %q, error %v", facts.FloatingNetworkID, err)
		}
	}
	cloud.asked(t, "with a gateway", "Routers", 1)
}

// For a Service with a floating IP, the VIP is where a router leads to the network of the floating IP, even if
// more nodes are elsewhere.
func TestGather_PrefersNodeSubnetWithGateway(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*settings.Settings)
		leads  []string
		want   string
		told   string
	}{
		"internal":                    {func(*settings.Settings) {}, []string{"two"}, "lonely", "which most nodes are in"},
		"any external network":        {external, []string{"two"}, "in", "the first from which a router leads"},
		"the network of the setting":  {floatingIn(settings.FloatingSettings{NetworkID: "two"}), []string{"two"}, "in", "the first from which a router leads"},
		"a router to another network": {floatingIn(settings.FloatingSettings{NetworkID: "one"}), []string{"two"}, "lonely", "which most nodes are in"},
		"routers that are hidden":     {external, nil, "lonely", "which most nodes are in"},
	} {
		cloud := internet(true, test.leads...)
		if len(test.leads) > 0 {
			cloud.routers = append(cloud.routers, neutron.Router{ID: "idle"})
		}
		cloud.attach("idle", "lonely", "10.0.1.1")
		backends := nodesOf(cloud, at{"in", "10.0.0.11"}, at{"lonely", "10.0.1.11"}, at{"lonely", "10.0.1.12"})
		reader, _ := cloud.reader()
		facts, err := reader.Gather(t.Context(), inSettings(test.change), backends, driver.Of("amphora", newest), nil)
		if err != nil || facts.VIPSubnetID != test.want || !strings.Contains(facts.ChosenSubnet, test.told) || !strings.Contains(facts.ChosenSubnet, "(in: 1, lonely: 2)") {
			t.Errorf("%s: subnet %q, reported %q, error %v, want %q", name, facts.VIPSubnetID, facts.ChosenSubnet, err, test.want)
		}
	}
}

func TestGather_TakesSubnetsOfFloatingIPFromSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		asked   settings.FloatingSettings
		network string
		subnets []string
		refused string
	}{
		"any of the network":        {settings.FloatingSettings{NetworkID: "one"}, "one", nil, ""},
		"one, with its network":     {settings.FloatingSettings{NetworkID: "one", SubnetID: "one-b"}, "one", []string{"one-b"}, ""},
		"one, without its network":  {settings.FloatingSettings{SubnetID: "two-a"}, "two", []string{"two-a"}, ""},
		"one of an internal one":    {settings.FloatingSettings{SubnetID: "in"}, "", nil, "network own is not external"},
		"by name, IPv4 only":        {settings.FloatingSettings{NetworkID: "one", Pattern: "name of one-*"}, "one", []string{"one-a", "one-b"}, ""},
		"by tag":                    {settings.FloatingSettings{NetworkID: "one", Tags: "public"}, "one", []string{"one-b"}, ""},
		"by name and tag":           {settings.FloatingSettings{NetworkID: "one", Pattern: "name of one-a", Tags: "public"}, "", nil, `floating-subnet "name of one-a" and floating-subnet-tags "public": no IPv4 subnet of network one fits, of 3`},
		"by name, none":             {settings.FloatingSettings{NetworkID: "one", Pattern: "blue"}, "", nil, `floating-subnet "blue": no IPv4 subnet of network one fits`},
		"by tag, none":              {settings.FloatingSettings{NetworkID: "one", Tags: "blue"}, "", nil, `floating-subnet-tags "blue": no IPv4 subnet`},
		"by name, subnets hidden":   {settings.FloatingSettings{NetworkID: "dark", Pattern: "blue"}, "", nil, "this project sees no subnet of the external network dark"},
		"ID of a floating IP":       {settings.FloatingSettings{ID: "fip", NetworkID: "mars", SubnetID: "s"}, "mars", []string{"s"}, ""},
		"tag of a floating IP":      {settings.FloatingSettings{Tag: "red", NetworkID: "mars"}, "mars", nil, ""},
		"a network that is unknown": {settings.FloatingSettings{NetworkID: "mars"}, "", nil, "there is no network mars"},
	} {
		cloud := internet(true, "one")
		cloud.networks = append(cloud.networks, neutron.Network{ID: "dark", External: true, Subnets: []string{"d"}})
		for i := range cloud.subnets {
			if strings.HasSuffix(cloud.subnets[i].ID, "-b") {
				cloud.subnets[i].Tags = []string{"public"}
			}
		}
		reader, _ := cloud.reader()
		facts, err := reader.Gather(t.Context(), inSettings(inSubnet("in"), floatingIn(test.asked)), nil, driver.Of("amphora", newest), nil)
		if test.refused != "" {
			assertRefused(t, name, err, test.refused)
			continue
		}
		if err != nil || facts.FloatingNetworkID != test.network || !slices.Equal(facts.FloatingSubnetIDs, test.subnets) {
			t.Errorf("%s: network %q, subnets %q, error %v", name, facts.FloatingNetworkID, facts.FloatingSubnetIDs, err)
		}
	}
}

// The floating IP is one of the VIP of IPv4, whichever VIP is the first.
func TestGather_LooksForFloatingNetworkFromTheVIPOfIPv4(t *testing.T) {
	t.Parallel()
	there := func(six, four string) *model.LoadBalancer {
		return &model.LoadBalancer{VIP: model.VIP{SubnetID: six, Family: model.IPv6, Additional: []model.AdditionalVIP{{Family: model.IPv4, SubnetID: four}}}}
	}
	for name, test := range map[string]struct {
		provider string
		existing *model.LoadBalancer
		want     string
		none     bool
	}{
		"the second VIP":        {"amphora", there("lonely", "in"), "two", false},
		"a VIP without router":  {"amphora", there("in", "lonely"), "three", false},
		"ovn, first is of IPv6": {"ovn", there("in", "in"), "", true},
	} {
		cloud := internet(true, "two")
		reader, _ := cloud.reader()
		s := inSettings(ipv6, external, dual(v1.IPFamilyPolicyPreferDualStack))
		facts, err := reader.Gather(t.Context(), s, nil, driver.Of(test.provider, newest), test.existing)
		if err != nil || facts.FloatingNetworkID != test.want || (facts.NoFloatingIP != "") != test.none {
			t.Errorf("%s: network %q, none because %q, error %v, want %q", name, facts.FloatingNetworkID, facts.NoFloatingIP, err, test.want)
		}
	}
}

func TestFloating_ReturnsTheFloatingIPOfAnyVIP(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cloud  *tables
		change func(*settings.Settings)
		want   *model.FloatingIP
		why    string
	}{
		"internal":             {internet(true, "two"), func(*settings.Settings) {}, nil, ""},
		"external":             {internet(true, "two"), external, &model.FloatingIP{NetworkID: "two"}, ""},
		"requested":            {internet(true, "two"), floatingIn(settings.FloatingSettings{Tag: "red", NetworkID: "one", SubnetID: "one-b"}), &model.FloatingIP{Tag: "red", NetworkID: "one", SubnetIDs: []string{"one-b"}}, ""},
		"no external networks": {&tables{}, external, nil, "this project sees no external network"},
	} {
		reader, _ := test.cloud.reader()
		fip, why, err := reader.Floating(t.Context(), inSettings(test.change), nil, model.VIP{SubnetID: "in"})
		if diff := cmp.Diff(test.want, fip); diff != "" || err != nil || !strings.HasPrefix(why, test.why) || (why == "") != (test.why == "") {
			t.Errorf("%s: why %q, error %v, floating IP %s", name, why, err, diff)
		}
	}
	reader, _ := internet(true, "mars").reader()
	fip, _, err := reader.Floating(t.Context(), inSettings(external), nil, model.VIP{SubnetID: "in"})
	if fip != nil {
		t.Errorf("%+v without a router", fip)
	}
	assertRefused(t, "without a router", err, "no router connects")
}

// What the project cannot see may contain the address.
func TestFloatingAddress_RefusesOnlyAddressesOutsideOfAllVisibleSubnets(t *testing.T) {
	t.Parallel()
	cloud := internet(true)
	cloud.network(neutron.Network{ID: "six", External: true}, "six-a 2001:db8:6::/64")
	reader, _ := cloud.reader()
	for address, networks := range map[string]map[string]bool{
		"203.0.113.7":   {"one": true, "two": false, "empty": true, "six": true},
		"203.0.113.200": {"one": true, "two": false},
		"198.51.100.1":  {"one": false, "two": true},
		"2001:db8::7":   {"one": false},
	} {
		for network, fits := range networks {
			err := reader.FloatingAddress(t.Context(), network, address, "spec.loadBalancerIP")
			if fits && err != nil {
				t.Errorf("%s in %s: %v", address, network, err)
			}
			if !fits {
				assertRefused(t, address+" in "+network, err, "spec.loadBalancerIP: no floating IP of this project has the address "+address)
			}
		}
	}
}

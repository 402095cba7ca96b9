package lookup_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/desire"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// Where a setting has the place of the VIP, a preview is the truth except for the members.
func TestPreview_HasTheFactsOfGatherIfASettingHasThePlaceOfTheVIP(t *testing.T) {
	t.Parallel()
	prefer := dual(v1.IPFamilyPolicyPreferDualStack)
	places := map[string]func(*settings.Settings){"subnet": inSubnet("a4"), "network": inNetwork("only4"), "network of both": inNetwork("net"), "unknown network": inNetwork("gone")}
	changes := map[string]func(*settings.Settings){
		"plain": func(*settings.Settings) {}, "external": external, "dual": prefer, "named": beside("b4"), "wrong subnet": beside("o6"),
		"flavor": func(s *settings.Settings) { s.LoadBalancer.FlavorID = "large" }, "no flavor": func(s *settings.Settings) { s.LoadBalancer.FlavorID = "huge" },
		"zone": func(s *settings.Settings) { s.LoadBalancer.AvailabilityZone = "east" }, "members": func(s *settings.Settings) { s.Members.SubnetID = "b4" },
		"other floating network": floatingIn(settings.FloatingSettings{NetworkID: "net"}),
	}
	for _, provider := range []string{"amphora", "ovn"} {
		for place, at := range places {
			for what, change := range changes {
				cloud, _ := familiesCloud()
				cloud.flavors, cloud.zones = catalog().flavors, catalog().zones
				reader, _ := cloud.reader()
				s, drv := inSettings(at, change), driver.Of(provider, newest)
				want, wantErr := reader.Gather(t.Context(), s, nil, drv, nil)
				got, err := reader.Preview(t.Context(), s, drv)
				if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
					t.Errorf("%s, %s, %s: error %v, want %v", provider, place, what, err, wantErr)
				}
				ofMembers := cmpopts.IgnoreFields(desire.Facts{}, "MemberSubnets", "Other", "OtherSubnetID")
				if diff := cmp.Diff(want, got, ofMembers, cmpopts.IgnoreUnexported(driver.Driver{})); diff != "" && err == nil {
					t.Errorf("%s, %s, %s: %s", provider, place, what, diff)
				}
			}
		}
	}
}

// Without nodes, their subnets are unknown, and so is that of the VIP.
func TestPreview_LeavesPlaceOfVIPOpenWithoutSetting(t *testing.T) {
	t.Parallel()
	prefer := dual(v1.IPFamilyPolicyPreferDualStack)
	for name, test := range map[string]struct {
		provider string
		change   func(*settings.Settings)
		want     desire.Facts
	}{
		"one family":          {"amphora", func(*settings.Settings) {}, desire.Facts{VIPFamilies: []v1.IPFamily{v1.IPv4Protocol}}},
		"both families":       {"amphora", prefer, desire.Facts{VIPFamilies: []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}, AdditionalVIPs: []model.AdditionalVIP{{Family: model.IPv6}}}},
		"both, but of no use": {"f5", prefer, desire.Facts{VIPFamilies: []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}}},
		"external":            {"amphora", external, desire.Facts{VIPFamilies: []v1.IPFamily{v1.IPv4Protocol}, FloatingNetworkID: "ext"}},
	} {
		cloud, _ := familiesCloud()
		reader, _ := cloud.reader()
		got, err := reader.Preview(t.Context(), inSettings(test.change), driver.Of(test.provider, newest))
		if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(desire.Facts{}, "Driver")); diff != "" || err != nil {
			t.Errorf("%s: error %v, %s", name, err, diff)
		}
		cloud.asked(t, name, "PortsOfDevices", 0)
	}
	reader, _ := internet(true, "two").reader() // which may or may not be where the VIP will be
	if got, err := reader.Preview(t.Context(), inSettings(external), driver.Of("amphora", newest)); err != nil || got.FloatingNetworkID != "three" {
		t.Errorf("several external networks: facts %+v, error %v, want the default one", got, err)
	}
}

// Some clouds let projects use subnets that they do not see, so only what a Service itself names is looked for.
func TestGather_LooksForSubnetsThatTheServiceNames(t *testing.T) {
	t.Parallel()
	conf := fixture.Config(func(c *config.LoadBalancer) { c.SubnetID, c.MemberSubnetID = serverID(8), serverID(8) })
	parser, err := settings.NewParser(conf)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		annotation string
		subnet     string
		refused    bool
	}{
		"of cloud.conf":        {annotation.Provider, "amphora", false},
		"VIP's, seen":          {annotation.SubnetID, serverID(1), false},
		"VIP's, unknown":       {annotation.SubnetID, serverID(2), true},
		"members', seen":       {annotation.MemberSubnetID, serverID(1), false},
		"members', unknown":    {annotation.MemberSubnetID, serverID(2), true},
		"existing one, either": {annotation.MemberSubnetID, serverID(2), false},
	} {
		cloud, _ := familiesCloud()
		cloud.subnets[0].ID = serverID(1)
		s, _, errs := parser.Parse(fixture.Service(fixture.Annotated(test.annotation, test.subnet), fixture.Annotated(annotation.Internal, "true")))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		var existing *model.LoadBalancer
		if strings.HasPrefix(name, "existing") {
			existing = &model.LoadBalancer{}
		}
		reader, _ := cloud.reader()
		_, err := reader.Gather(t.Context(), s, nil, driver.Of("amphora", newest), existing)
		switch {
		case test.refused:
			assertRefused(t, name, err, "there is no subnet "+test.subnet)
			assertRefused(t, name, err, annotation.Path(test.annotation).String())
		case err != nil:
			t.Errorf("%s: error %v", name, err)
		}
	}
}

package lookup_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/apierror"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack/octavia"
)

// catalog is an Octavia with flavors and zones. The name of one flavor is the ID of another one.
func catalog() *tables {
	return &tables{
		flavors: []octavia.Flavor{
			{ID: serverID(9), Name: serverID(1), Enabled: true}, {ID: serverID(1), Name: "small", Enabled: true},
			{ID: serverID(2), Name: "large", Enabled: true}, {ID: serverID(3), Name: "retired"},
		},
		zones: []octavia.AvailabilityZone{{Name: "west", Enabled: true}, {Name: "east", Enabled: true}, {Name: "closed"}},
	}
}

func flavor(asked string) func(*settings.Settings) {
	return func(s *settings.Settings) { s.VIP.SubnetID, s.LoadBalancer.FlavorID = "a4", asked }
}

func zone(asked string) func(*settings.Settings) {
	return func(s *settings.Settings) { s.VIP.SubnetID, s.LoadBalancer.AvailabilityZone = "a4", asked }
}

// An existing load balancer keeps its flavor, even if that was disabled since.
func TestGather_FindsFlavorByIDOrName(t *testing.T) {
	t.Parallel()
	there := &model.LoadBalancer{}
	for name, test := range map[string]struct {
		asked    string
		existing *model.LoadBalancer
		want     string
		refused  string
		reads    int
	}{
		"none":                       {"", nil, "", "", 0},
		"by its ID, not by the name": {serverID(1), nil, serverID(1), "", 1},
		"the first one":              {serverID(9), nil, serverID(9), "", 1},
		"by its name":                {"large", nil, serverID(2), "", 1},
		"by its name, existing":      {"large", there, serverID(2), "", 1},
		"by its ID, existing":        {serverID(7), there, serverID(7), "", 0},
		"disabled":                   {"retired", nil, "", `no usable flavor "retired": use one of ` + serverID(1) + ", large, small, or remove", 1},
		"disabled, by its ID":        {serverID(3), nil, "", "no usable flavor", 1},
		"disabled, existing":         {"retired", there, serverID(3), "", 1},
		"unknown":                    {"huge", nil, "", `no usable flavor "huge"`, 1},
		"unknown, existing":          {"huge", there, "", `no usable flavor "huge"`, 1},
		"unknown ID":                 {serverID(7), nil, "", "no usable flavor", 1},
	} {
		cloud := catalog()
		reader, _ := cloud.reader()
		for range 2 { // the second time from the cache
			facts, err := reader.Gather(t.Context(), inSettings(flavor(test.asked)), nil, driver.Of("amphora", newest), test.existing)
			switch {
			case test.refused != "":
				assertRefused(t, name, err, test.refused)
			case err != nil || facts.FlavorID != test.want || len(facts.Ignored) > 0:
				t.Errorf("%s: facts %+v, error %v, want flavor %q", name, facts, err, test.want)
			}
		}
		cloud.asked(t, name, "Flavors", test.reads)
	}
	reader, _ := (&tables{}).reader()
	_, err := reader.Gather(t.Context(), inSettings(flavor("large")), nil, driver.Of("amphora", newest), nil)
	assertRefused(t, "no flavors at all", err, "it has none: remove the setting")
}

func TestGather_ChecksZoneOfNewLoadBalancer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		asked    string
		status   int // of the list
		existing *model.LoadBalancer
		refused  string
		fails    bool
		reads    int
	}{
		"none":                   {},
		"one of them":            {asked: "east", reads: 1},
		"unknown, existing":      {asked: "north", existing: &model.LoadBalancer{}},
		"unknown":                {asked: "north", refused: `no usable availability zone "north": use one of east, west, or remove`, reads: 1},
		"disabled":               {asked: "closed", refused: `no usable availability zone "closed"`, reads: 1},
		"list is forbidden":      {asked: "north", status: http.StatusForbidden, reads: 1},
		"release without a list": {asked: "north", status: http.StatusNotFound, reads: 1},
		"list fails":             {asked: "east", status: http.StatusBadRequest, fails: true, reads: 1},
	} {
		cloud := catalog()
		if test.status != 0 {
			cloud.fails = map[string]error{"AvailabilityZones": refusal(test.status, "")}
		}
		reader, _ := cloud.reader()
		facts, err := reader.Gather(t.Context(), inSettings(zone(test.asked)), nil, driver.Of("amphora", newest), test.existing)
		switch {
		case test.refused != "":
			assertRefused(t, name, err, test.refused)
		case test.fails:
			if apierror.StatusCode(err) != test.status {
				t.Errorf("%s: error %v", name, err)
			}
		case err != nil || facts.AvailabilityZone != test.asked || len(facts.Ignored) > 0:
			t.Errorf("%s: facts %+v, error %v", name, facts, err)
		}
		cloud.asked(t, name, "AvailabilityZones", test.reads)
	}
}

// What the driver does not support is not looked for, so that it cannot be refused.
func TestGather_IgnoresFlavorAndZoneThatTheDriverLacks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		provider string
		version  model.Version
		ignored  []string
		// flavor and zone are those of the facts.
		flavor, zone string
	}{
		"ovn":             {"ovn", newest, []string{annotation.AvailabilityZone, annotation.FlavorID}, "", ""},
		"release without": {"amphora", driver.VersionTags, []string{annotation.AvailabilityZone, annotation.FlavorID}, "", ""},
		"without zones":   {"amphora", driver.VersionFlavors, []string{annotation.AvailabilityZone}, serverID(1), ""},
		"amphora":         {"amphora", newest, nil, serverID(1), "east"},
	} {
		cloud := catalog()
		reader, _ := cloud.reader()
		facts, err := reader.Gather(t.Context(), inSettings(flavor("small"), zone("east")), nil, driver.Of(test.provider, test.version), nil)
		var ignored []string
		for _, notice := range facts.Ignored {
			ignored = append(ignored, notice.Annotation)
			if !strings.HasPrefix(notice.Message, "without effect: ") {
				t.Errorf("%s: message %q", name, notice.Message)
			}
		}
		if err != nil || strings.Join(ignored, " ") != strings.Join(test.ignored, " ") {
			t.Errorf("%s: ignored %q, error %v, want %q", name, ignored, err, test.ignored)
		}
		if facts.FlavorID != test.flavor || facts.AvailabilityZone != test.zone {
			t.Errorf("%s: flavor %q, zone %q", name, facts.FlavorID, facts.AvailabilityZone)
		}
		cloud.asked(t, name, "Flavors", min(1, len(test.flavor)))
		cloud.asked(t, name, "AvailabilityZones", min(1, len(test.zone)))
	}
}

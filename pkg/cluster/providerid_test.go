package cluster_test

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cluster"
)

const server = "5f2b1c9e-7d3a-4c8e-9b1f-0a6d2e4c8f10"

func TestParse_AcceptsOnlyIDsOfOpenStackServers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ region, id string }{
		cluster.ProviderID(server):                            {"", server},
		"openstack:///" + strings.ToUpper(server):             {"", server},
		"openstack://RegionOne/" + server:                     {"RegionOne", server},
		cluster.RegionalProviderID("region 2", server):        {"region 2", server},
		cluster.RegionalProviderID("", server):                {"", server},
		server:                                                {"", server},
		"":                                                    {},
		"openstack://":                                        {},
		"openstack:///":                                       {},
		"openstack://RegionOne":                               {},
		"openstack://" + server:                               {},
		"openstack:" + server:                                 {},
		"openstack:////" + server:                             {},
		"openstack:///RegionOne/" + server:                    {},
		"openstack:///" + server + "/":                        {},
		"openstack:///../flavors":                             {},
		"openstack:///{" + server + "}":                       {},
		"openstack:///urn:uuid:" + server:                     {},
		"openstack:///" + strings.ReplaceAll(server, "-", ""): {},
		"aws:///eu-1a/i-1":                                    {},
		"aws:///eu-1a/" + server:                              {},
	} {
		region, id, err := cluster.ParseProviderID(text)
		if region != want.region || id != want.id || (err == nil) != (want.id != "") {
			t.Errorf("Parse(%q) = %q, %q, %v; want %v", text, region, id, err, want)
		}
		if got := cluster.ServerID(text); got != want.id {
			t.Errorf("Server(%q) = %q, want %q", text, got, want.id)
		}
	}
}

func FuzzServerIsSafeInAURL(f *testing.F) {
	f.Add("openstack:///" + server)
	f.Add("openstack://r/" + server)
	f.Fuzz(func(t *testing.T, text string) {
		if id := cluster.ServerID(text); strings.Trim(id, "0123456789abcdef-") != "" {
			t.Errorf("Server(%q) = %q", text, id)
		}
	})
}

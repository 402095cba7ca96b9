package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli/check"
	"github.com/openstack-ccm/openstack-ccm/tests/simulator"
)

// A report has the reason why Services cannot have both IP families: the API version, the driver, or the subnets.
//
//proves:32,121
func TestCheck_ReportsWhetherServicesCanHaveBothFamilies(t *testing.T) {
	t.Parallel()
	const v6 = "fd00:6::/64"
	for name, test := range map[string]struct {
		release, v6 string
		keys        []string
		want        string
	}{
		"amphora":                  {"2026.1", v6, nil, "both: a VIP of IPv6 in subnet"},
		"IPv6 first":               {"2026.1", v6, []string{"subnet-id=v6"}, "both: a VIP of IPv4 in subnet"},
		"ovn":                      {"2026.1", v6, []string{"lb-provider=ovn", "lb-method=SOURCE_IP_PORT"}, "both: a VIP of IPv6 in subnet"},
		"ovn of Zed":               {"zed", v6, []string{"lb-provider=ovn", "lb-method=SOURCE_IP_PORT"}, "only IPv4, because "},
		"no subnet of IPv6":        {"2026.1", "", nil, "only IPv4, because network "},
		"the nodes have the place": {"2026.1", v6, []string{"subnet-id="}, "both, if the network of the nodes has subnets of both"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnvironment(t, simulator.Options{Release: test.release, Topology: simulator.Topology{IPv6CIDR: test.v6}})
			for _, line := range test.keys {
				if line == "subnet-id=v6" {
					line = "subnet-id=" + e.cloud.SubnetV6.ID
				}
				e.set(line)
			}
			r := e.check(nil)
			at := slices.IndexFunc(r.Findings, func(f check.Finding) bool { return f.Subject == "IP families" })
			if at < 0 || r.Findings[at].Verdict != check.Good || !strings.HasPrefix(r.Findings[at].Text, test.want) {
				t.Errorf("want %q in\n%s", test.want, text(t, r))
			}
		})
	}
}

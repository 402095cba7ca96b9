package settings_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

func TestMetrics_RangesThatCoverFamilyTogetherAreRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		families, ranges, refused string
	}{
		{"IPv4", "10.0.0.0/8, 192.0.2.7/32", ""},
		{"IPv4", "0.0.0.0/1", ""},
		{"IPv4", "0.0.0.0/1, 128.0.0.0/2, 192.0.0.0/2", "0.0.0.0/0"},
		{"IPv4", "0.0.0.0/1, 128.0.0.0/1", "0.0.0.0/0"},
		{"IPv4", "128.0.0.0/1, 64.0.0.0/2, 32.0.0.0/3, 0.0.0.0/3, 10.0.0.0/8", "0.0.0.0/0"},
		{"IPv4", "128.0.0.0/1, 64.0.0.0/2, 32.0.0.0/3, 10.0.0.0/8", ""},
		{"IPv4", "0.0.0.0/0", "0.0.0.0/0"},
		{"IPv6", "::/1, 8000::/1", "::/0"},
		{"IPv6", "::/0, 2001:db8::/32", "::/0"},
		{"IPv6", "::/1, 8000::/2, 2001:db8::7/128", ""},
	} {
		svc := fixture.Service(fixture.Annotated(annotation.MetricsPort, "9100"), fixture.Annotated(annotation.MetricsCIDRs, test.ranges))
		svc.Spec.IPFamilies = []v1.IPFamily{v1.IPFamily(test.families)}
		parser, err := settings.NewParser(fixture.Config())
		if err != nil {
			t.Fatal(err)
		}
		s, _, errs := parser.Parse(svc)
		switch {
		case test.refused == "" && (len(errs) > 0 || len(s.Metrics.AllowedCIDRs) != len(strings.Split(test.ranges, ","))):
			t.Errorf("%s: %v, %v", test.ranges, errs, s.Metrics.AllowedCIDRs)
		case test.refused != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), annotation.MetricsCIDRs) ||
			!strings.Contains(errs[0].Error(), strings.ReplaceAll(test.ranges, ", ", ",")) || !strings.Contains(errs[0].Error(), "do not cover "+test.refused)):
			t.Errorf("%s: %v", test.ranges, errs)
		}
	}
}

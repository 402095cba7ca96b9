package settings_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
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
		case test.refused != "" && len(s.Metrics.AllowedCIDRs) > 0:
			t.Errorf("%s are refused, and read", test.ranges)
		}
	}
}

func TestMetrics_NeedClientsAndAPortOfTheirOwn(t *testing.T) {
	t.Parallel()
	at, from := fixture.Annotated(annotation.MetricsPort, "9100"), fixture.Annotated(annotation.MetricsCIDRs, "10.0.0.0/8")
	old := driver.Of("amphora", model.Version{Major: 2, Minor: 24})
	guest := &model.LoadBalancer{Shared: &model.Shared{}}
	for name, c := range map[string]struct {
		svc     *v1.Service
		drv     driver.Driver
		on      *model.LoadBalancer
		refused []string
		notice  string
	}{
		"as it should be":             {svc: fixture.Service(at, from)},
		"without clients":             {svc: fixture.Service(at), refused: []string{annotation.MetricsCIDRs, "Required value"}},
		"clients of another family":   {svc: fixture.Service(at, fixture.Annotated(annotation.MetricsCIDRs, "10.0.0.0/8,fd00::/8")), refused: []string{annotation.MetricsCIDRs, `"fd00::/8"`, "IPv4"}},
		"clients without a port":      {svc: fixture.Service(from), notice: annotation.MetricsCIDRs},
		"a TCP port of the Service":   {svc: fixture.Service(fixture.Annotated(annotation.MetricsPort, "80"), from), refused: []string{annotation.MetricsPort, "Invalid value: 80"}},
		"a UDP port of the Service":   {svc: fixture.Service(at, from, fixture.Ports(fixture.Port(v1.ProtocolUDP, 9100)))},
		"an old Octavia":              {svc: fixture.Service(at, from), drv: old, refused: []string{annotation.MetricsPort, "Forbidden"}},
		"another's load balancer":     {svc: fixture.Service(at, from), on: guest, refused: []string{annotation.MetricsPort, "only that one can serve its metrics"}},
		"security groups of the VIP":  {svc: fixture.Service(at, from, fixture.Annotated(annotation.VIPSecurityGroups, oneID)), refused: []string{annotation.MetricsPort, "beside security groups of the VIP"}},
		"no security groups, by none": {svc: fixture.Service(at, from, fixture.Annotated(annotation.VIPSecurityGroups, "none"))},
	} {
		s, notices, errs := fixture.Parse(t, c.svc, fixture.Config())
		if c.drv.Name == "" {
			c.drv = fixture.Amphora()
		}
		if len(errs) == 0 {
			errs = s.On(c.on).For(c.drv).Validate()
		}
		if names, _ := noticed(notices); names != c.notice {
			t.Errorf("%s: notices of %q", name, names)
		}
		if c.refused != nil {
			fixture.AssertRefused(t, errs, c.refused...)
		} else if len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

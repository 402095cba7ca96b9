package settings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

func loadBalancerIP(address string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Spec.LoadBalancerIP = address }
}

// Subnets of one level belong to the network of that level: those of a lower one are not used with another network.
func TestFloating_TakesSubnetsThatBelongToTheNetwork(t *testing.T) {
	t.Parallel()
	type levels = settings.FloatingSettings
	class := fixture.Annotated(annotation.Class, "c")
	for name, c := range map[string]struct {
		svc            *v1.Service
		class, section levels
		want           levels
	}{
		"the section's":                        {fixture.Service(), levels{}, levels{NetworkID: "n", SubnetID: "s", Pattern: "p", Tags: "t"}, levels{NetworkID: "n", SubnetID: "s", Pattern: "p", Tags: "t"}},
		"the class's network alone":            {fixture.Service(class), levels{NetworkID: "c"}, levels{NetworkID: "n", SubnetID: "s"}, levels{NetworkID: "c"}},
		"the same network":                     {fixture.Service(class), levels{NetworkID: "n"}, levels{NetworkID: "n", Pattern: "p"}, levels{NetworkID: "n"}},
		"the class's subnets":                  {fixture.Service(class), levels{Tags: "c"}, levels{NetworkID: "n", SubnetID: "s"}, levels{NetworkID: "n", Tags: "c"}},
		"the Service's network":                {fixture.Service(class, fixture.Annotated(annotation.FloatingNetID, "a")), levels{NetworkID: "c", Tags: "c"}, levels{SubnetID: "s"}, levels{NetworkID: "a"}},
		"the Service's, the same as a class's": {fixture.Service(class, fixture.Annotated(annotation.FloatingNetID, "c")), levels{NetworkID: "c", Tags: "c"}, levels{SubnetID: "s"}, levels{NetworkID: "c", Tags: "c"}},
		"the Service's pattern":                {fixture.Service(fixture.Annotated(annotation.FloatingPattern, "a*")), levels{}, levels{NetworkID: "n", SubnetID: "s"}, levels{NetworkID: "n", Pattern: "a*"}},
		"the Service's tags":                   {fixture.Service(fixture.Annotated(annotation.FloatingTags, "a")), levels{}, levels{NetworkID: "n", Pattern: "p"}, levels{NetworkID: "n", Tags: "a"}},
		"no network":                           {fixture.Service(fixture.Annotated(annotation.FloatingNetID, "")), levels{}, levels{NetworkID: "n", SubnetID: "s", Pattern: "p", Tags: "t"}, levels{}},
		"no network, but the class's":          {fixture.Service(class, fixture.Annotated(annotation.FloatingNetID, "")), levels{NetworkID: "c"}, levels{NetworkID: "n"}, levels{NetworkID: "c"}},
		"no network, and cloud.conf has none":  {fixture.Service(fixture.Annotated(annotation.FloatingNetID, "")), levels{}, levels{SubnetID: "s"}, levels{SubnetID: "s"}},
		"a floating IP by ID, which it keeps":  {fixture.Service(fixture.Annotated(annotation.FloatingIPID, "f"), fixture.Annotated(annotation.KeepFloatingIP, "true")), levels{}, levels{}, levels{ID: "f", Keep: true}},
		"a floating IP by tag, which it loses": {fixture.Service(fixture.Annotated(annotation.FloatingIPTag, "t"), fixture.Annotated(annotation.KeepFloatingIP, "false")), levels{}, levels{}, levels{Tag: "t"}},
	} {
		cfg := fixture.Config(func(lb *config.LoadBalancer) {
			lb.FloatingNetworkID, lb.FloatingSubnetID, lb.FloatingSubnet, lb.FloatingSubnetTags = c.section.NetworkID, c.section.SubnetID, c.section.Pattern, c.section.Tags
		})
		cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{"c": {
			FloatingNetworkID: c.class.NetworkID, FloatingSubnetID: c.class.SubnetID, FloatingSubnet: c.class.Pattern, FloatingSubnetTags: c.class.Tags,
		}}
		got := fixture.Settings(t, c.svc, cfg).Floating
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if chooses := c.want.SubnetID == "" && c.want.Pattern+c.want.Tags != ""; got.ChoosesSubnets() != chooses {
			t.Errorf("%s: subnets are chosen by name or tag: %v", name, got.ChoosesSubnets())
		}
	}
	s, _, errs := fixture.Parse(t, fixture.Service(fixture.Annotated(annotation.FloatingPattern, "~(")), fixture.Config())
	if fixture.AssertRefused(t, errs, annotation.FloatingPattern, "~("); !s.Floating.Subnets().Match("any", nil) {
		t.Error("a refused pattern matches no subnet")
	}
	s = fixture.Settings(t, fixture.Service(fixture.Annotated(annotation.FloatingPattern, "public-*"), fixture.Annotated(annotation.FloatingTags, "edge")), fixture.Config())
	for subnet, want := range map[string]bool{"public-1 edge": true, "public-1 other": false, "private edge": false} {
		name, tag, _ := strings.Cut(subnet, " ")
		if got := s.Floating.Subnets().Match(name, []string{tag}); got != want {
			t.Errorf("subnet %s with tag %s matches: %v", name, tag, got)
		}
	}
}

// A floating IP is requested in one of three ways, and only by an external Service with a VIP of IPv4.
func TestAskedFloatingIP_IsTheOneThatTheServiceNames(t *testing.T) {
	t.Parallel()
	byID, byTag := fixture.Annotated(annotation.FloatingIPID, "f"), fixture.Annotated(annotation.FloatingIPTag, "t")
	address, internal, six := loadBalancerIP("203.0.113.9"), fixture.Annotated(annotation.Internal, "true"), fixture.Families(v1.IPv6Protocol)
	const path = "metadata.annotations[loadbalancer.openstack.org/"
	for name, c := range map[string]struct {
		changes         []func(*v1.Service)
		want            model.FloatingIP
		askedBy         string
		refused, notice string
	}{
		"none":                    {},
		"by ID":                   {changes: []func(*v1.Service){byID}, want: model.FloatingIP{ID: "f"}, askedBy: path + "floating-ip-id]"},
		"by tag":                  {changes: []func(*v1.Service){byTag}, want: model.FloatingIP{Tag: "t"}, askedBy: path + "floating-ip-tag]"},
		"by address":              {changes: []func(*v1.Service){address}, want: model.FloatingIP{Address: "203.0.113.9"}, askedBy: "spec.loadBalancerIP"},
		"by ID and tag":           {changes: []func(*v1.Service){byID, byTag}, want: model.FloatingIP{ID: "f"}, askedBy: path + "floating-ip-id]", refused: "also requested by " + annotation.FloatingIPTag},
		"by ID and address":       {changes: []func(*v1.Service){byID, address}, want: model.FloatingIP{ID: "f"}, askedBy: path + "floating-ip-id]", refused: "also requested by spec.loadBalancerIP"},
		"by tag and address":      {changes: []func(*v1.Service){byTag, address}, want: model.FloatingIP{Tag: "t"}, askedBy: path + "floating-ip-tag]", refused: "also requested by spec.loadBalancerIP"},
		"internal":                {changes: []func(*v1.Service){internal, byID}, notice: annotation.FloatingIPID},
		"internal, by two":        {changes: []func(*v1.Service){internal, byID, byTag}, notice: annotation.FloatingIPID + " " + annotation.FloatingIPTag},
		"internal, address":       {changes: []func(*v1.Service){internal, address}},
		"of IPv6":                 {changes: []func(*v1.Service){six, byTag}, notice: annotation.FloatingIPTag},
		"both families, IPv6 VIP": {changes: []func(*v1.Service){policy(v1.IPFamilyPolicyRequireDualStack), loadBalancerIP("fd00::9")}},
	} {
		s, notices, errs := fixture.Parse(t, fixture.Service(c.changes...), fixture.Config())
		if got, askedBy := s.AskedFloatingIP(); !cmp.Equal(got, c.want) || askedBy != c.askedBy {
			t.Errorf("%s: floating IP %+v, requested by %q", name, got, askedBy)
		}
		if c.refused != "" {
			fixture.AssertRefused(t, errs, c.refused)
		} else if len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
		names, texts := noticed(notices)
		if names != c.notice || c.notice != "" && !strings.Contains(texts, map[bool]string{true: "an internal load balancer", false: "a load balancer of IPv6"}[s.Internal]+" has no floating IP") {
			t.Errorf("%s: notices of %q: %s", name, names, texts)
		}
	}
}

// spec.loadBalancerIP is the address of the floating IP; without one, that of the VIP.
func TestVIPAddress_IsTheOneThatTheServiceNames(t *testing.T) {
	t.Parallel()
	vip, internal := fixture.Annotated(annotation.VIPAddress, "10.0.0.9"), fixture.Annotated(annotation.Internal, "true")
	port := fixture.Annotated(annotation.PortID, "p")
	for name, c := range map[string]struct {
		changes          []func(*v1.Service)
		address, askedBy string
		refused          string
	}{
		"none":                          {},
		"the annotation":                {changes: []func(*v1.Service){vip, loadBalancerIP("203.0.113.9")}, address: "10.0.0.9", askedBy: "metadata.annotations[" + annotation.VIPAddress + "]"},
		"the field of an external one":  {changes: []func(*v1.Service){loadBalancerIP("203.0.113.9")}},
		"the field of an internal one":  {changes: []func(*v1.Service){internal, loadBalancerIP("10.0.0.8")}, address: "10.0.0.8", askedBy: "spec.loadBalancerIP"},
		"both, equal":                   {changes: []func(*v1.Service){internal, vip, loadBalancerIP("10.0.0.9")}, address: "10.0.0.9", askedBy: "metadata.annotations[" + annotation.VIPAddress + "]"},
		"both, different":               {changes: []func(*v1.Service){internal, vip, loadBalancerIP("10.0.0.8")}, refused: "spec.loadBalancerIP requests another address of the VIP: 10.0.0.8"},
		"the field, and a port":         {changes: []func(*v1.Service){internal, port, loadBalancerIP("10.0.0.8")}, refused: "which the port determines"},
		"the annotation, and a port":    {changes: []func(*v1.Service){vip, port}, refused: "the VIP has the address of the port in " + annotation.PortID},
		"IPv4 as IPv6":                  {changes: []func(*v1.Service){fixture.Annotated(annotation.VIPAddress, "::ffff:10.0.0.9")}, address: "10.0.0.9", askedBy: "metadata.annotations[" + annotation.VIPAddress + "]"},
		"a zone":                        {changes: []func(*v1.Service){fixture.Annotated(annotation.VIPAddress, "fe80::1%eth0")}, refused: "must be an IP address"},
		"a name":                        {changes: []func(*v1.Service){fixture.Annotated(annotation.VIPAddress, "www")}, refused: "must be an IP address"},
		"another family":                {changes: []func(*v1.Service){fixture.Annotated(annotation.VIPAddress, "fd00::9")}, refused: "must be of the Service's IP family, IPv4"},
		"no address of a host":          {changes: []func(*v1.Service){fixture.Annotated(annotation.VIPAddress, "0.0.0.0")}, refused: "must be the address of a host"},
		"a multicast address":           {changes: []func(*v1.Service){fixture.Annotated(annotation.VIPAddress, "224.0.0.1")}, refused: "must be the address of a host"},
		"a broadcast, in the field":     {changes: []func(*v1.Service){loadBalancerIP("255.255.255.255")}, refused: "must be the address of a host"},
		"a zone, in the field":          {changes: []func(*v1.Service){fixture.Families(v1.IPv6Protocol), loadBalancerIP("fe80::1%eth0")}, refused: "must be an IP address"},
		"IPv4 as IPv6, in the field":    {changes: []func(*v1.Service){internal, loadBalancerIP("::ffff:10.0.0.8")}, address: "10.0.0.8", askedBy: "spec.loadBalancerIP"},
		"no address of the first VIP's": {changes: []func(*v1.Service){policy(v1.IPFamilyPolicyRequireDualStack), loadBalancerIP("fd00::9")}},
	} {
		s, _, errs := fixture.Parse(t, fixture.Service(c.changes...), fixture.Config())
		if c.refused != "" {
			fixture.AssertRefused(t, errs, c.refused)
			continue
		}
		if address, askedBy := s.VIPAddress(s.Family, s.FloatingIP()); address != c.address || askedBy != c.askedBy || len(errs) > 0 {
			t.Errorf("%s: %q, requested by %q, errors %v", name, address, askedBy, errs)
		}
	}
}

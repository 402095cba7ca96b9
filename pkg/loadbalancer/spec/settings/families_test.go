package settings_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/driver"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/model"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

// asking gives a Service an ipFamilyPolicy.
func policy(policy v1.IPFamilyPolicy) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Spec.IPFamilyPolicy = &policy }
}

func ranges(all ...string) func(*v1.Service) {
	return func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = all }
}

func octavia(minor int) driver.Driver {
	return driver.Of("amphora", model.Version{Major: 2, Minor: minor})
}

// The policy decides whether a second family is requested, and the driver whether a new load balancer serves it.
func TestOnNew_ServesTheFamiliesThatPolicyAndDriverAllow(t *testing.T) {
	t.Parallel()
	four, six := v1.IPv4Protocol, v1.IPv6Protocol
	both := fixture.Families(four, six)
	single, prefer, require := v1.IPFamilyPolicySingleStack, v1.IPFamilyPolicyPreferDualStack, v1.IPFamilyPolicyRequireDualStack
	for name, c := range map[string]struct {
		svc        *v1.Service
		drv        driver.Driver
		want       []v1.IPFamily
		wants      bool
		refusedFor string
	}{
		"no policy":                         {svc: fixture.Service(both), drv: octavia(30), want: []v1.IPFamily{four}},
		"single":                            {svc: fixture.Service(both, policy(single)), drv: octavia(30), want: []v1.IPFamily{four}},
		"preferred, in a cluster of one":    {svc: fixture.Service(policy(prefer)), drv: octavia(30), want: []v1.IPFamily{four}},
		"preferred":                         {svc: fixture.Service(both, policy(prefer)), drv: octavia(30), want: []v1.IPFamily{four, six}, wants: true},
		"preferred, IPv6 first":             {svc: fixture.Service(fixture.Families(six, four), policy(prefer)), drv: octavia(30), want: []v1.IPFamily{six, four}, wants: true},
		"required, one family known":        {svc: fixture.Service(policy(require)), drv: octavia(30), want: []v1.IPFamily{four, six}, wants: true},
		"the first release":                 {svc: fixture.Service(both, policy(prefer)), drv: octavia(26), want: []v1.IPFamily{four, six}, wants: true},
		"preferred, of an old Octavia":      {svc: fixture.Service(both, policy(prefer)), drv: octavia(25), want: []v1.IPFamily{four}},
		"required, of an old Octavia":       {svc: fixture.Service(both, policy(require)), drv: octavia(25), want: []v1.IPFamily{four, six}, refusedFor: "spec.ipFamilyPolicy"},
		"preferred, with a port":            {svc: fixture.Service(both, policy(prefer), fixture.Annotated(annotation.PortID, "p")), drv: octavia(30), want: []v1.IPFamily{four}},
		"required, with a port":             {svc: fixture.Service(both, policy(require), fixture.Annotated(annotation.PortID, "p")), drv: octavia(30), want: []v1.IPFamily{four, six}, refusedFor: "spec.ipFamilyPolicy"},
		"ranges of both before 2.27":        {svc: fixture.Service(both, policy(prefer), ranges("10.0.0.0/8", "fd00::/8")), drv: octavia(26), want: []v1.IPFamily{four}},
		"ranges of both":                    {svc: fixture.Service(both, policy(prefer), ranges("10.0.0.0/8", "fd00::/8")), drv: octavia(27), want: []v1.IPFamily{four, six}, wants: true},
		"ranges of the first before 2.27":   {svc: fixture.Service(both, policy(prefer), ranges("10.0.0.0/8")), drv: octavia(26), want: []v1.IPFamily{four, six}, wants: true},
		"ranges of the second before 2.27":  {svc: fixture.Service(both, policy(prefer), ranges("fd00::/8")), drv: octavia(26), want: []v1.IPFamily{four}, refusedFor: "spec.loadBalancerSourceRanges"},
		"subnets of more VIPs, in one":      {svc: fixture.Service(fixture.Annotated(annotation.AdditionalSubnets, oneID)), drv: octavia(30), want: []v1.IPFamily{four}, wants: true},
		"subnets of more VIPs, old Octavia": {svc: fixture.Service(fixture.Annotated(annotation.AdditionalSubnets, oneID)), drv: octavia(25), want: []v1.IPFamily{four}, refusedFor: annotation.AdditionalSubnets},
	} {
		s := fixture.Settings(t, c.svc, fixture.Config())
		on := s.For(c.drv).OnNew()
		if !slices.Equal(on.Families(), c.want) || s.For(c.drv).WantsVIPs() != c.wants {
			t.Errorf("%s: serves %v, wants VIPs: %v", name, on.Families(), s.For(c.drv).WantsVIPs())
		}
		errs := on.For(c.drv).Validate()
		if (len(errs) == 1) != (c.refusedFor != "") || len(errs) > 1 || len(errs) == 1 && !strings.Contains(errs[0].Field, c.refusedFor) {
			t.Errorf("%s: errors %v, want one about %q", name, errs, c.refusedFor)
		}
		if existing := on.For(c.drv).OnExisting().For(c.drv).Validate(); c.refusedFor != "spec.loadBalancerSourceRanges" && len(existing) > 0 {
			t.Errorf("%s: on an existing load balancer: %v", name, existing)
		}
	}
}

// Without its second family, a load balancer must not admit all clients of the first because the ranges are of the second.
func TestInFirst_KeepsTheRangesOfTheFirstFamily(t *testing.T) {
	t.Parallel()
	both := []func(*v1.Service){fixture.Families(v1.IPv4Protocol, v1.IPv6Protocol), policy(v1.IPFamilyPolicyPreferDualStack)}
	for _, c := range []struct {
		given, want []string
		refused     bool
	}{
		{nil, nil, false},
		{[]string{"10.0.0.0/8", "fd00::/8", "192.0.2.0/24"}, []string{"10.0.0.0/8", "192.0.2.0/24"}, false},
		{[]string{"fd00::/8", "2001:db8::/32"}, []string{"2001:db8::/32", "fd00::/8"}, true},
	} {
		s := fixture.Settings(t, fixture.Service(append(both, ranges(c.given...))...), fixture.Config())
		first := s.InFirst()
		if !slices.Equal(first.Access.SourceRanges, c.want) || len(first.For(octavia(30)).Validate()) > 0 != c.refused || first.Second != "" {
			t.Errorf("%v: ranges %v, errors %v", c.given, first.Access.SourceRanges, first.For(octavia(30)).Validate())
		}
		if first.InFirst() != first || s.Second == "" {
			t.Errorf("%v: the settings of both families are changed to %v", c.given, s.Families())
		}
		if other := s.InSecond(); other.Family != v1.IPv6Protocol || other.Second != "" || s.Family != v1.IPv4Protocol {
			t.Errorf("%v: the second family alone is %v", c.given, other.Families())
		}
		if on := s.On(&model.LoadBalancer{}); on.Second != "" {
			t.Errorf("%v: on a load balancer of one family: %v", c.given, on.Families())
		}
	}
}

// Only the first of ovn's VIPs has a port that a floating IP can have.
func TestVIPFamilies_BeginWithTheOneOfTheFloatingIP(t *testing.T) {
	t.Parallel()
	dual := []func(*v1.Service){fixture.Families(v1.IPv6Protocol, v1.IPv4Protocol), policy(v1.IPFamilyPolicyRequireDualStack)}
	ovn := driver.Of("ovn", driver.VersionOVNAdditionalVIPs)
	for name, c := range map[string]struct {
		change func(*v1.Service)
		drv    driver.Driver
		first  v1.IPFamily
	}{
		"ovn":           {func(*v1.Service) {}, ovn, v1.IPv4Protocol},
		"ovn, internal": {fixture.Annotated(annotation.Internal, "true"), ovn, v1.IPv6Protocol},
		"ovn, IPv4":     {fixture.Families(v1.IPv4Protocol, v1.IPv6Protocol), ovn, v1.IPv4Protocol},
		"amphora":       {func(*v1.Service) {}, octavia(30), v1.IPv6Protocol},
	} {
		families := fixture.Settings(t, fixture.Service(append(slices.Clone(dual), c.change)...), fixture.Config()).For(c.drv).VIPFamilies()
		if len(families) != 2 || families[0] != c.first || families[1] == c.first {
			t.Errorf("%s: VIPs of %v, want %s first", name, families, c.first)
		}
	}
}

func TestValidateFamilies_RefusesMembersThatTheProviderCannotReachFromTheVIP(t *testing.T) {
	t.Parallel()
	svc := fixture.Service(fixture.Ports(fixture.Port(v1.ProtocolTCP, 80), fixture.Port(v1.ProtocolUDP, 53)))
	s := fixture.Settings(t, svc, fixture.Config())
	for _, c := range []struct {
		provider string
		vip      v1.IPFamily
		refused  []int
	}{
		{"amphora", v1.IPv6Protocol, []int{1}}, {"amphora", v1.IPv4Protocol, nil}, {"amphora", "", nil}, {"ovn", v1.IPv6Protocol, []int{0, 1}}, {"ovn", v1.IPv4Protocol, nil},
	} {
		drv := driver.Of(c.provider, model.Version{Major: 2, Minor: 30})
		var fields, want []string
		for _, err := range s.For(drv).ValidateFamilies(c.vip) {
			if fields = append(fields, err.Field); !strings.Contains(err.Detail, "the members are IPv4 and the VIP is IPv6, which the provider "+c.provider) {
				t.Errorf("%+v: %v", c, err)
			}
		}
		for _, i := range c.refused {
			want = append(want, fmt.Sprintf("spec.ports[%d].protocol", i))
		}
		if !slices.Equal(fields, want) {
			t.Errorf("%+v: errors about %v", c, fields)
		}
	}
}

// A family that is not served, or in which no client is admitted, is no error: other clients are served.
func TestUnused_ReportsAFamilyThatIsNotServed(t *testing.T) {
	t.Parallel()
	prefer, both := policy(v1.IPFamilyPolicyPreferDualStack), fixture.Families(v1.IPv4Protocol, v1.IPv6Protocol)
	for name, c := range map[string]struct {
		svc         *v1.Service
		drv         driver.Driver
		names, text string
	}{
		"both are":                       {fixture.Service(both, prefer), octavia(30), "", ""},
		"the driver lacks it":            {fixture.Service(both, prefer), octavia(25), "spec.ipFamilyPolicy", "PreferDualStack: the load balancer serves only IPv4, because "},
		"no range of one":                {fixture.Service(both, prefer, ranges("10.0.0.0/8")), octavia(30), "spec.loadBalancerSourceRanges", "exclude all clients of IPv6"},
		"ranges of both":                 {fixture.Service(both, prefer, ranges("10.0.0.0/8", "fd00::/8")), octavia(30), "", ""},
		"further VIPs of another driver": {fixture.Service(fixture.Annotated(annotation.AdditionalSubnets, oneID)), octavia(25), annotation.AdditionalSubnets, "has no effect: "},
	} {
		names, texts := noticed(fixture.Settings(t, c.svc, fixture.Config()).For(c.drv).OnNew().For(c.drv).Unused())
		if names != c.names || !strings.Contains(texts, c.text) {
			t.Errorf("%s: notices of %q: %s", name, names, texts)
		}
	}
}

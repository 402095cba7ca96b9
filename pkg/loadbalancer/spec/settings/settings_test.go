package settings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/annotation"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/members"
	"github.com/openstack-ccm/openstack-ccm/pkg/loadbalancer/spec/settings"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/fixture"
)

func TestParse_PrefersAnnotationToClassToSection(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		annotation string
		class      func(*config.LoadBalancerClass) *string
		section    func(*config.LoadBalancer) *string
		got        func(*settings.Settings) string
	}{
		{
			annotation.SubnetID, func(c *config.LoadBalancerClass) *string { return &c.SubnetID },
			func(c *config.LoadBalancer) *string { return &c.SubnetID }, func(s *settings.Settings) string { return s.VIP.SubnetID },
		},
		{
			annotation.NetworkID, func(c *config.LoadBalancerClass) *string { return &c.NetworkID },
			func(c *config.LoadBalancer) *string { return &c.NetworkID }, func(s *settings.Settings) string { return s.VIP.NetworkID },
		},
		{
			annotation.MemberSubnetID, func(c *config.LoadBalancerClass) *string { return &c.MemberSubnetID },
			func(c *config.LoadBalancer) *string { return &c.MemberSubnetID }, func(s *settings.Settings) string { return s.Members.SubnetID },
		},
		{
			annotation.FloatingNetID, func(c *config.LoadBalancerClass) *string { return &c.FloatingNetworkID },
			func(c *config.LoadBalancer) *string { return &c.FloatingNetworkID }, func(s *settings.Settings) string { return s.Floating.NetworkID },
		},
		{
			annotation.FloatingSubnet, func(c *config.LoadBalancerClass) *string { return &c.FloatingSubnetID },
			func(c *config.LoadBalancer) *string { return &c.FloatingSubnetID }, func(s *settings.Settings) string { return s.Floating.SubnetID },
		},
	} {
		for _, given := range []struct {
			annotation, class, section, want string
		}{
			{"", "", "", ""},
			{"", "", "section", "section"},
			{"", "class", "section", "class"},
			{"", "class", "", "class"},
			{"annotation", "class", "section", "annotation"},
			{"annotation", "", "section", "annotation"},
		} {
			svc, cfg, class := fixture.Service(), &config.Config{}, &config.LoadBalancerClass{}
			*test.class(class), *test.section(&cfg.LoadBalancer) = given.class, given.section
			cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{"c": class}
			svc.Annotations[annotation.Class] = "c"
			if given.annotation != "" {
				svc.Annotations[test.annotation] = given.annotation
			}
			if got := test.got(fixture.Settings(t, svc, cfg)); got != given.want {
				t.Errorf("%s: with %+v got %q", test.annotation, given, got)
			}
		}
	}
}

func TestParse_AppliesClassOnlyToServicesThatNameIt(t *testing.T) {
	t.Parallel()
	cfg := fixture.Config()
	cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{"c": {SubnetID: "class"}}
	if s := fixture.Settings(t, fixture.Service(), cfg); s.VIP.SubnetID != "subnet" {
		t.Errorf("without a class the subnet is %s", s.VIP.SubnetID)
	}
	_, _, errs := fixture.Parse(t, fixture.Service(fixture.Annotated(annotation.Class, "d")), cfg)
	fixture.AssertRefused(t, errs, annotation.Class, `"d"`, `known are "c"`)
}

func TestParse_TakesSubnetAndNetworkOfVIPFromOnePlace(t *testing.T) {
	t.Parallel()
	cfg := fixture.Config(func(c *config.LoadBalancer) { c.SubnetID, c.NetworkID = "section-subnet", "section-network" })
	cfg.LoadBalancerClass = map[string]*config.LoadBalancerClass{"c": {NetworkID: "class-network"}}
	for _, test := range []struct {
		what            string
		svc             *v1.Service
		subnet, network string
	}{
		{"section", fixture.Service(), "section-subnet", "section-network"},
		{"class", fixture.Service(fixture.Annotated(annotation.Class, "c")), "", "class-network"},
		{"annotation", fixture.Service(fixture.Annotated(annotation.Class, "c"), fixture.Annotated(annotation.SubnetID, "mine")), "mine", ""},
	} {
		if s := fixture.Settings(t, test.svc, cfg); s.VIP.SubnetID != test.subnet || s.VIP.NetworkID != test.network {
			t.Errorf("from the %s: subnet %q in network %q, want %q in %q", test.what, s.VIP.SubnetID, s.VIP.NetworkID, test.subnet, test.network)
		}
	}
}

func TestParse_PrefersMonitorAnnotationToSection(t *testing.T) {
	t.Parallel()
	section := settings.MonitorSettings{MonitorTiming: settings.MonitorTiming{Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3}}
	with := func(change func(*settings.MonitorSettings)) settings.MonitorSettings {
		m := section
		change(&m)
		return m
	}
	for _, test := range []struct {
		annotation, value string
		want              settings.MonitorSettings
	}{
		{"example.com/other", "x", section},
		{annotation.Monitor, "true", with(func(m *settings.MonitorSettings) { m.Enabled, m.Asked = true, true })},
		{annotation.MonitorDelay, "60", with(func(m *settings.MonitorSettings) { m.Delay = 60 })},
		{annotation.MonitorTimeout, "4", with(func(m *settings.MonitorSettings) { m.Timeout = 4 })},
		{annotation.MonitorRetries, "2", with(func(m *settings.MonitorSettings) { m.MaxRetries = 2 })},
		{annotation.MonitorDown, "10", with(func(m *settings.MonitorSettings) { m.MaxRetriesDown = 10 })},
	} {
		got := fixture.Settings(t, fixture.Service(fixture.Annotated(test.annotation, test.value)), fixture.Config()).Monitor
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s=%s: %s", test.annotation, test.value, diff)
		}
	}
	on := fixture.Config(func(c *config.LoadBalancer) { c.CreateMonitor = true })
	if !fixture.Settings(t, fixture.Service(), on).Monitor.Enabled {
		t.Error("create-monitor=true switches no monitors on")
	}
	if fixture.Settings(t, fixture.Service(fixture.Annotated(annotation.Monitor, "false")), on).Monitor.Enabled {
		t.Error("the annotation does not switch them off")
	}
}

func TestParse_IsInternalWhereAnnotationOrSectionSaysSo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		section  bool
		value    string
		internal bool
		notices  int
	}{
		{false, "", false, 0},
		{false, "false", false, 0},
		{false, "true", true, 0},
		{true, "", true, 0},
		{true, "true", true, 0},
		{true, "false", true, 1}, // the operator's choice has precedence, with a notice for the user
	} {
		svc := fixture.Service()
		if test.value != "" {
			svc.Annotations[annotation.Internal] = test.value
		}
		s, notices, errs := fixture.Parse(t, svc, fixture.Config(func(c *config.LoadBalancer) { c.InternalLB = test.section }))
		if len(errs) > 0 || s.Internal != test.internal || len(notices) != test.notices {
			t.Errorf("%+v: internal %v, notices %v, errors %v", test, s.Internal, notices, errs)
		}
		if s.FloatingIP() == test.internal {
			t.Errorf("%+v: floating IP %v", test, s.FloatingIP())
		}
	}
}

func TestParse_TakesFirstFamilyOfService(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what       string
		svc        *v1.Service
		want       v1.IPFamily
		floatingIP bool
	}{
		{"IPv4", fixture.Service(), v1.IPv4Protocol, true},
		{"IPv6", fixture.Service(fixture.Families(v1.IPv6Protocol)), v1.IPv6Protocol, false},
		{"both, IPv4 first", fixture.Service(fixture.Families(v1.IPv4Protocol, v1.IPv6Protocol)), v1.IPv4Protocol, true},
		{"both, IPv6 first", fixture.Service(fixture.Families(v1.IPv6Protocol, v1.IPv4Protocol)), v1.IPv6Protocol, false},
		{"an old Service of IPv4", fixture.Service(fixture.Families(), func(svc *v1.Service) { svc.Spec.ClusterIP = "10.96.0.1" }), v1.IPv4Protocol, true},
		{"an old Service of IPv6", fixture.Service(fixture.Families(), func(svc *v1.Service) { svc.Spec.ClusterIP = "fd00::1" }), v1.IPv6Protocol, false},
	} {
		s := fixture.Settings(t, test.svc, fixture.Config())
		if s.Family != test.want || s.FloatingIP() != test.floatingIP {
			t.Errorf("%s: family %s, floating IP %v", test.what, s.Family, s.FloatingIP())
		}
	}
}

func TestParse_ReadsRemainingSettings(t *testing.T) {
	t.Parallel()
	cfg := fixture.Config(func(c *config.LoadBalancer) { c.FlavorID, c.AvailabilityZone = "large", "zone" })
	svc := fixture.Service(
		fixture.Annotated(annotation.LoadBalancerID, "lb-id"), fixture.Annotated(annotation.KeepFloatingIP, "true"),
		func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "203.0.113.1" },
	)
	s := fixture.Settings(t, svc, cfg)
	got := []any{s.LoadBalancer.Provider, s.LoadBalancer.FlavorID, s.LoadBalancer.AvailabilityZone, s.LoadBalancer.ID, s.LoadBalancerIP, s.Floating.Keep, s.Pools.Algorithm, s.Pools.AlgorithmAsked}
	want := []any{"amphora", "large", "zone", "lb-id", "203.0.113.1", true, "ROUND_ROBIN", false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s = fixture.Settings(t, fixture.Service(fixture.Annotated(annotation.Method, "source_ip")), cfg)
	if s.Pools.Algorithm != "SOURCE_IP" || !s.Pools.AlgorithmAsked {
		t.Errorf("algorithm %s, asked for %v", s.Pools.Algorithm, s.Pools.AlgorithmAsked)
	}
}

func TestParse_NormalizesSourceRangesOfFamily(t *testing.T) {
	t.Parallel()
	spec := func(ranges ...string) func(*v1.Service) {
		return func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = ranges }
	}
	v6 := fixture.Families(v1.IPv6Protocol)
	for _, test := range []struct {
		what string
		svc  *v1.Service
		want []string
	}{
		{"none", fixture.Service(), nil},
		{"the field", fixture.Service(spec("10.0.0.0/8")), []string{"10.0.0.0/8"}},
		{"the annotation", fixture.Service(fixture.Annotated(annotation.SourceRanges, "10.0.0.0/8,172.16.0.0/12")), []string{"10.0.0.0/8", "172.16.0.0/12"}},
		{"the field before the annotation", fixture.Service(spec("10.0.0.0/8"), fixture.Annotated(annotation.SourceRanges, "172.16.0.0/12")), []string{"10.0.0.0/8"}},
		{"sorted, once each, without host bits", fixture.Service(spec("192.168.1.1/16", " 10.0.0.0/8", "192.168.0.0/16")), []string{"10.0.0.0/8", "192.168.0.0/16"}},
		{"everybody is the same as none", fixture.Service(spec("10.0.0.0/8", "0.0.0.0/0")), nil},
		{"everybody with host bits", fixture.Service(spec("1.2.3.4/0")), nil},
		{"IPv6", fixture.Service(v6, spec("FD00:0::1/64")), []string{"fd00::/64"}},
		{"zeros before numbers", fixture.Service(spec("010.000.08.0/016", "192.168.0.0/16")), []string{"10.0.0.0/16", "192.168.0.0/16"}},
		{"zeros before numbers, in the annotation", fixture.Service(fixture.Annotated(annotation.SourceRanges, "010.0.0.0/08, 172.016.0.1/012")), []string{"10.0.0.0/8", "172.16.0.0/12"}},
		{"zeros before numbers of IPv6", fixture.Service(v6, spec("fd00:00001::1/064")), []string{"fd00:1::/64"}},
		{"IPv4 written as IPv6", fixture.Service(spec("::ffff:10.0.0.0/104")), []string{"10.0.0.0/8"}},
		{"everybody of IPv6", fixture.Service(v6, spec("::/0")), nil},
		{"everybody of both", fixture.Service(spec("0.0.0.0/0", "::/0")), nil},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, fixture.Settings(t, test.svc, fixture.Config()).Access.SourceRanges); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, test := range []struct {
		what  string
		svc   *v1.Service
		words []string
	}{
		{"not a CIDR", fixture.Service(spec("10.0.0.0/8", "10.0.0.1")), []string{"spec.loadBalancerSourceRanges[1]", `"10.0.0.1"`, "must be a CIDR"}},
		{"the other family", fixture.Service(spec("fd00::/64")), []string{"spec.loadBalancerSourceRanges[0]", `"fd00::/64"`, "IPv4"}},
		{"the other family, beside what is no CIDR", fixture.Service(spec("fd00::/64", "10.0.0.0/8", "x")), []string{"spec.loadBalancerSourceRanges[2]", `"x"`}},
		{"a zone", fixture.Service(v6, spec("fe80::1%eth0/64")), []string{"spec.loadBalancerSourceRanges[0]", "must be a CIDR"}},
		{"the other family, in the annotation", fixture.Service(v6, fixture.Annotated(annotation.SourceRanges, "10.0.0.0/8")), []string{annotation.SourceRanges, `"10.0.0.0/8"`, "IPv6"}},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			_, _, errs := fixture.Parse(t, test.svc, fixture.Config())
			fixture.AssertRefused(t, errs, test.words...)
		})
	}
}

func TestParse_RefusesLoadBalancerIPOfOtherFamily(t *testing.T) {
	t.Parallel()
	asks := func(address string, changes ...func(*v1.Service)) *v1.Service {
		return fixture.Service(append(changes, func(svc *v1.Service) { svc.Spec.LoadBalancerIP = address })...)
	}
	for _, test := range []struct {
		svc  *v1.Service
		want string
	}{
		{asks(""), ""},
		{asks("203.0.113.1"), "203.0.113.1"},
		{asks("::ffff:203.0.113.1"), "203.0.113.1"},
		{asks("2001:DB8:0:0::1", fixture.Families(v1.IPv6Protocol)), "2001:db8::1"},
	} {
		if got := fixture.Settings(t, test.svc, fixture.Config()).LoadBalancerIP; got != test.want {
			t.Errorf("%q becomes %q, want %q", test.svc.Spec.LoadBalancerIP, got, test.want)
		}
	}
	for _, test := range []struct {
		svc   *v1.Service
		words []string
	}{
		{asks("web.example.com"), []string{"spec.loadBalancerIP", "web.example.com", "must be an IP address"}},
		{asks("203.0.113.1/32"), []string{"spec.loadBalancerIP", "must be an IP address"}},
		{asks("2001:db8::1"), []string{"spec.loadBalancerIP", "2001:db8::1", "IPv4"}},
		{asks("203.0.113.1", fixture.Families(v1.IPv6Protocol)), []string{"spec.loadBalancerIP", "203.0.113.1", "IPv6"}},
		{asks("fe80::1%eth0", fixture.Families(v1.IPv6Protocol)), []string{"spec.loadBalancerIP", "fe80::1%eth0", "must be an IP address"}},
	} {
		_, _, errs := fixture.Parse(t, test.svc, fixture.Config())
		fixture.AssertRefused(t, errs, test.words...)
	}
}

func TestParse_PrefersNodeSelectorOfAnnotationToSection(t *testing.T) {
	t.Parallel()
	edge := map[string]string{"node-role.kubernetes.io/edge": "", "pool": "a"}
	for _, test := range []struct {
		section    string
		annotation *string
		want       bool
	}{
		{"", nil, true},
		{"pool=b", nil, false},
		{"pool=a", nil, true},
		{"pool", nil, true},
		{"pool=b", ptr("pool=a"), true},
		{"pool=b", ptr(""), true},
		{"", ptr("node-role.kubernetes.io/edge, pool=a"), true},
		{"", ptr("node-role.kubernetes.io/edge=,pool=b"), false},
		{"", ptr("pool="), true}, // any value: so it is in cloud-provider-openstack
		{"pool=,", nil, true},
		{"", ptr("pool in (a,b),!spot"), true},
		{"", ptr("pool!=a"), false},
		{"", ptr("zone"), false},
	} {
		svc := fixture.Service()
		if test.annotation != nil {
			svc.Annotations[annotation.NodeSelector] = *test.annotation
		}
		n := fixture.Node("n", "10.0.0.1")
		n.Labels = edge
		s := fixture.Settings(t, svc, fixture.Config(func(c *config.LoadBalancer) { c.NodeSelector = test.section }))
		selected, _ := new(members.Selector).Select(s, []*v1.Node{n})
		if got := len(selected.Backends) == 1; got != test.want {
			t.Errorf("section %q, annotation %v: selected %v", test.section, test.annotation, got)
		}
	}
	for text, want := range map[string]string{"a/b/c": `"a/b/c" is not the key of a label`, "pool in (a": "is not a Kubernetes selector"} {
		_, _, errs := fixture.Parse(t, fixture.Service(fixture.Annotated(annotation.NodeSelector, text)), fixture.Config())
		fixture.AssertRefused(t, errs, annotation.NodeSelector, text, want, "allowed: node labels as key=value")
		if text := errs[0].Error(); strings.Contains(text, "regex") || strings.Contains(text, "identifier") {
			t.Errorf("the words of a parser: %s", text)
		}
	}
}

// A manifest with ranges of both families is served with those of the load balancer's family.
func TestParse_OmitsAndReportsSourceRangesOfOtherFamily(t *testing.T) {
	t.Parallel()
	for _, svc := range []*v1.Service{
		fixture.Service(func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "fd00::/64"} }),
		fixture.Service(fixture.Annotated(annotation.SourceRanges, "10.0.0.0/8,fd00::/64")),
	} {
		s, notices, errs := fixture.Parse(t, svc, fixture.Config())
		if diff := cmp.Diff([]string{"10.0.0.0/8"}, s.Access.SourceRanges); diff != "" || len(errs) > 0 {
			t.Errorf("errors %v, ranges %s", errs, diff)
		}
		if len(notices) != 1 || !strings.Contains(notices[0].Message, "fd00::/64") || !strings.Contains(notices[0].Message, "IPv4") {
			t.Errorf("notices %v", notices)
		}
	}
}

// An empty text disables the value of cloud.conf, if it does so in cloud-provider-openstack.
func TestParse_TakesEmptyTextAsOptOutOfCloudConf(t *testing.T) {
	t.Parallel()
	cfg := fixture.Config(func(c *config.LoadBalancer) {
		c.FlavorID, c.AvailabilityZone, c.DefaultTLSContainerRef = "large", "zone", "https://barbican.example.com/v1/secrets/1"
		c.FloatingNetworkID, c.FloatingSubnetID, c.NodeSelector, c.LBMethod = "public", "subnet-of-public", "pool=a", "SOURCE_IP"
	})
	for name, got := range map[string]func(*settings.Settings) string{
		annotation.FlavorID:         func(s *settings.Settings) string { return s.LoadBalancer.FlavorID },
		annotation.AvailabilityZone: func(s *settings.Settings) string { return s.LoadBalancer.AvailabilityZone },
		annotation.TLSContainer:     func(s *settings.Settings) string { return s.Listeners.TLSContainerRef },
		annotation.FloatingNetID:    func(s *settings.Settings) string { return s.Floating.NetworkID + s.Floating.SubnetID },
		annotation.NodeSelector:     func(s *settings.Settings) string { return s.Members.NodeSelector.String() },
	} {
		if text := got(fixture.Settings(t, fixture.Service(), cfg)); text == "" {
			t.Errorf("%s: nothing in cloud.conf to opt out of", name)
		}
		if text := got(fixture.Settings(t, fixture.Service(fixture.Annotated(name, "")), cfg)); text != "" {
			t.Errorf("%s: still %q", name, text)
		}
	}
	for _, name := range []string{annotation.Method, annotation.SubnetID, annotation.FloatingSubnet} {
		s, was := fixture.Settings(t, fixture.Service(fixture.Annotated(name, "")), cfg), fixture.Settings(t, fixture.Service(), cfg)
		if s.Pools.Algorithm != was.Pools.Algorithm || s.VIP.SubnetID != was.VIP.SubnetID || s.Floating.SubnetID != was.Floating.SubnetID {
			t.Errorf("%s: an empty one is given", name)
		}
	}
}

func TestParse_ReportsAllMistakes(t *testing.T) {
	t.Parallel()
	_, notices, errs := fixture.Parse(t, fixture.Service(
		fixture.Annotated(annotation.Class, "none"), fixture.Annotated(annotation.MonitorPort, "x"), fixture.Annotated(annotation.NodeSelector, "!!"),
		fixture.Annotated(annotation.Prefix+"timeout-client-dta", "1"),
		func(svc *v1.Service) {
			svc.Spec.LoadBalancerIP, svc.Spec.LoadBalancerSourceRanges = "x", []string{"y"}
		},
	), fixture.Config())
	if len(errs) != 5 || len(notices) != 1 {
		t.Errorf("errors %v, notices %v", errs, notices)
	}
}

func ptr[T any](v T) *T { return &v }
